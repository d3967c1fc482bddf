"""What maze promises: its rules (checked in C, under sanitizers), equality with a slow twin, and its baseline scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib_ocean.maze import Maze
from pufferlib_ocean.testing import Random, assert_equals_twin, play, rule_test

OPEN, WALL, GOAL, VISITED, SELF = range(5)
MOVES = ((0, 0), (0, -1), (1, 0), (0, 1), (-1, 0))


test_rule = rule_test(__file__)


# ---------------------------------------------------------------- a slow twin, written from the rules


def carve(size, loops, random):
    """The set of open cells (x, y) of one maze; recursion by an explicit list of cells."""
    open_cells, path = {(1, 1)}, [(1, 1)]
    while path:
        x, y = path[-1]
        near = [(x + 2 * dx, y + 2 * dy) for dx, dy in MOVES[1:]]
        fresh = [c for c in near if 0 < c[0] < size and 0 < c[1] < size and c not in open_cells]
        if not fresh:
            path.pop()
            continue
        to = fresh[random.below(len(fresh))]
        open_cells |= {to, ((x + to[0]) // 2, (y + to[1]) // 2)}
        path.append(to)
    for y in range(1, size - 1):
        for x in range(1, size - 1):
            if (x + y) % 2 == 1 and (x, y) not in open_cells and random.chance(loops):
                open_cells.add((x, y))
    return open_cells


class Twin:
    def __init__(self, a, seed):
        self.a, self.random, pool = a, Random(seed), Random(a.map_seed)
        self.maps = [carve(a.size, a.loops, pool) for _ in range(a.num_maps)]
        self.begin()

    def begin(self):
        self.cells = self.maps[self.random.below(self.a.num_maps)]
        in_order = sorted(self.cells, key=lambda cell: (cell[1], cell[0]))
        self.at = in_order.pop(self.random.below(len(in_order)))
        self.goal = in_order[self.random.below(len(in_order))]
        self.visited, self.t = {self.at}, 0

    def code(self, cell):
        if cell == self.at:
            return SELF
        if cell not in self.cells:
            return WALL
        return GOAL if cell == self.goal else VISITED if cell in self.visited else OPEN

    def seen(self):
        v, (ax, ay) = self.a.vision, self.at
        window = []
        for y in range(ay - v, ay + v + 1):
            for x in range(ax - v, ax + v + 1):
                window.append(self.code((x, y)))
        return [*window, np.sign(self.goal[0] - ax) + 1, np.sign(self.goal[1] - ay) + 1]

    def step(self, action):
        to = (self.at[0] + MOVES[action][0], self.at[1] + MOVES[action][1])
        self.at = to if to in self.cells else self.at
        self.visited.add(self.at)
        self.t += 1
        terminal = self.at == self.goal
        truncated = not terminal and 0 < self.a.max_steps <= self.t
        reward, final = np.float32(-0.001) + np.float32(terminal), None
        if terminal or truncated:
            final = self.seen()
            self.begin()
        return self.seen(), reward, terminal, truncated, final


@settings(max_examples=40, deadline=None)
@given(
    size=st.sampled_from([5, 7, 9, 13]), vision=st.integers(1, 10), num_maps=st.integers(1, 4),
    map_seed=st.integers(0, 2**31 - 1), loops=st.floats(0, 1, width=32), max_steps=st.sampled_from([0, 1, 5, 40]),
    seed=st.integers(0, 2**63),
)  # fmt: skip
def test_equals_the_slow_twin_in_every_bit(seed, **arguments):
    env = Maze(**arguments)
    assert_equals_twin(env, Twin(env.args, seed), seed, np.random.default_rng(seed).integers(0, 5, 120))


def test_even_sizes_are_refused():
    with pytest.raises(ValueError, match=r"maze: size must be in \[5, 47\] in steps of 2, got 20"):
        Maze(size=20)


# ---------------------------------------------------------------- baselines


class RightHand:
    """Keep the right hand on the wall: of right, ahead, left and back, the first that is open. Heads up at first.

    After an episode's end the heading of the last one goes on, which is as good as any.
    """

    def __init__(self, rows):
        self.heading = np.zeros(rows, int)

    def __call__(self, observations, rng):
        side = int(observations.shape[1] ** 0.5)
        v, windows = side // 2, observations[:, : side * side].reshape(-1, side, side)
        is_open = np.stack([windows[:, v + dy, v + dx] != WALL for dx, dy in MOVES[1:]], axis=1)
        tries = (self.heading[:, None] + [1, 0, 3, 2]) % 4
        first = np.take_along_axis(is_open, tries, axis=1).argmax(axis=1)
        self.heading = tries[np.arange(len(tries)), first]
        return self.heading + 1


def test_baseline_scores():
    """The right-hand rule walks around a tree: at most twice each of its 198 edges, so it reaches every goal in 882 steps."""
    hand = play(Maze(num_envs=512, loops=0), RightHand(512), 900)
    random = play(Maze(num_envs=512), None, 1800)
    assert hand["n"] >= 500 and random["n"] >= 500
    assert hand["score"] == 1 and hand["episode_length"] <= 396
    assert 0.13 <= random["score"] <= 0.25, "0.19, measured on 1,000 episodes, and 5 standard errors"
    assert hand["perf"] > random["perf"]
