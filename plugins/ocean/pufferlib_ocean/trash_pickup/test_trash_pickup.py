"""What trash_pickup promises: equality with a slow twin, conserved trash, refused arguments, and its baseline scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib_ocean.testing import Random, play
from pufferlib_ocean.trash_pickup import TrashPickup

EMPTY, OUTSIDE, TRASH, BIN, AGENT, LOADED = range(6)
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))


class Twin:
    """One world, written from the rules: sets of cells."""

    def __init__(self, a, seed):
        self.a, self.random = a, Random(seed)
        self.begin()

    def begin(self):
        self.taken, self.binned, self.t = set(), 0, 0
        self.agents = [[self.place(), False] for _ in range(self.a.num_agents)]
        self.trash = {self.place() for _ in range(self.a.num_trash)}
        self.bins = {self.place() for _ in range(self.a.num_bins)}

    def place(self):
        while True:
            k = self.random.below(self.a.size**2)
            cell = (k % self.a.size, k // self.a.size)
            if cell not in self.taken:
                self.taken.add(cell)
                return cell

    def code(self, cell):
        if not (0 <= cell[0] < self.a.size and 0 <= cell[1] < self.a.size):
            return OUTSIDE
        for at, loaded in self.agents:
            if at == cell:
                return LOADED if loaded else AGENT
        return TRASH if cell in self.trash else BIN if cell in self.bins else EMPTY

    def seen(self):
        rows, s, last = [], self.a.sight, self.a.size - 1
        for (x, y), loaded in self.agents:
            row = [self.code((x + dx, y + dy)) for dy in range(-s, s + 1) for dx in range(-s, s + 1)]
            rows.append([*row, int(loaded), 15 * x // last, 15 * y // last])
        return rows

    def step(self, actions):
        rewards = []
        for agent, action in zip(self.agents, actions, strict=True):
            (x, y), loaded = agent
            cell, reward = (x + MOVES[action][0], y + MOVES[action][1]), 0.0
            code = self.code(cell)
            if code == TRASH and not loaded:
                self.trash.remove(cell)
                agent[:], reward = [cell, True], 0.25
            elif code == BIN and loaded:
                self.binned += 1
                agent[1], reward = False, 0.75
            elif code == EMPTY:
                agent[0] = cell
            rewards.append(reward)
        self.t += 1
        terminal = self.binned == self.a.num_trash
        truncated = not terminal and 0 < self.a.max_steps <= self.t
        final = self.seen() if terminal or truncated else None
        if final:
            self.begin()
        return self.seen(), rewards, terminal, truncated, final


@settings(max_examples=40, deadline=None)
@given(
    size=st.integers(5, 8), num_agents=st.integers(1, 6), num_trash=st.integers(1, 6), num_bins=st.integers(1, 3),
    sight=st.integers(1, 6), max_steps=st.sampled_from([0, 1, 50]), seed=st.integers(0, 2**63),
)  # fmt: skip
def test_equals_the_slow_twin_and_conserves_trash(seed, **arguments):
    env = TrashPickup(**arguments)
    twin = Twin(env.args, seed)
    assert env.reset(seed=[seed])[0].tolist() == twin.seen()
    rng = np.random.default_rng(seed)
    for _ in range(120):
        actions = rng.integers(0, 4, env.num_agents)
        seen, rewards, terminal, truncated, final = twin.step(actions.tolist())
        env.step(actions)
        assert env.observations.tolist() == seen and env.rewards.tolist() == rewards
        assert (env.terminals == terminal).all() and (env.truncations == truncated).all()
        if final:
            assert env.final_observations.tolist() == final
        carried = sum(loaded for _, loaded in twin.agents)
        assert len(twin.trash) + carried + twin.binned == env.args.num_trash
        assert len({at for at, _ in twin.agents} | twin.bins | twin.trash) == env.num_agents + env.args.num_bins + len(twin.trash)


def test_a_clean_field_ends_the_episode_for_all_rows():
    """The smallest field, all of it in sight: it gets clean, and each share that is logged is then 1."""
    env = TrashPickup(num_envs=32, size=5, num_agents=2, num_trash=1, num_bins=1, sight=4, max_steps=0)
    env.reset(seed=1)
    rng, ended = np.random.default_rng(0), 0
    for _ in range(1000):
        env.step(rng.integers(0, 4, 64))
        assert (env.terminals[0::2] == env.terminals[1::2]).all() and not env.truncations.any()
        ended += env.terminals.sum()
        assert not (env.final_observations[env.terminals][:, :81] == TRASH).any()
    log = env.drain_log()
    assert ended > 50 and log["n"] == ended and log["score"] == log["perf"] == 1
    assert log["episode_return"] == 0.5, "0.25 + 0.75, shared by two rows"


def test_crowded_fields_are_refused_with_the_numbers():
    with pytest.raises(ValueError, match=r"num_trash must be in \[1, 6\], a quarter of size\*size=25, got 7"):
        TrashPickup(size=5, num_trash=7)
    with pytest.raises(ValueError, match=r"at most size\*size=25, got 20 \+ 5 \+ 1 = 26"):
        TrashPickup(size=5, num_agents=20, num_trash=5, num_bins=1)
    full = TrashPickup(size=5, num_agents=19, num_trash=5, num_bins=1)
    full.reset(seed=0)
    assert play(full, None, 100) == {}


# ---------------------------------------------------------------- baselines


def nearest(observations, rng):
    """The hand policy: along a shortest way to the nearest trash in sight, or with trash to the nearest bin; where none is in
    sight, across the field to and fro."""
    side = int((observations.shape[1] - 3) ** 0.5)
    s, windows, loaded = side // 2, observations[:, :-3].reshape(-1, side, side), observations[:, -3] == 1
    goal = np.where(loaded[:, None, None], windows == BIN, windows == TRASH)
    blocked = (windows != EMPTY) & ~goal
    far = np.where(goal, 0, 99).astype(np.uint8)
    for _ in range(2 * side):  # distances to the nearest goal, grown around what blocks
        grown = np.full((len(far), side + 2, side + 2), 99, np.uint8)
        grown[:, 1:-1, 1:-1] = far
        near = np.min([grown[:, :-2, 1:-1], grown[:, 2:, 1:-1], grown[:, 1:-1, :-2], grown[:, 1:-1, 2:]], axis=0) + 1
        far = np.where(blocked, 99, np.minimum(far, near)).astype(np.uint8)
    costs = np.stack([far[:, s + dy, s + dx] for dx, dy in MOVES], axis=1) + rng.random((len(far), 4)) * 0.5
    x, y = observations[:, -2].astype(int), observations[:, -1].astype(int)
    middle = np.stack([y > 7, x < 8, y < 8, x > 7], axis=1)  # moves that lead towards the middle
    lost = costs.min(axis=1) >= 99
    wander = np.where(middle, 0, 1) * (rng.random(len(far)) < 0.3)[:, None] + rng.random((len(far), 4))
    wander += 9 * np.stack([blocked[:, s + dy, s + dx] for dx, dy in MOVES], axis=1)
    return np.where(lost[:, None], wander, costs + 0.0).argmin(axis=1)


def test_baseline_scores():
    random = play(TrashPickup(num_envs=64), None, 500)
    hand = play(TrashPickup(num_envs=64), nearest, 500)
    assert random["n"] >= 500 and hand["n"] >= 500
    assert 0.15 <= random["score"] <= 0.23, "0.19, measured, and 5 standard errors"
    assert 0.92 <= hand["score"] <= 0.97, "0.946, measured, and 5 standard errors"
