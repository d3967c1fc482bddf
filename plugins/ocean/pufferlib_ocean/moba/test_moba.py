"""What moba promises: its rules (checked in C, under sanitizers), a map equal to an independent one, and its baseline scores."""

from __future__ import annotations

import itertools
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from pufferlib_ocean.moba import Moba
from pufferlib_ocean.testing import compile_rules, play, rule_test

MOVES = np.array([(0, 0), (0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1)])
"""dx, dy of the nine moves."""
SIDE, GROUND, WALL, RIVER, THERE, NO_WAY = 128, 0, 1, 2, 8, 255


test_rule = rule_test(__file__)


@pytest.fixture(scope="module")
def map_program(tmp_path_factory):
    return compile_rules(Path(__file__).with_name("test_moba_invariants.c"), tmp_path_factory.getbasetemp())


# ---------------------------------------------------------------- the map, written from the rules


LANES = (((12, 115), (12, 12), (115, 12)), ((12, 115), (115, 12)), ((12, 115), (115, 115), (115, 12)))
CAMPS = ((24, 78), (30, 60), (24, 51), (51, 103), (69, 96), (78, 105))


def distance_to(points):
    """Of every cell [y, x] from a polyline."""
    y, x = np.mgrid[0:SIDE, 0:SIDE].astype(float)
    best = np.full((SIDE, SIDE), np.inf)
    for (ax, ay), (bx, by) in itertools.pairwise(points):
        along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2)
        along = np.clip(along, 0, 1)
        best = np.minimum(best, np.hypot(x - ax - along * (bx - ax), y - ay - along * (by - ay)))
    return best


@cache
def terrain():
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    cells = np.where((x % 9 < 4) & (y % 9 < 4), WALL, GROUND)
    cells[abs(x - y) <= 3] = RIVER
    for lane in LANES:
        cells[distance_to(lane) <= 5] = GROUND
    for base_x, base_y in ((12, 115), (115, 12)):
        cells[np.hypot(x - base_x, y - base_y) <= 10] = GROUND
    cells[(np.minimum(x, y) < 3) | (np.maximum(x, y) >= SIDE - 3)] = WALL
    return cells


def along(points, share):
    legs = [np.subtract(b, a) for a, b in itertools.pairwise(points)]
    lengths = [np.hypot(*leg) for leg in legs]
    left = share * sum(lengths)
    for start, leg, length in zip(points, legs, lengths, strict=False):
        if left <= length:
            return tuple(np.floor(np.add(start, leg * left / length) + 0.5).astype(int))
        left -= length
    raise AssertionError


@cache
def targets():
    """(x, y) of team 0's and team 1's towers, cores, camps and fountains."""
    towers = [along(lane, share) for lane in LANES for share in (0.42, 0.27, 0.12)]
    return [
        place[::-1] if team else place for group in (towers, [(12, 115)], CAMPS, [(6, 121)]) for team in (0, 1) for place in group
    ]


def shifted(cells, dx, dy, fill):
    """What lies in direction (dx, dy) of each cell."""
    wide = np.pad(cells, 1, constant_values=fill)
    return wide[1 + dy : 1 + dy + SIDE, 1 + dx : 1 + dx + SIDE]


@cache
def may_step():
    """bool[8, y, x]: neither the cell there nor, diagonally, one beside the way is a wall."""
    is_open = terrain() != WALL
    return np.stack([
        is_open & shifted(is_open, dx, dy, False) & shifted(is_open, dx, 0, False) & shifted(is_open, 0, dy, False)
        for dx, dy in MOVES[1:]
    ])  # fmt: skip


@cache
def distances(x, y):
    """Steps from every cell, by widening the set of those that are there; -1 where there is no way."""
    steps = np.full((SIDE, SIDE), -1)
    steps[y, x] = 0
    for n in range(1, SIDE * SIDE):
        near = np.zeros((SIDE, SIDE), bool)
        for (dx, dy), allowed in zip(MOVES[1:], may_step(), strict=True):
            near |= allowed & (shifted(steps, dx, dy, -1) == n - 1)
        near &= steps < 0
        if not near.any():
            return steps
        steps[near] = n
    raise AssertionError


def test_terrain_targets_and_ways_equal_an_independent_map(map_program):
    data = np.frombuffer(subprocess.run([str(map_program), "map"], capture_output=True, check=True).stdout, np.uint8)
    cells, ways, places = np.split(data, [SIDE**2, 35 * SIDE**2])
    assert (cells.reshape(SIDE, SIDE) == terrain()).all()
    assert list(zip(*places.reshape(2, 34).tolist(), strict=True)) == targets()
    for table, (x, y) in zip(ways.reshape(34, SIDE, SIDE), targets(), strict=True):
        steps = distances(x, y)
        assert (steps[terrain() != WALL] >= 0).all(), "all of the ground hangs together"
        assert ((table == NO_WAY) == (terrain() == WALL)).all() and table[y, x] == THERE and (table == THERE).sum() == 1
        for d, (dx, dy) in enumerate(MOVES[1:]):
            goes = table == d
            assert may_step()[d][goes].all() and (shifted(steps, dx, dy, -9)[goes] == steps[goes] - 1).all()


