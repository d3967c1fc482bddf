"""What drive promises: its rules (checked in C, under sanitizers), what rows see against a float64 model, its baseline scores."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pufferlib_ocean.drive import Drive, save_scenario
from pufferlib_ocean.testing import play, random_actions, rule_test

ACCELERATIONS = np.array([-4, -2, -1, 0, 1, 2, 3])
OWN, CARS, ROUTE, LANES = slice(0, 8), slice(8, 92), slice(92, 156), slice(156, 284)


test_rule = rule_test(__file__)


# ---------------------------------------------------------------- observations, from a saved world, in float64


def sample(points, has_next):
    """[x, y, heading] every 2 m; the end as well where nothing follows."""
    points = np.array(points)
    steps = np.diff(points, axis=0)
    metres = np.hypot(*steps.T)
    before = np.concatenate([[0], np.cumsum(metres)])
    at = np.arange(0, before[-1] - 0.01, 2)
    k = np.clip(np.searchsorted(before, at, side="right") - 1, 0, len(steps) - 1)
    headings = np.arctan2(steps[:, 1], steps[:, 0])
    found = np.column_stack([points[k] + ((at - before[k]) / metres[k])[:, None] * steps[k], headings[k]])
    return found if has_next else np.vstack([found, [*points[-1], headings[-1]]])


def in_axes(car, place):
    c, s = np.cos(car["heading"]), np.sin(car["heading"])
    dx, dy = place[..., 0] - car["x"], place[..., 1] - car["y"]
    return np.stack([dx * c + dy * s, dy * c - dx * s], axis=-1)


def relative(angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def padded(rows, count):
    return np.vstack([rows, np.zeros((count, rows.shape[1]))])[:count]


def seen(scene, i, samples):
    """The cars and the lane samples of row i."""
    car, others = scene["cars"][i], [c for k, c in enumerate(scene["cars"]) if k != i]
    places = np.array([[c["x"], c["y"]] for c in others])
    distances = np.hypot(*(places - [car["x"], car["y"]]).T)
    rows = np.column_stack([
        in_axes(car, places) / 50, relative(np.array([c["heading"] for c in others]) - car["heading"]),
        [c["speed"] / 20 for c in others], [c["length"] / 10 for c in others], np.ones(len(others)),
    ])[np.argsort(distances, kind="stable")][: (distances <= 50).sum()]  # fmt: skip
    far = np.hypot(samples[:, 0] - car["x"], samples[:, 1] - car["y"])
    near = samples[np.argsort(far, kind="stable")[: (far <= 30).sum()]]
    lanes = np.column_stack([in_axes(car, near[:, :2]) / 30, relative(near[:, 2] - car["heading"])])
    return padded(rows, 12).ravel(), padded(lanes, 32).ravel()


def test_rows_see_what_a_float64_model_of_the_saved_world_sees(tmp_path):
    env, rng = Drive(num_envs=4, num_cars=24), np.random.default_rng(0)
    env.reset(seed=3)
    for _ in range(25):
        env.step(random_actions(env, rng))
    agree = []
    for world in range(4):
        save_scenario(env, tmp_path / "world.json", world)
        scene = json.loads((tmp_path / "world.json").read_text())
        samples = np.vstack([sample(lane["points"], lane["next"]) for lane in scene["lanes"]])
        assert len(scene["cars"]) == 24
        for i, car in enumerate(scene["cars"]):
            row = env.observations[world * 24 + i].astype(np.float64)
            cars, lanes = seen(scene, i, samples)
            goal = in_axes(car, np.array(car["goal"]))
            assert np.allclose(row[[0, 2, 3]], np.clip([car["speed"] / 20, *goal / 50], -1, 1), atol=1e-5)
            assert np.allclose(row[4], np.hypot(*goal) / 200, atol=1e-5)
            assert np.allclose(row[CARS], cars, atol=1e-4)
            agree.append(np.abs(row[LANES] - lanes).reshape(32, 4).max(axis=1) < 1e-4)
    assert np.mean(agree) > 0.97, "two samples at nearly one distance may change places, and hardly any other differs"


def test_the_route_ahead_is_in_the_row(tmp_path):
    """From the nearest sample on, to within a step of 2 m, and every route sample is a sample of the map."""
    env = Drive(num_envs=2)
    rows = env.reset(seed=1)[0]
    for row in rows:
        route = row[ROUTE].reshape(16, 4)
        there = route[:, 2:].any(axis=1)
        assert there.any() and (np.diff(there.astype(int)) <= 0).all()
        metres = 30 * np.hypot(*np.diff(np.vstack([[0, 0], route[there, :2]]), axis=0).T)
        assert (metres <= 2.01).all() and 30 * np.hypot(*route[0, :2]) <= 2.01
    assert (np.abs(rows[:, 5:7]) < 1e-6).all() and (rows[:, 1] == 0).all() and (rows[:, 7] == 0).all()


# ---------------------------------------------------------------- a mirrored road


def mirrored(scene):
    def flip(place):
        return [place[0], -place[1]]

    lanes = [{**lane, "points": [flip(p) for p in lane["points"]]} for lane in scene["lanes"]]
    cars = [{**c, "y": -c["y"], "heading": -c["heading"], "goal": flip(c["goal"])} for c in scene["cars"]]
    return {**scene, "lanes": lanes, "cars": cars}


def test_on_a_mirrored_road_mirrored_steering_does_the_mirrored_thing(tmp_path):
    curve = [[0, 0], [40, 0], [60, 10], [70, 30], [70, 80]]
    scene = {
        "version": 1,
        "lanes": [{"id": 0, "points": curve}, {"id": 1, "points": [[60, 0], [40, -5], [0, -5]]}],
        "cars": [
            {"x": 2, "y": 0.25, "heading": 0.1, "speed": 5, "goal": [70, 70]},
            {"x": 20, "y": -0.5, "heading": -0.1, "speed": 5, "goal": [70, 60]},
            {"x": 58, "y": 0, "heading": 3, "speed": 5, "goal": [4, -5]},
        ],
    }
    envs, sign = [], np.ones(284)
    for name, scenario in (("plain", scene), ("mirrored", mirrored(scene))):
        (tmp_path / name).write_text(json.dumps(scenario))
        envs.append(Drive(scenario=str(tmp_path / name)))
        envs[-1].reset(seed=0)
    sign[[1, 3, 5, 6]] = -1
    sign[CARS].reshape(12, 7)[:, [1, 3]] = -1
    sign[ROUTE].reshape(16, 4)[:, [1, 3]] = -1
    sign[LANES].reshape(32, 4)[:, [1, 3]] = -1
    rng, ended = np.random.default_rng(2), 0
    for _ in range(400):
        actions = np.column_stack([rng.integers(2, 7, 3), rng.integers(4, 9, 3)]).astype(np.int32)
        other = np.column_stack([actions[:, 0], 12 - actions[:, 1]]).astype(np.int32)
        first, second = envs[0].step(actions), envs[1].step(other)
        assert np.allclose(first[0], second[0] * sign, atol=1e-4)
        assert np.allclose(first[1], second[1], atol=1e-5) and (first[2] == second[2]).all() and (first[3] == second[3]).all()
        ended += first[2].sum()
    assert ended > 10


# ---------------------------------------------------------------- arguments


def test_stopping_without_a_limit_is_refused():
    for event in ("on_collision", "on_offroad"):
        with pytest.raises(ValueError, match="drive: max_steps must be above 0"):
            Drive(max_steps=0, **{event: "stop"})


def test_continuous_actions_do_what_the_choices_do():
    choices, box = Drive(num_envs=2), Drive(num_envs=2, action="continuous")
    choices.reset(seed=5), box.reset(seed=5)
    rng = np.random.default_rng(0)
    for _ in range(100):
        actions = random_actions(choices, rng)
        numbers = np.column_stack([ACCELERATIONS[actions[:, 0]] / 4, (actions[:, 1] - 6) / 6]).astype(np.float32)
        assert np.allclose(choices.step(actions)[0], box.step(numbers)[0], atol=1e-3)


def test_keys_are_actions_of_both_kinds():
    for env in (Drive(), Drive(action="continuous")):
        for key in ("up", "down", "left", "right"):
            ((axis, value),) = env.keys[key].items()
            idle = np.broadcast_to(env.idle_action, 2)
            assert axis == (key in ("left", "right")) and (value > idle[axis]) == (key in ("up", "left"))


# ---------------------------------------------------------------- baselines


def pursue(observations, rng, speed=7.0, look_ahead=3.0):
    """Pure pursuit (Coulter 1992) of the route at 7 m/s; stands while there is a car within 8 m ahead.

    At 6 m/s the longest routes would take longer than the 30 s of an episode.
    """
    rows = np.arange(len(observations))
    route = observations[:, ROUTE].reshape(-1, 16, 4)
    places = np.concatenate([30 * route[:, :, :2], 50 * observations[:, None, 2:4]], axis=1)  # at last the goal
    there = np.concatenate([route[:, :, 2:].any(axis=2), np.ones((len(rows), 1), bool)], axis=1)
    is_far = there & (np.hypot(places[:, :, 0], places[:, :, 1]) >= look_ahead)
    is_far[:, -1] = True
    x, y = places[rows, is_far.argmax(axis=1)].T
    slip = np.clip(1.4 * 2 * y / np.maximum(x**2 + y**2, 1e-6), -0.9, 0.9)  # sin(beta) = curvature * wheelbase / 2
    steering = np.arctan(2 * slip / np.sqrt(1 - slip**2))
    cars = observations[:, CARS].reshape(-1, 12, 7)
    gap, side = 50 * cars[:, :, 0] - 4.5, np.abs(50 * cars[:, :, 1])
    is_blocked = (cars[:, :, 2:4].any(axis=2) & (50 * cars[:, :, 0] > 0) & (gap < 8) & (side < 2.2)).any(axis=1)
    wanted = np.where(is_blocked, 0, speed)[:, None] - 20 * observations[:, :1]
    gas = np.abs(0.1 * ACCELERATIONS - wanted).argmin(axis=1)
    return np.column_stack([gas, np.clip(np.rint(10 * steering) + 6, 0, 12)]).astype(np.int32)


def test_baseline_scores():
    random = play(Drive(num_envs=16), None, 150)
    alone = play(Drive(num_envs=256, num_cars=1), pursue, 700)
    traffic = play(Drive(num_envs=16), pursue, 600)
    assert min(random["n"], alone["n"], traffic["n"]) >= 500
    assert random["score"] < 0.02
    assert alone["score"] >= 0.95 and alone["collision_rate"] == 0
    assert 0.8 <= traffic["score"] <= 0.95
    assert traffic["offroad_rate"] < 0.02 < traffic["collision_rate"]
