"""What nmmo promises: its rules (checked in C, under sanitizers), its maps against a flood fill, and its baseline lifetimes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from pufferlib_ocean.nmmo import Nmmo
from pufferlib_ocean.testing import compile_rules, play, random_actions, rule_test

WATER, STONE, BARE_NODE, BARE_FOREST, GRASS, ORE, HERB, CRYSTAL, FOREST = range(9)
MAINLAND = 0x80
PLAYER, PASSIVE, NEUTRAL, HOSTILE, SELF = range(1, 6)


test_rule = rule_test(__file__)


@pytest.fixture(scope="module")
def world_program(tmp_path_factory):
    return compile_rules(Path(__file__).with_name("test_nmmo_world.c"), tmp_path_factory.getbasetemp())


# ---------------------------------------------------------------- maps


def maps_of(program, size, seed, number):
    """uint8[number, size, size]: terrain and MAINLAND."""
    done = subprocess.run([str(program), "maps", str(size), str(seed), str(number)], capture_output=True, check=True)
    return np.frombuffer(done.stdout, np.uint8).reshape(number, size, size)


def regions(open_cells):
    """The connected regions of a boolean map, each a set of (y, x), by a flood fill of its own."""
    left = {(int(y), int(x)) for y, x in np.argwhere(open_cells)}
    while left:
        stack, region = [left.pop()], set()
        while stack:
            y, x = stack.pop()
            region.add((y, x))
            for cell in ((y - 1, x), (y, x + 1), (y + 1, x), (y, x - 1)):
                if cell in left:
                    left.remove(cell)
                    stack.append(cell)
        yield region


@pytest.mark.parametrize(("size", "seed", "number"), [(256, 0, 4), (128, 5, 6), (150, 1, 3)])
def test_the_mainland_is_the_largest_region_and_at_least_two_fifths(world_program, size, seed, number):
    maps = maps_of(world_program, size, seed, number)
    assert len({world.tobytes() for world in maps}) == number
    for world in maps:
        terrain = world & ~np.uint8(MAINLAND)
        assert set(np.unique(terrain)) <= {WATER, STONE, GRASS, ORE, HERB, CRYSTAL, FOREST}
        largest = max(regions(terrain >= BARE_NODE), key=len)
        assert len(largest) >= 0.4 * size**2
        assert {(int(y), int(x)) for y, x in np.argwhere(world & MAINLAND)} == largest


def test_terrain_has_the_shares_of_its_ranks(world_program):
    for world in maps_of(world_program, 256, 7, 3) & ~np.uint8(MAINLAND):
        inner = world[8:-8, 8:-8]
        border = np.ones_like(world, bool)
        border[8:-8, 8:-8] = False
        assert (world[border] == WATER).all()
        assert (inner == WATER).sum() <= 256 * 256 // 5 and (inner == STONE).sum() <= 256 * 256 // 10
        land = (inner > STONE).sum()
        assert (inner == FOREST).sum() == land * 15 // 100
        nodes = [(inner == kind).sum() for kind in (ORE, HERB, CRYSTAL)]
        assert sum(nodes) == land * 6 // 100 and min(nodes) > 0.28 * sum(nodes)


def explored(env, seed, steps=60):
    """The map as far as a world's agents saw it: x and y are known exactly at size 128, where 255 * x // 128 tells them apart."""
    world, rng = np.full((128, 128), 255, np.uint8), np.random.default_rng(seed)
    observations, _ = env.reset(seed)
    for _ in range(steps):
        windows = observations[:, :660].reshape(-1, 11, 15, 4)[..., 0]
        for window, x, y in zip(windows, *(-(-observations[:, k].astype(int) * 128 // 255) for k in (706, 707)), strict=True):
            known = np.where(window == BARE_FOREST, FOREST, window)
            world[y - 5 : y + 6, x - 7 : x + 8] = np.where(known == BARE_NODE, world[y - 5 : y + 6, x - 7 : x + 8], known)
        observations = env.step(random_actions(env, rng))[0]
    return world


def test_worlds_of_all_seeds_share_one_pool_and_see_it_in_place(world_program):
    truth = maps_of(world_program, 128, 4, 1)[0] & ~np.uint8(MAINLAND)
    for seed in (1, 2):
        world = explored(Nmmo(size=128, num_agents=128, num_npcs=128, num_maps=1, map_seed=4), seed)
        known = world != 255
        assert known.mean() > 0.8 and (world[known] == truth[known]).all()


# ---------------------------------------------------------------- arguments


def test_crowded_worlds_are_refused_with_the_numbers():
    with pytest.raises(
        ValueError,
        match=r"nmmo: size\*size must be at least 64\*\(num_agents \+ num_npcs\), got 200\*200 = 40000 < 64\*\(256 \+ 512\)",
    ):
        Nmmo(size=200)


def test_1024_agents_on_size_256():
    env = Nmmo(num_agents=1024, num_npcs=0)
    observations, rng = env.reset(0)[0], np.random.default_rng(0)
    for _ in range(50):
        observations = env.step(random_actions(env, rng))[0]
        assert (observations[:, :660].reshape(-1, 165, 4)[:, 82, 1] == SELF).all()
    places = {tuple(place) for place in observations[:, 706:708]}
    assert len(places) == 1024, "no two stand on one cell: 255 * x // 256 tells all inner columns apart"


# ---------------------------------------------------------------- baselines

STEPS = ((0, 0), (0, -1), (1, 0), (0, 1), (-1, 0))
YS, XS = np.mgrid[-5:6, -7:8]


def around(flags, reach, diagonal=True):
    """bool[11, 15, n]: cells with a flagged one within reach; not diagonal: in a straight line."""
    tall = flags.copy()
    for k in range(1, reach + 1):
        tall[k:] |= flags[:-k]
        tall[:-k] |= flags[k:]
    source = tall if diagonal else flags
    out = tall.copy()
    for k in range(1, reach + 1):
        out[:, k:] |= source[:, :-k]
        out[:, :-k] |= source[:, k:]
    return out


def ways(cost, goal, fallback, rounds=16):
    """float32[11, 15, n]: the cost of the cheapest way from each cell to a goal, or to `fallback` costs at the rim."""
    rim = ((abs(YS) == 5) | (abs(XS) == 7))[..., None]
    far = np.where(cost >= 1000, 1e6, np.where(goal, 0, np.where(rim, fallback, 1e6))).astype(np.float32)
    for _ in range(rounds):
        through = far + cost
        np.minimum(far[1:], through[:-1], out=far[1:])
        np.minimum(far[:-1], through[1:], out=far[:-1])
        np.minimum(far[:, 1:], through[:, :-1], out=far[:, 1:])
        np.minimum(far[:, :-1], through[:, 1:], out=far[:, :-1])
    return far


def forage(observations, rng):
    """The hand policy: to food or water below 50, else to the nearest weaker NPC; around dangerous ones, and out of the wild."""
    n = len(observations)
    terrain, who, level = np.ascontiguousarray(observations[:, :660].reshape(n, 11, 15, 4).transpose(3, 1, 2, 0))[:3]
    hp, food, water = observations[:, 660:663].T
    levels = observations[:, 664:667]
    x, y, danger = observations[:, 706:709].astype(int).T
    weak = (who == PASSIVE) | ((who == NEUTRAL) | (who == HOSTILE)) & (level <= levels.max(axis=1))
    perilous = around((who == HOSTILE) & ~weak, 2)
    cost = (1 + 30 * perilous + 1000 * ((terrain <= STONE) | (who > 0) & (who < SELF))).astype(np.float32)
    content = (food >= 50) & (water >= 50)
    goal = (terrain == FOREST) & (food < 50) | around(terrain == WATER, 1, False) & (water < 50) | around(weak, 3) & content
    outward = np.where(abs(x - 127) > abs(y - 127), (np.sign(x - 127), 0 * x), (0 * x, np.sign(y - 127)))
    heading = np.where(danger > 40, outward, (-outward[1], outward[0]))
    far = ways(cost, goal, 60 - 3 * (heading[0] * XS[..., None] + heading[1] * YS[..., None]))

    actions = np.zeros((n, 3), np.int32)
    choices = np.stack([(far + cost)[5 + dy, 7 + dx] for dx, dy in STEPS])
    at_ease = goal[5, 7] | content & ~goal.any(axis=(0, 1)) & (danger <= 40)
    choices[0] = np.where(at_ease & ~perilous[5, 7], -1, choices[0])
    actions[:, 0] = (choices + 0.1 * rng.random(choices.shape)).argmin(axis=0)
    distance = np.where((who >= PASSIVE) & (who <= HOSTILE), np.maximum(abs(XS), abs(YS))[..., None], 99).reshape(-1, n)
    nearest_is_weak = np.take_along_axis(weak.reshape(-1, n), distance.argmin(axis=0)[None], 0)[0]
    actions[:, 1] = np.where(nearest_is_weak & (distance.min(axis=0) <= 4), 2 + (levels[:, 2] > levels[:, 1]), 0)
    kind, tier, equipped = observations[:, 674:698].reshape(n, 8, 3).transpose(2, 0, 1)
    useful = (kind >= 1) & (kind <= 4) & (tier == 1) & (equipped == 0)
    useful |= (kind == 5) & (hp < 50)[:, None] | (kind == 6) & ~content[:, None]
    actions[:, 2] = np.where(useful.any(axis=1), 1 + useful.argmax(axis=1), 0)
    return actions


def test_baseline_lifetimes():
    random = play(Nmmo(num_envs=2), None, 1200)
    hand = play(Nmmo(), forage, 2000)
    assert random["n"] >= 500 and hand["n"] >= 500
    assert 85 <= random["lifetime"] <= 130
    assert 420 <= hand["lifetime"] <= 620
    assert hand["lifetime"] >= 3 * random["lifetime"]
    assert random["lifetime"] == random["episode_length"] and random["trades"] > 0 and random["kills"] > 0
