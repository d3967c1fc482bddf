"""Scenario files: saved worlds load to the same bits, shortest routes are shortest, and errors name the place in the file."""

from __future__ import annotations

import copy
import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib_ocean.drive import Drive, save_scenario
from pufferlib_ocean.drive.scenario import LANE_IN_C, MAP, POOL, pack, read_lanes
from pufferlib_ocean.testing import random_actions

CROSS = {
    "version": 1,
    "lanes": [
        {"id": 10, "width": 3.7, "points": [[0, 0], [50, 0]], "next": [20, 30]},
        {"id": 20, "width": 3.7, "points": [[50, 0], [100, 0]], "next": []},
        {"id": 30, "width": 4, "points": [[50, 0], [60, 5], [60, 60]], "next": [10]},
    ],
    "cars": [
        {"x": 5, "y": 0, "heading": 0, "speed": 3, "length": 4.5, "width": 1.9, "goal": [60, 50], "route": [10, 30]},
        {"x": 30, "y": 0, "heading": 0, "goal": [90, 0]},
    ],
}


@pytest.fixture
def written(tmp_path):
    def write(scenario):
        path = tmp_path / "scenario.json"
        path.write_bytes(scenario if isinstance(scenario, bytes) else json.dumps(scenario).encode())
        return str(path)

    return write


def parts_of_map(env, index=0):
    """The points, successors and samples of a map's lanes, and its lanes' widths."""
    shared = env.shared_bytes()
    pool = np.frombuffer(shared, POOL, 1)[0]
    block = shared[int(pool["first_map"] + index * pool["map_bytes"]) :]
    head = np.frombuffer(block, MAP, 1)[0]
    lanes = np.frombuffer(block, LANE_IN_C, int(head["lanes"]), int(head["lanes_at"]))
    nexts = np.frombuffer(block, np.int32, int(head["nexts"]), int(head["nexts_at"]))
    return [
        block[int(head["points_at"]) :][: 8 * int(head["points"])],
        block[int(head["samples_at"]) :][: 16 * int(head["samples"])],
        lanes["width"].tobytes(),
        [nexts[lane["first_next"] :][: lane["nexts"]].tolist() for lane in lanes],
        lanes["samples"].tolist(),
    ]