# ---------------------------------------------------------------- rows


def test_both_sides_begin_with_the_same_view():
    views = Moba(num_envs=3, seed=1).reset()[0].reshape(3, 2, 5, 408)
    assert (views[:, 0] == views[:, 1]).all() and len(np.unique(views[0, 0], axis=0)) == 5
    assert (Moba(num_envs=3, seed=1, opponent="bot").reset()[0].reshape(3, 5, 408) == views[:, 0]).all()


def test_rewards_of_deaths_towers_and_wins_add_up_over_whole_games():
    """With only one of them paid, each row's return is that many times its number in the log."""
    for reward, log_name in (("reward_death", "deaths"), ("reward_tower", "towers"), ("reward_win", "perf")):
        kwargs = {"reward_death": 0.0, "reward_xp": 0.0, "reward_tower": 0.0, "reward_win": 0.0, reward: 1.0}
        log = play(Moba(num_envs=16, opponent="bot", **kwargs), None, 1500)
        assert log["n"] >= 50
        counted = {"deaths": log["deaths"], "towers": log["towers_taken"] - log["towers_lost"], "perf": 2 * log["perf"] - 1}
        assert log["episode_return"] == pytest.approx(counted[log_name], abs=1e-6)


# ---------------------------------------------------------------- baselines


class Lanes:
    """The hand policy: along the lane of one's role, fighting whom one meets, up to the next tower, whose reach one leaves to
    creeps unless some are in view; home below 30 % of hp."""

    RANGES = np.array([5, 1, 6, 1, 6])

    def __init__(self, rows):
        self.role = np.arange(rows) % 5
        self.retreats = np.zeros(rows, bool)
        self.maps = np.stack([distances(x, y) for x, y in (*targets()[9:18], targets()[19], targets()[32])])
        self.maps[self.maps < 0] = 9999
        self.window = np.abs(np.mgrid[-5:6, -5:6]).max(axis=0)

    def __call__(self, observations, rng):
        kind, team = (observations[:, k * 121 : k * 121 + 121].reshape(-1, 11, 11) for k in (0, 1))
        own = observations[:, 363:383]
        x, y, rows = own[:, 0] // 2, own[:, 1] // 2, np.arange(len(own))
        self.retreats = (self.retreats & (own[:, 2] < 230)) | (own[:, 2] < 77)
        stands = observations[:, 393:403] > 0
        lane = self.role % 3
        first = np.argmax(stands[rows[:, None], 3 * lane[:, None] + np.arange(3)], axis=1)
        falls = ~stands[rows[:, None], 3 * lane[:, None] + np.arange(3)].any(axis=1)
        target = np.where(falls, 9, 3 * lane + first)
        alone = ~((kind == 3) & (team == 1)).any(axis=(1, 2))
        back = self.retreats | (alone & ~falls & (self.maps[target, y, x] <= 8))
        target[back] = 10

        cells = np.clip(np.stack([x[:, None] + MOVES[:, 0], y[:, None] + MOVES[:, 1]]).astype(int), 0, SIDE - 1)
        steps = self.maps[target[:, None], cells[1], cells[0]]
        is_taken = kind[:, 5 + MOVES[1:, 1], 5 + MOVES[1:, 0]] >= 3
        steps[:, 1:] += 9999 * (is_taken | ~may_step()[:, y, x].T)
        steps[:, 0] += 2  # rather aside than behind someone
        enemy = ((team == 2) & (self.window <= self.RANGES[self.role][:, None, None])).any(axis=(1, 2))
        move = np.where(enemy & ~back, 0, steps.argmin(axis=1))
        verb = np.where(enemy, np.maximum(1, rng.integers(-4, 5, len(own))), 0)
        return np.stack([move, verb, np.ones_like(move)], axis=1).astype(np.int32)


def test_baseline_scores():
    """Measured against level 1: random -4.87 after 660 steps, the hand policy -4.0, which wins some; and 5 standard errors."""
    random = play(Moba(num_envs=80, opponent="bot"), None, 1700)
    hand = play(Moba(num_envs=110, opponent="bot"), Lanes(550), 4000)
    assert random["n"] >= 500 and hand["n"] >= 500
    assert random["perf"] == 0 and random["towers_taken"] < 0.1
    assert -5.6 <= random["score"] <= -4.3 and 600 <= random["episode_length"] <= 730
    assert -5.5 <= hand["score"] <= -2.5 and hand["perf"] > 0.05 and hand["towers_taken"] > 3
