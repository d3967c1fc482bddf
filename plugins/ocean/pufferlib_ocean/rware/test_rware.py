"""What rware promises: its rules (checked in C, under sanitizers), equality with a slow twin, and its baseline scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib_ocean.rware import Rware
from pufferlib_ocean.testing import Random, play, rule_test

NONE, FORWARD, LEFT, RIGHT, TOGGLE = range(5)
AHEAD = ((0, -1), (1, 0), (0, 1), (-1, 0))


test_rule = rule_test(__file__)


# ---------------------------------------------------------------- a slow twin, written from the rules


def turned(heading, dx, dy):
    """The offset in the axes of a robot: x to its right, y behind it."""
    for _ in range(heading):
        dx, dy = dy, -dx
    return dx, dy


class Twin:
    """One world: where things are is kept in dicts of cells (x, y)."""

    def __init__(self, a, seed):
        self.a, self.random = a, Random(seed)
        self.width, self.height = 3 * a.shelf_columns + 1, (a.column_height + 1) * a.shelf_rows + 2
        self.homes = [
            (x, y)
            for y in range(self.height - 2)
            for x in range(self.width)
            if x % 3 and y % (a.column_height + 1)
        ]  # fmt: skip
        self.goals = [(self.width // 2 - 1, self.height - 1), (self.width // 2, self.height - 1)]
        self.begin()

    def begin(self):
        self.shelves, self.requests, self.agents, self.t = {cell: i for i, cell in enumerate(self.homes)}, [], [], 0
        for _ in range(self.a.num_agents):
            while True:
                k = self.random.below(self.width * self.height)
                at = (k % self.width, k // self.width)
                if at not in self.shelves and at not in self.goals and at not in [a["at"] for a in self.agents]:
                    break
            self.agents.append({"at": at, "heading": self.random.below(4), "shelf": None, "deliveries": 0})
        for _ in range(self.a.requests):
            self.requests.append(self.new_request())

    def new_request(self):
        while (shelf := self.random.below(len(self.homes))) in self.requests:
            pass
        return shelf

    def step(self, actions):
        rewards, wishes = np.zeros(len(self.agents), np.float32), {}
        for i, (agent, action) in enumerate(zip(self.agents, actions, strict=True)):
            at, carried = agent["at"], agent["shelf"]
            if action in (LEFT, RIGHT):
                agent["heading"] = (agent["heading"] + (1 if action == RIGHT else -1)) % 4
            elif action == TOGGLE and carried is None and at in self.shelves:
                agent["shelf"] = self.shelves.pop(at)
            elif action == TOGGLE and carried is not None and at in self.homes and at not in self.shelves:
                self.shelves[at], agent["shelf"] = carried, None
            elif action == FORWARD:
                (x, y), (dx, dy) = at, AHEAD[agent["heading"]]
                if 0 <= x + dx < self.width and 0 <= y + dy < self.height:
                    wishes[i] = (x + dx, y + dy)
        wishes = {i: to for i, to in wishes.items() if self.agents[i]["shelf"] is None or to not in self.shelves}
        wishes = {i: to for i, to in wishes.items() if not any(j < i and wishes[j] == to for j in wishes)}
        at = {agent["at"]: i for i, agent in enumerate(self.agents)}
        wishes = {i: to for i, to in wishes.items() if wishes.get(at.get(to)) != self.agents[i]["at"]}
        while blocked := [i for i, to in wishes.items() if to in at and at[to] not in wishes]:
            for i in blocked:
                del wishes[i]
        for i, to in wishes.items():
            self.agents[i]["at"] = to
        for i, agent in enumerate(self.agents):
            if agent["at"] in self.goals and agent["shelf"] in self.requests:
                rewards[i] = 1
                agent["deliveries"] += 1
                self.requests[self.requests.index(agent["shelf"])] = self.new_request()
        self.t += 1
        truncated, final = 0 < self.a.max_steps <= self.t, None
        if truncated:
            final = self.seen()
            self.begin()
        return self.seen(), rewards, truncated, final

    def seen(self):
        return np.array([self.row(agent) for agent in self.agents])

    def row(self, agent):
        (x, y), heading, carried = agent["at"], agent["heading"], agent["shelf"]
        asked = carried in self.requests
        row = [x / (self.width - 1), y / (self.height - 1), carried is not None, carried is not None and asked]
        row += [carried is not None and (x, y) in self.homes and (x, y) not in self.shelves]
        row += [heading == h for h in range(4)]
        around = {turned(heading, dx, dy): (x + dx, y + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)}
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                cell = around[dx, dy]
                row += [any(a["at"] == cell for a in self.agents), cell in self.shelves]
                row += [self.shelves.get(cell) in self.requests]
        where = {shelf: cell for cell, shelf in self.shelves.items()}
        if carried is None:
            row += self.offset(agent, [where[s] for s in self.requests if s in where])
        else:
            free = [cell for cell in self.homes if cell not in self.shelves]
            row += [0, 0] if asked else self.offset(agent, free)
        return row + self.offset(agent, self.goals)

    def offset(self, agent, cells):
        (x, y) = agent["at"]
        if not cells:
            return [0, 0]
        nx, ny = min(cells, key=lambda cell: abs(cell[0] - x) + abs(cell[1] - y))
        return list(turned(agent["heading"], (nx - x) / self.width, (ny - y) / self.height))


@settings(max_examples=25, deadline=None)
@given(
    shelf_columns=st.sampled_from([1, 3]), column_height=st.integers(2, 3), shelf_rows=st.integers(1, 2),
    num_agents=st.integers(1, 12), requests=st.integers(1, 2), max_steps=st.sampled_from([0, 1, 40]), seed=st.integers(0, 2**63),
)  # fmt: skip
def test_agrees_with_the_slow_twin_and_conserves_shelves(seed, **arguments):
    """Small crowded warehouses, mostly forward, so that robots meet in all ways."""
    env = Rware(**arguments)
    twin = Twin(env.args, seed)
    assert np.allclose(env.reset(seed=[seed])[0], twin.seen(), atol=1e-6)
    rng = np.random.default_rng(seed)
    for _ in range(120):
        actions = rng.choice(5, env.num_agents, p=[0.05, 0.55, 0.1, 0.1, 0.2])
        seen, rewards, truncated, final = twin.step(actions.tolist())
        env.step(actions)
        assert (env.rewards == rewards).all() and (env.truncations == truncated).all() and not env.terminals.any()
        assert np.allclose(env.observations, seen, atol=1e-6)
        if final is not None:
            assert np.allclose(env.final_observations, final, atol=1e-6)
        assert len({agent["at"] for agent in twin.agents}) == env.num_agents, "never two in one cell"
        carried = [agent["shelf"] for agent in twin.agents if agent["shelf"] is not None]
        assert sorted([*twin.shelves.values(), *carried]) == list(range(len(twin.homes))), "shelves are conserved"
        assert len(set(twin.requests)) == env.args.requests


# ---------------------------------------------------------------- arguments


def test_warehouses_without_room_are_refused_with_the_numbers():
    with pytest.raises(ValueError, match=r"requests must be in \[1, 2\], half of the 4 shelves, got 3"):
        Rware(shelf_columns=1, column_height=2, shelf_rows=1, num_agents=1, requests=3)
    with pytest.raises(ValueError, match=r"num_agents must be in \[1, 14\], .* got 15"):
        Rware(shelf_columns=1, column_height=2, shelf_rows=1, num_agents=15, requests=1)
    Rware(shelf_columns=1, column_height=2, shelf_rows=1, num_agents=14, requests=2).close()


# ---------------------------------------------------------------- baselines


def fetch_and_bring(observations, rng):
    """The hand policy, by what each robot sees: greedily to the next place, a random turn where the way is barred."""
    carrying, asked, may_put_down = (observations[:, k] > 0.5 for k in (2, 3, 4))
    around = observations[:, 9:36].reshape(-1, 9, 3) > 0.5
    on_request = around[:, 4, 2]
    offset = np.where(asked[:, None], observations[:, 38:40], observations[:, 36:38])
    dx, dy = offset[:, 0], offset[:, 1]
    barred = around[:, 1, 0] | (carrying & around[:, 1, 1])
    turn = np.where(dx < 0, LEFT, np.where(dx > 0, RIGHT, rng.integers(LEFT, RIGHT + 1, len(dx))))
    moves = np.where((dy < -1e-6) & ~barred, FORWARD, turn)
    lost = (rng.random(len(dx)) < 0.15) & ~barred
    moves = np.where(lost, FORWARD, np.where(barred & (rng.random(len(dx)) < 0.5), rng.integers(LEFT, RIGHT + 1, len(dx)), moves))
    toggle = (on_request & ~carrying) | (carrying & ~asked & may_put_down)
    return np.where(toggle, TOGGLE, moves).astype(np.int32)


def test_baseline_scores():
    random = play(Rware(num_envs=64), None, 500)
    pair = play(Rware(num_envs=256, num_agents=2), fetch_and_bring, 500)
    assert random["n"] >= 500 and pair["n"] >= 500
    assert random["score"] <= 0.035, "0.010, measured, and 5 standard errors"
    assert 2.7 <= pair["score"] <= 3.7, "3.2, measured, and 5 standard errors"
