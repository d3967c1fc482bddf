"""What pacman promises: its rules (checked in C, under sanitizers), equality with a slow twin, and its baseline scores."""

from __future__ import annotations

from collections import deque

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib_ocean.pacman import Pacman
from pufferlib_ocean.testing import Random, assert_equals_twin, play, rule_test

F = np.float32
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))


test_rule = rule_test(__file__)


# ---------------------------------------------------------------- a slow twin, written from the rules

MAP = """
#################
#o......#......o#
#.###.#.#.#.###.#
#.....#...#.....#
###.#.##.##.#.###
#...#.......#...#
#.###.##-##.###.#
T.....#HHH#.....T
#.###.#####.###.#
#...#.......#...#
###.#.#####.#.###
#.......P.......#
#.###.#.#.#.###.#
#o....#...#....o#
#################
""".strip().splitlines()
CELLS = {(x, y): char for y, row in enumerate(MAP) for x, char in enumerate(row)}
PELLETS, POWERS = ([cell for cell, char in CELLS.items() if char == kind] for kind in ".o")
FREE = {cell for cell, char in CELLS.items() if char in ".oTP"}
CORNERS = ((16, 0), (0, 0), (16, 14), (0, 14))


def ahead(cell, direction, steps=1):
    return (cell[0] + steps * MOVES[direction][0], cell[1] + steps * MOVES[direction][1])


def next_cell(cell, direction):
    x, y = ahead(cell, direction)
    return (x % 17, y)


def squared(a, b):
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2


class Twin:
    """One world: what lies in the maze is a set of cells."""

    def __init__(self, a, seed):
        self.a, self.random = a, Random(seed)
        self.begin()

    def begin(self):
        self.start = PELLETS[self.random.below(115)] if self.a.random_start else (8, 11)
        self.food, self.lives, self.t, self.score = set(PELLETS) | set(POWERS), self.a.lives, 0, 0
        self.to_starts()

    def to_starts(self):
        self.player, self.direction, self.fright = self.start, 3, 0
        self.ghosts = [{"at": (8, 5), "direction": 3, "frightened": False, "home": 0}]
        self.ghosts += [{"at": (8, 7), "direction": 3, "frightened": False, "home": 10 * k} for k in (1, 2, 3)]

    def chases(self, t):
        return t % 108 >= 28

    def outside(self):
        return [ghost for ghost in self.ghosts if ghost["home"] == 0]

    def touch(self):
        """The reward, and whether a life is lost."""
        reward = F(0)
        for ghost in self.outside():
            if ghost["at"] != self.player:
                continue
            if not ghost["frightened"]:
                self.lives -= 1
                self.to_starts()
                return reward + F(self.a.reward_death), True
            self.score += 20 * 2**self.chain
            self.chain += 1
            ghost.update(at=(8, 7), direction=3, frightened=False, home=10)
            reward += F(0.5)
        return reward, False

    def target(self, i):
        player, scatter = self.player, CORNERS[i]
        if not self.chases(self.t):
            return scatter
        if i == 1:
            return ahead(player, self.direction, 4)
        if i == 2:
            return tuple(2 * p - first for p, first in zip(player, self.ghosts[0]["at"], strict=True))
        return scatter if i == 3 and squared(self.ghosts[3]["at"], player) <= 36 else player

    def move_ghosts(self):
        turned = self.t > 0 and self.chases(self.t) != self.chases(self.t - 1)
        for i, ghost in enumerate(self.ghosts):
            if ghost["home"]:
                ghost["home"] -= 1
                if ghost["home"] == 0:
                    ghost["at"] = (8, 5)
                continue
            if ghost["frightened"] and self.t % 2:
                continue
            if turned and not ghost["frightened"]:
                ghost["direction"] = (ghost["direction"] + 2) % 4
            ways = [d for d in (0, 3, 2, 1) if d != (ghost["direction"] + 2) % 4 and next_cell(ghost["at"], d) in FREE]
            if ghost["frightened"]:
                way = ways[self.random.below(len(ways))]
            else:
                target, at = self.target(i), ghost["at"]
                way = min(ways, key=lambda d, at=at, target=target: squared(next_cell(at, d), target))
            ghost["direction"], ghost["at"] = way, next_cell(ghost["at"], way)

    def play(self, action):
        if self.fright:
            self.fright -= 1
            if self.fright == 0:
                for ghost in self.ghosts:
                    ghost["frightened"] = False
        if next_cell(self.player, action) in FREE:
            self.direction = action
        if next_cell(self.player, self.direction) in FREE:
            self.player = next_cell(self.player, self.direction)
        reward, power = F(0), self.player in POWERS
        if self.player in self.food:
            self.food.remove(self.player)
            reward = F(0.5 if power else 0.1) + F(0 if self.food else 5)
            self.score += 5 if power else 1
            if power:
                self.fright, self.chain = 40, 0
                for ghost in self.outside():
                    ghost.update(frightened=True, direction=(ghost["direction"] + 2) % 4)
        if not self.food:
            return reward
        more, dead = self.touch()
        if dead:
            return reward + more
        self.move_ghosts()
        return reward + more + self.touch()[0]

    def seen(self):
        (x, y), chases = self.player, self.chases(self.t)
        values = [float(cell in self.food) for cell in PELLETS + POWERS] + [F(x) / 16, F(y) / 14, *onehot(self.direction)]
        values += [F(self.lives) / self.a.lives, F(self.fright) / 40, chases, F(len(self.food)) / 119]
        for ghost in self.ghosts:
            gx, gy = ghost["at"]
            values += [F(gx - x) / 16, F(gy - y) / 14, *onehot(ghost["direction"]), ghost["frightened"], ghost["home"] > 0]
        return np.array(values, np.float32)

    def step(self, action):
        reward = self.play(action)
        self.t += 1
        terminal = self.lives == 0 or not self.food
        truncated = not terminal and 0 < self.a.max_steps <= self.t
        final = self.seen() if terminal or truncated else None
        if final is not None:
            self.begin()
        return self.seen(), reward, terminal, truncated, final


