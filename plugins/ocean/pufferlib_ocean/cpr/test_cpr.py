"""What cpr promises: equality with a slow twin that scans every cell, joint meals, and what greed does to the berries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib_ocean.cpr import Cpr
from pufferlib_ocean.testing import Random, play

EMPTY, WALL, BERRY, STAG, AGENT, SELF = range(6)
MOVES = ((0, 0), (0, -1), (1, 0), (0, 1), (-1, 0))
AROUND = [(dx, dy) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dx or dy]


class Twin:
    """One world, written from the rules: a dict of what stands where, and scans of all cells."""

    def __init__(self, a, seed):
        self.a, self.random = a, Random(seed)
        self.cells = [(x, y) for y in range(a.height) for x in range(a.width)]
        self.begin()

    def at(self, cell):
        inside = 0 <= cell[0] < self.a.width and 0 <= cell[1] < self.a.height
        return self.things.get(cell, EMPTY) if inside else WALL

    def random_cell(self):
        for _ in range(64):
            k = self.random.below(len(self.cells))
            if self.at(self.cells[k]) == EMPTY:
                return self.cells[k]
        while self.at(self.cells[k]) != EMPTY:
            k = (k + 1) % len(self.cells)
        return self.cells[k]

    def begin(self):
        a = self.a
        self.things, self.t = {}, 0
        due = int(np.float32(a.density) * np.float32(a.width * a.height) + np.float32(0.5))
        while due > 0:
            stand = [self.random_cell()]
            self.things[stand[0]] = BERRY
            tries = 0
            while len(stand) < min(due, 16) and tries < 64:
                (x, y), (dx, dy) = stand[self.random.below(len(stand))], MOVES[1 + self.random.below(4)]
                if self.at((x + dx, y + dy)) == EMPTY:
                    stand.append((x + dx, y + dy))
                    self.things[stand[-1]] = BERRY
                tries += 1
            due -= len(stand)
        for _ in range(a.num_agents):
            self.things[self.random_cell()] = STAG
        self.agents, self.food = [], np.zeros(a.num_agents)
        for _ in range(a.num_agents):
            self.agents.append(self.random_cell())
            self.things[self.agents[-1]] = AGENT

    def seen(self):
        v, rows = self.a.vision, []
        for x, y in self.agents:
            row = [self.at((x + dx, y + dy)) for dy in range(-v, v + 1) for dx in range(-v, v + 1)]
            row[len(row) // 2] = SELF
            rows.append(row)
        return rows

    def step(self, actions):
        a, rewards = self.a, np.zeros(self.a.num_agents, np.float32)
        for i, action in enumerate(actions):
            (x, y), (dx, dy) = self.agents[i], MOVES[action]
            target = (x + dx, y + dy)
            if self.at(target) in (EMPTY, BERRY):
                rewards[i] += np.float32(a.reward_food) * (self.at(target) == BERRY)
                del self.things[self.agents[i]]
                self.agents[i], self.things[target] = target, AGENT
        for cell in [cell for cell, thing in self.things.items() if thing == STAG]:
            beside = [i for i, (x, y) in enumerate(self.agents) if (x - cell[0], y - cell[1]) in MOVES[1:]]
            if len(beside) >= 2:
                rewards[beside] += np.float32(a.reward_joint)
                del self.things[cell]
        for x, y in self.cells:
            n = sum(self.at((x + dx, y + dy)) == BERRY for dx, dy in AROUND)
            if n and self.at((x, y)) == EMPTY and self.random.chance(np.float32(a.spawn) * np.float32(n) * np.float32(2)):
                self.things[x, y] = BERRY
        if self.random.chance(min(np.float32(1), np.float32(a.spawn) * np.float32(len(self.cells)) / np.float32(20))):
            self.things.setdefault(self.cells[self.random.below(len(self.cells))], STAG)
        self.t += 1
        truncated, final = 0 < a.max_steps <= self.t, None
        if truncated:
            final = self.seen()
            self.begin()
        return self.seen(), rewards, truncated, final


@settings(max_examples=30, deadline=None)
@given(
    width=st.integers(8, 12), height=st.integers(8, 10), num_agents=st.integers(1, 8), vision=st.integers(1, 6),
    spawn=st.sampled_from([0.0, 0.002, 0.02, 1.0]), density=st.floats(0, 0.7), max_steps=st.sampled_from([0, 1, 25]),
    seed=st.integers(0, 2**63),
)  # fmt: skip
def test_equals_the_slow_twin_in_every_bit(seed, **arguments):
    env = Cpr(**arguments)
    twin = Twin(env.args, seed)
    assert env.reset(seed=[seed])[0].tolist() == twin.seen()
    rng = np.random.default_rng(seed)
    for _ in range(60):
        actions = rng.integers(0, 5, env.num_agents)
        seen, rewards, truncated, final = twin.step(actions.tolist())
        env.step(actions)
        assert env.observations.tolist() == seen
        assert (env.rewards == rewards).all() and (env.truncations == truncated).all() and not env.terminals.any()
        if final:
            assert env.final_observations.tolist() == final
        assert len(set(twin.agents)) == env.num_agents, "never two in one cell"


def test_a_stag_between_three_pays_all_three_and_one_alone_gets_nothing():
    """Worlds without berries or new stags: rewards come from stags only, in twos and threes."""
    env = Cpr(num_envs=64, width=8, height=8, num_agents=12, density=0, spawn=0, max_steps=0)
    env.reset(seed=1)
    rng, shares = np.random.default_rng(0), set()
    for _ in range(100):
        env.step(rng.integers(0, 5, env.num_agents))
        shares.update(env.rewards.reshape(64, -1).astype(bool).sum(axis=1).tolist())
        assert set(np.rint(env.rewards / 0.4).astype(int)) <= {0, 1, 2, 3}
    assert 1 not in shares and {0, 2, 3} <= shares


def test_crowded_fields_are_refused_with_the_numbers():
    with pytest.raises(ValueError, match=r"must be at most width\*height=64 .* got 57 \+ 2\*4 = 65"):
        Cpr(width=8, height=8, num_agents=4, density=57 / 64)
    Cpr(width=8, height=8, num_agents=4, density=56 / 64).close()


# ---------------------------------------------------------------- baselines


def forage(observations, rng, least=0):
    """To the nearest berry in sight that has at least `least` berry neighbours; at random where there is none."""
    side = int(observations.shape[1] ** 0.5)
    v, windows = side // 2, observations.reshape(-1, side, side)
    berries = np.pad(windows == BERRY, ((0, 0), (1, 1), (1, 1)))
    neighbours = sum(berries[:, 1 + dy : 1 + dy + side, 1 + dx : 1 + dx + side].astype(int) for dx, dy in AROUND)
    ripe = (windows == BERRY) & (neighbours >= least)
    ys, xs = np.mgrid[-v : v + 1, -v : v + 1]
    far = np.where(ripe, abs(xs) + abs(ys), 99).reshape(len(windows), -1)
    nearest, found = far.argmin(axis=1), far.min(axis=1) < 99
    gx, gy = xs.ravel()[nearest], ys.ravel()[nearest]
    costs = np.empty((len(windows), 4))
    for k, (dx, dy) in enumerate(MOVES[1:]):
        cell, is_ripe = windows[:, v + dy, v + dx], ripe[:, v + dy, v + dx]
        barred = (cell != EMPTY) & ~is_ripe
        costs[:, k] = np.where(found, abs(gx - dx) + abs(gy - dy), 0) + 100 * barred
    costs += rng.random(costs.shape) * np.where(found, 0.5, 1)[:, None]
    return np.where(costs.min(axis=1) >= 99, 0, 1 + costs.argmin(axis=1)).astype(np.int32)


def restrained(observations, rng):
    return forage(observations, rng, least=3)


def test_greed_ruins_the_commons_and_restraint_pays():
    """Bands: means of five seeds, and 5 standard errors of one."""
    random, greedy, careful = (play(Cpr(num_envs=64), policy, 1000) for policy in (None, forage, restrained))
    assert random["n"] == greedy["n"] == careful["n"] == 512
    assert 19.3 <= random["score"] <= 21.3
    assert 2.4 <= greedy["score"] <= 3.1 and greedy["berries_left"] < 0.05 * 102
    assert 45.5 <= careful["score"] <= 49.7 and 580 <= careful["berries_left"] <= 612
    assert 0.76 <= careful["perf"] <= 0.83, "its reward from food, of 60"