def test_a_saved_map_loads_again_to_the_same_bits(tmp_path):
    env, rng = Drive(num_maps=1, blocks=3, num_cars=20), np.random.default_rng(0)
    env.reset(seed=4)
    for _ in range(30):
        env.step(random_actions(env, rng))
    save_scenario(env, tmp_path / "a.json")
    loaded = Drive(scenario=tmp_path / "a.json")
    loaded.reset(seed=0)
    assert parts_of_map(loaded) == parts_of_map(env)
    save_scenario(loaded, tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    kept = [0, 2, 3, 4, *range(8, 92), *range(156, 284)]  # a clock starts anew, a route at whatever is near on its first lane
    assert np.allclose(loaded.observations[:, kept], env.observations[:, kept], atol=1e-5)
    assert (np.abs(loaded.observations - env.observations)[:, 92:156].max(axis=1) < 1e-5).mean() >= 0.9


def test_the_saved_world_is_the_one_asked_for(tmp_path):
    env = Drive(num_envs=3, num_cars=4)
    env.reset(seed=1)
    for world in range(3):
        save_scenario(env, tmp_path / "w.json", world)
        loaded = Drive(scenario=str(tmp_path / "w.json"))
        rows = loaded.reset(seed=0)[0]
        assert np.allclose(rows, env.observations[4 * world : 4 * world + 4], atol=1e-5)


def test_the_file_says_how_many_cars_there_are_and_what_they_are(written):
    env = Drive(scenario=written(CROSS), num_cars=9, num_envs=2)
    rows = env.reset(seed=0)[0]
    assert env.num_agents == 4 and rows.shape == (4, 284)
    assert rows[0, 0] == np.float32(3 / 20) and rows[1, 0] == 0
    assert np.allclose(rows[0, 2:4], [1, 1]) and np.isclose(rows[0, 4], math.hypot(55, 50) / 200)
    assert np.allclose(rows[0, 8:15], [25 / 50, 0, 1, 0, 0, 0.45, 1], atol=1e-6)


def test_no_scenario_is_no_file():
    assert Drive(scenario=None).num_agents == Drive(scenario="").num_agents == 32


# ---------------------------------------------------------------- routes


def test_a_missing_route_is_the_shortest_one():
    shape = [[[0, 0], [10, 0]], [[10, 0], [10, 30], [40, 0]], [[10, 0], [40, 0]], [[40, 0], [50, 0]]]
    nexts = [[1, 2], [3], [3], [0]]
    lanes = read_lanes([{"id": i, "points": points, "next": nexts[i]} for i, points in enumerate(shape)])
    assert lanes.shortest_route((2, 0), 0, (48, 0)) == [0, 2, 3]
    assert lanes.shortest_route((2, 0), 0, (8, 0)) == [0]
    assert lanes.shortest_route((8, 0), 0, (2, 0)) == [0, 2, 3, 0]
    assert lanes.shortest_route((45, 0), 0, (10, 25)) == [3, 0, 1]


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_shortest_routes_are_those_of_all_pairs(seed):
    """Against Floyd and Warshall's algorithm, on lanes far from each other that the graph joins at random."""
    rng = np.random.default_rng(seed)
    n = 8
    lengths = rng.integers(5, 60, n)
    nexts = [sorted(rng.choice(n, rng.integers(0, 4), replace=False).tolist()) for _ in range(n)]
    lanes = read_lanes([{"id": i, "points": [[0, 100 * i], [int(lengths[i]), 100 * i]], "next": nexts[i]} for i in range(n)])
    best = np.full((n, n), np.inf)  # from the start of one lane to the start of another, at least one lane on
    for a in range(n):
        best[a, nexts[a]] = lengths[a]
    for k in range(n):
        best = np.minimum(best, best[:, k : k + 1] + best[k : k + 1])
    a, b = rng.integers(0, n, 2)
    start, goal = 3.0, 4.0 if a != b else 2.0
    route = lanes.shortest_route((start, 100 * a), 0, (goal, 100 * b))
    if np.isinf(best[a, b]):
        assert route is None
    else:
        assert route[0] == a and route[-1] == b and all(y in nexts[x] for x, y in itertools.pairwise(route))
        assert lengths[route[:-1]].sum() == best[a, b]


# ---------------------------------------------------------------- what is refused


def changed(change):
    scene = copy.deepcopy(CROSS)
    change(scene)
    return scene


def put(*path_and_value):
    *path, key, value = path_and_value

    def change(scene):
        for part in path:
            scene = scene[part]
        scene[key] = value

    return change


REFUSED = {
    "lanes[2].points must have at least 2 entries, got 1": put("lanes", 2, "points", [[0, 0]]),
    "lanes[1].points[1][0] must be a number": put("lanes", 1, "points", 1, 0, math.nan),
    "lanes[1].points[0][1] must be a number": put("lanes", 1, "points", 0, 1, math.inf),
    "lanes[0].points[1] must be a list": put("lanes", 0, "points", 1, 7),
    "lanes[0].points[1] must differ from the point before it": put("lanes", 0, "points", [[1, 1], [1, 1]]),
    "lanes[0].next[1] must be the id of a lane, got 99": put("lanes", 0, "next", 1, 99),
    "lanes[1].id must be unique, got 10, which lanes[0] has": put("lanes", 1, "id", 10),
    "lanes[1].id must be an integer": put("lanes", 1, "id", "one"),
    "lanes[1].width must be a number in [1, 20], got 0": put("lanes", 1, "width", 0),
    "lanes[2] has an unknown key 'colour'": put("lanes", 2, "colour", "red"),
    "lanes must have at least 1 entries": put("lanes", []),
    "lanes must be a list": put("lanes", None),
    "cars must have at least 1 entries": put("cars", []),
    "cars must have at most 64 entries, got 65": put("cars", [CROSS["cars"][0]] * 65),
    "cars[0] must have the key 'goal'": lambda scene: scene["cars"][0].pop("goal"),
    "cars[1].x must be a number in [-5000, 5000], got 1000000": put("cars", 1, "x", 10**6),
    "cars[1].heading must be a number": put("cars", 1, "heading", None),
    "cars[1].speed must be a number in [-2, 20], got True": put("cars", 1, "speed", True),
    "cars[0].route[1] must be a next lane of 30": put("cars", 0, "route", [30, 20]),
    "cars[0].route[0] must be the id of a lane, got 5": put("cars", 0, "route", [5]),
    "cars[0].route must lead to the goal, which lies behind": put("cars", 0, {**CROSS["cars"][0], "goal": [1, 0], "route": [10]}),
    "cars[1].goal must be on a lane to which a route leads": put("cars", 1, {"x": 80, "y": 0, "heading": 0, "goal": [5, 0]}),
    "the file has an unknown key 'roads'": put("roads", []),
    "the file must have the key 'version'": lambda scene: scene.pop("version"),
    "version must be 1, got 2": put("version", 2),
}


@pytest.mark.parametrize("said", REFUSED)
def test_errors_name_the_place_in_the_file(written, said):
    path = written(changed(REFUSED[said]))
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        Drive(scenario=path)
    assert str(caught.value).startswith(f"drive: scenario {path}: {said}")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "is not valid JSON"),
        (b"[1, 2]", "the file must be an object"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b'{"version": 1, "version": 1}', "the key 'version' stands twice"),
        (b"[" * 100_000, "is not valid JSON"),
        (b" " * ((4 << 20) + 1), "must have at most 4194304 bytes, got 4194305"),
    ],
)
def test_files_that_are_no_scenarios_are_refused(written, content, said):
    with pytest.raises(ValueError, match=said):
        Drive(scenario=written(content))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ValueError, match="drive: scenario must be the path of a file, got"):
        Drive(scenario=str(tmp_path / "none.json"))


def test_very_long_lanes_and_routes_are_refused():
    lane = {"id": 0, "points": [[-5000, 0], [5000, 0], [5000, 5000]]}
    car = {"x": 0, "y": 0, "heading": 0, "goal": [5000, 100]}
    with pytest.raises(ValueError, match=r"cars\[0\].route must have at most 10000 m, got 15000 m"):
        pack({"version": 1, "lanes": [lane], "cars": [car]})
    with pytest.raises(ValueError, match="lanes must have at most 200000 m in all, got 210000 m"):
        pack({"version": 1, "lanes": [{**lane, "id": i} for i in range(14)], "cars": [car]})


KEYS = st.sampled_from(["id", "points", "next", "x", "goal"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(data=st.data(), value=JSON)
def test_whatever_stands_in_a_file_it_is_packed_or_refused(data, value):
    """Any part of a good file replaced by anything gives a ValueError, or a scenario that runs."""
    scene = copy.deepcopy(CROSS)
    part, key = scene, data.draw(st.sampled_from(sorted(scene)))
    while isinstance(part[key], (dict, list)) and part[key] and data.draw(st.booleans()):
        part = part[key]
        key = data.draw(st.sampled_from(sorted(part) if isinstance(part, dict) else range(len(part))))
    part[key] = value
    try:
        packed = pack(scene)
    except ValueError:
        return
    assert len(packed) % 4 == 0 and len(packed) > 100
