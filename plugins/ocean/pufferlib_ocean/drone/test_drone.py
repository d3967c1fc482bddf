"""What drone promises: its physics and rules (checked in C, under sanitizers), agreement with a model in double precision, and
what its pilot and a random player reach."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from pufferlib.render.play import WindowPlayer
from pufferlib_ocean.drone import Drone, drone_pd
from pufferlib_ocean.testing import compile_rules, play, rule_test

HOVER = 0.264911


test_rule = rule_test(__file__)


def test_drones_fly_the_same_to_the_bit_on_machines_without_vectors(tmp_path):
    flights = []
    for name in ("test_drone.c", "test_drone_one_lane.c"):
        program = compile_rules(Path(__file__).with_name(name), tmp_path)
        flights.append(subprocess.run([str(program), "flight"], capture_output=True, check=True).stdout)
    assert len(flights[0]) > 100_000 and flights[0] == flights[1]


# ---------------------------------------------------------------- a model in double precision: rotation matrices, one drone


class Model:
    """The equations of motion, with the attitude as a rotation matrix that is turned by a matrix exponential."""

    D, SPINS = 0.17 / np.sqrt(2), np.array([1, -1, 1, -1])
    ROTORS = np.array([[D, D], [D, -D], [-D, -D], [-D, D]])
    INERTIA = np.diag([0.0032, 0.0032, 0.0055])

    def __init__(self, observation, arena):
        self.attitude = rotation(observation[6:10])
        self.at = np.array([0, 0, observation[23] * arena])  # where it is sideways, no one is told
        self.velocity, self.spin, self.rotors = np.zeros(3), np.zeros(3), np.full(4, np.sqrt(0.4))
        self.target = self.at + self.attitude @ observation[14:17] * arena

    def fly(self, action, substeps):
        dt = 0.02 / substeps
        for _ in range(substeps):
            self.rotors += ((action + 1) / 2 - self.rotors) * dt / 0.05
            thrust = 2.5 * 0.5 * 9.81 / 4 * self.rotors**2
            arms = np.column_stack([self.ROTORS, np.zeros(4)])
            torque = np.cross(arms, thrust[:, None] * np.array([0, 0, 1])).sum(axis=0) - 0.003 * self.spin
            torque[2] += (self.SPINS * 0.016 * thrust).sum()
            inertial = np.cross(self.spin, self.INERTIA @ self.spin)
            self.spin = self.spin + dt * np.linalg.solve(self.INERTIA, torque - inertial)
            self.attitude = self.attitude @ turn(dt * self.spin)
            force = self.attitude @ [0, 0, thrust.sum()] - 0.1 * self.velocity
            self.velocity = self.velocity + dt * (force / 0.5 - [0, 0, 9.81])
            self.at = self.at + dt * self.velocity

    def seen(self, arena):
        inverse = self.attitude.T
        offset = self.target - self.at
        return np.concatenate([
            inverse @ self.velocity / 10, self.spin / 15, self.rotors, inverse @ offset / arena,
            [self.at[2] / arena, np.linalg.norm(offset) / arena],
        ])  # fmt: skip


def rotation(q):
    w, v = float(q[0]), np.asarray(q[1:], np.float64)
    return np.eye(3) + 2 * w * cross_matrix(v) + 2 * cross_matrix(v) @ cross_matrix(v)


def cross_matrix(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def turn(v):
    """Rodrigues' formula."""
    angle = np.linalg.norm(v)
    k = cross_matrix(v / angle) if angle > 0 else np.zeros((3, 3))
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


@pytest.mark.parametrize("substeps", [1, 2, 8])
def test_agrees_with_the_model_for_half_a_second_of_wild_flight(substeps):
    rng = np.random.default_rng(substeps)
    for seed in range(20):
        env = Drone(substeps=substeps, arena=20, max_steps=0)
        model = Model(env.reset(seed=[seed])[0][0], 20)
        for _ in range(25):
            action = np.clip(HOVER + rng.normal(0, 0.15, 4), -1, 1)
            env.step(action[None].astype(np.float32))
            model.fly(action.astype(np.float32).astype(np.float64), substeps)
            o = env.observations[0].astype(np.float64)
            seen = np.concatenate([o[0:6], o[10:17], o[23:25]])
            assert np.allclose(seen, np.clip(model.seen(20), -1, 1), atol=2e-3), "the quaternion's step is of first order"
            assert np.allclose(rotation(o[6:10]), model.attitude, atol=2e-3 * 4 / substeps)
            assert np.allclose(o[17:20], o[14:17]) and not o[20:23].any() and o[25] == 0