def onehot(direction):
    return [float(direction == k) for k in range(4)]


@settings(max_examples=25, deadline=None)
@given(
    lives=st.integers(1, 9), random_start=st.booleans(), max_steps=st.sampled_from([0, 0, 1, 90]),
    seed=st.integers(0, 2**63), hunger=st.floats(0, 1),
)  # fmt: skip
def test_equals_the_slow_twin_in_every_bit(seed, hunger, **arguments):
    """Random actions, of which the share `hunger` goes to the nearest food, so that power pellets and ghosts are eaten."""
    env = Pacman(**arguments)
    rng = np.random.default_rng(seed)
    actions = (hand(env.observations)[0] if rng.random() < hunger else rng.integers(0, 4) for _ in range(250))
    assert_equals_twin(env, Twin(env.args, seed), seed, actions)


# ---------------------------------------------------------------- baselines


def hand(observations, rng=None):
    """The hand policy: by the shortest way to the nearest food, around cells within 3 of a ghost that is dangerous."""
    return np.array([to_food(row) for row in observations])


def to_food(row):
    player = (round(16 * row[119]), round(14 * row[120]))
    food = {cell for cell, there in zip(PELLETS + POWERS, row[:119], strict=True) if there}
    ghosts = row[129:].reshape(4, 8)
    near = set()
    for dx, dy, *_, frightened, home in ghosts:
        if not frightened and not home:
            at = (player[0] + round(16 * dx), player[1] + round(14 * dy))
            near |= {cell for cell in FREE if abs(cell[0] - at[0]) + abs(cell[1] - at[1]) <= 3}
    way = first_way(player, food, FREE - near)
    if way is None:
        way = first_way(player, FREE - near, FREE)
    return 0 if way is None else way


def first_way(start, goals, allowed):
    """The first direction of a shortest way to a goal, or None."""
    queue, seen = deque([(start, None)]), {start}
    while queue:
        cell, first = queue.popleft()
        for direction in range(4):
            to = next_cell(cell, direction)
            if to in seen or to not in allowed:
                continue
            way = direction if first is None else first
            if to in goals:
                return way
            seen.add(to)
            queue.append((to, way))
    return None


# Bands: the mean of six measurements like these, plus and minus 5 of their standard deviations.


def test_random_play_eats_a_sixth():
    log = play(Pacman(num_envs=512), None, 400)
    assert log["n"] >= 2000
    assert 0.160 <= log["perf"] <= 0.170


def test_the_hand_policy_eats_most():
    log = play(Pacman(num_envs=40), hand, 500)
    assert log["n"] >= 60
    assert 0.66 <= log["perf"] <= 0.99