def test_halving_the_time_step_changes_a_piloted_path_by_less_than_2_percent():
    coarse, fine = Drone(num_envs=64, substeps=2), Drone(num_envs=64, substeps=4)
    start = 10 * coarse.reset(seed=3)[0][:, 24]
    fine.reset(seed=3)
    for _ in range(100):
        coarse.step(drone_pd(coarse.observations))
        fine.step(drone_pd(fine.observations))
        apart = 10 * np.abs(coarse.observations[:, 23:25] - fine.observations[:, 23:25]).max(axis=1)
        assert (apart < 0.02 * np.maximum(start, 1)).all()


def test_races_show_the_ring_the_next_one_and_the_normal():
    env = Drone(num_envs=64, task="race", rings=2, max_steps=0)
    o = env.reset(seed=2)[0].astype(np.float64)
    assert (o[:, 25] == 1).all()
    for row in o:
        to_world = rotation(row[6:10])
        first, second, normal = (to_world @ row[k : k + 3] for k in (14, 17, 20))
        assert np.allclose(first / np.linalg.norm(first), normal, atol=1e-5), "the first ring faces the start"
        level = 10 * np.hypot(*(second - first)[:2])
        assert 1.99 < level < 4.01 or (abs(10 * second[:2]) > 1).any()


def test_mixes_hover_and_race_and_randomizes_the_plant():
    tasks = Drone(num_envs=400, task="mix").reset(seed=1)[0][:, 25]
    assert 140 < tasks.sum() < 260
    heights = []
    for randomize in (0.0, 0.3):
        env = Drone(num_envs=200, randomize=randomize, max_steps=0)
        before = 10 * env.reset(seed=1)[0][:, 23]
        for _ in range(20):
            env.step(np.full((200, 4), HOVER, np.float32))
        heights.append(10 * env.observations[:, 23] - before)
    assert abs(heights[0]).max() < 1e-3
    assert heights[1].std() > 0.1


# ---------------------------------------------------------------- by keyboard


@pytest.mark.parametrize("wish", [(0, 0, 0, 0), (1, 0, 0, 0), (-1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, -1, 0)])
def test_a_person_flies_it_by_wishes(wish):
    env = Drone(max_steps=0, arena=20)
    before = env.reset(seed=[3])[0][0].astype(np.float64)
    for _ in range(50):
        env.step(env.steer(env.observations[0], np.array(wish, np.float32))[None])
    after = env.observations[0].astype(np.float64)
    start, end = rotation(before[6:10]), rotation(after[6:10])
    way = 20 * start.T @ (start @ before[14:17] - end @ after[14:17])  # in the axes that the drone had at first
    assert np.allclose(way, 2 * np.array(wish[:3]), atol=0.7 if any(wish) else 0.01), "a second at up to 3 m/s"


def test_a_window_without_a_key_down_holds_the_drone_where_it_is():
    env = Drone(max_steps=0, render_mode="rgb_array")
    player = WindowPlayer(env, window=object(), seed=[3])
    before = player.observations[0, 23].copy()
    for _ in range(50):
        player.step()
    assert abs(player.observations[0, 23] - before) < 1e-3, "raw actions of 0 would drop it"


# ---------------------------------------------------------------- baselines


def pilot(observations, rng):
    return drone_pd(observations)


def test_baseline_scores():
    """Measured: random 0.000 and 0.002 over 61 steps; the pilot 0.91 and 0.65."""
    for task, least, most in (("hover", 0.9, 0.93), ("race", 0.6, 0.71)):
        random = play(Drone(num_envs=64, task=task), None, 600)
        hand = play(Drone(num_envs=512, task=task), pilot, 500)
        assert random["n"] >= 500 and random["score"] < 0.02 and 58 <= random["episode_length"] <= 66
        assert hand["n"] >= 500 and least <= hand["perf"] <= most
