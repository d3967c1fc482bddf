"""What enduro promises: its rules (checked in C, under sanitizers), equality with a slow twin, and its baseline scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib_ocean.enduro import Enduro
from pufferlib_ocean.testing import Random, assert_equals_twin, play, rule_test

F = np.float32
NONE, GAS, LEFT, RIGHT, BRAKE, GAS_LEFT, GAS_RIGHT, BRAKE_LEFT, BRAKE_RIGHT = range(9)


test_rule = rule_test(__file__)


# ---------------------------------------------------------------- a slow twin, written from the rules


class Twin:
    """One world. The road is an endless list of [length, curvature]; a slot holds a car as a dict, or None."""

    def __init__(self, a, seed):
        self.a, self.random = a, Random(seed)
        self.begin()

    def begin(self):
        self.x, self.speed, self.into, self.road = F(0), F(0), F(0), []
        for _ in range(5):
            self.build_road()
        self.cars = [None] * 10
        self.day, self.ticks, self.passed, self.total, self.t, self.over = 0, 0, 0, 0, 0, False

    def build_road(self):
        length = self.random.range(200, 800)
        self.road.append([length, (-1, -0.5, 0, 0.5, 1)[self.random.below(5)]])

    def bend(self, ahead):
        rest, i = self.into + F(ahead), 0
        while i < 4 and rest >= self.road[i][0]:
            rest, i = rest - self.road[i][0], i + 1
        return F(self.road[i][1])

    def tick(self, action):
        gas, brake = action in (GAS, GAS_LEFT, GAS_RIGHT), action in (BRAKE, BRAKE_LEFT, BRAKE_RIGHT)
        steer = F((action in (RIGHT, GAS_RIGHT, BRAKE_RIGHT)) - (action in (LEFT, GAS_LEFT, BRAKE_LEFT)))
        thrust = F(0.04) if gas else -F(0.12) if brake else -F(0.01)
        self.speed = np.clip(self.speed + thrust, F(0), F(8))
        part = self.speed / F(8)
        self.x += steer * F(0.02) * (F(0.5) + F(0.5) * part) - self.bend(0) * F(0.01) * (part * part)
        if abs(self.x) > 1:
            self.x, self.speed = np.sign(self.x), self.speed * F(0.98)
        self.into += self.speed
        if self.into >= self.road[0][0]:
            self.into -= self.road.pop(0)[0]
            self.build_road()
        self.traffic()
        self.ticks += 1
        if self.ticks == self.a.day_ticks:
            self.end_day()

    def traffic(self):
        crash = False
        for i, car in enumerate(self.cars):
            if car is None:
                continue
            was_ahead = car["gap"] >= 0
            car["gap"] += car["speed"] - self.speed
            if abs(car["gap"]) < 6 and abs(car["lane"] - self.x) < F(0.28):
                car["gap"], crash = car["gap"] + F(30), True
            ahead = car["gap"] >= 0
            if was_ahead and not ahead:
                self.passed, self.total = self.passed + 1, self.total + 1
            if ahead and not was_ahead and self.passed:
                self.passed, self.total = self.passed - 1, self.total - 1
            if car["gap"] <= -40 or car["gap"] > 440:
                self.cars[i] = None
        if crash:
            self.speed = F(1)
        free = [i for i, car in enumerate(self.cars) if car is None]
        room = all(car["gap"] < 340 for car in self.cars if car)
        if free and room and self.random.chance(F(0.1) + F(0.02) * F(min(self.day, 5))):
            lane = (-F(0.66), F(0), F(0.66))[self.random.below(3)]
            self.cars[free[0]] = {"gap": F(400), "lane": lane, "speed": self.random.range(3, 5)}

    def quota(self):
        return self.a.quota1 if self.day == 0 else self.a.quota

    def end_day(self):
        if self.passed < self.quota():
            self.over = True
        else:
            self.day, self.ticks, self.passed = self.day + 1, 0, 0

    def seen(self):
        clock = F(1) - F(self.ticks) / F(self.a.day_ticks)
        to_pass = min(F(1), F(max(0, self.quota() - self.passed)) / F(100))
        values = [
            self.x,
            self.speed / F(8),
            self.bend(0),
            self.bend(60),
            self.bend(120),
            clock,
            to_pass,
            F(min(self.day, 5)) / F(5),
        ]
        night = self.ticks >= 0.75 * self.a.day_ticks
        for car in self.cars:
            if car is None or (night and car["gap"] > 150):
                values += [0] * 6
            else:
                across, relative = (car["lane"] - self.x) / F(2), (car["speed"] - self.speed) / F(8)
                values += [1, min(F(1), car["gap"] / F(440)), car["lane"], car["speed"] / F(8), across, relative]
        return np.array(values, np.float32)

    def step(self, action):
        total, day = self.total, self.day
        for _ in range(self.a.frameskip):
            self.tick(action)
            if self.over:
                break
        reward = F(0.1) * F(self.total - total) + F(self.day - day)
        self.t += 1
        truncated = not self.over and 0 < self.a.max_steps <= self.t
        terminal, final = self.over, self.seen() if self.over or truncated else None
        if final is not None:
            self.begin()
        return self.seen(), reward, terminal, truncated, final


@settings(max_examples=25, deadline=None)
@given(
    frameskip=st.sampled_from([1, 4, 16]), day_ticks=st.integers(256, 700), quota1=st.integers(1, 8), quota=st.integers(1, 8),
    max_steps=st.sampled_from([0, 0, 3, 100]), seed=st.integers(0, 2**63), speeding=st.floats(0.3, 1),
)  # fmt: skip
def test_equals_the_slow_twin_in_every_bit(seed, speeding, **arguments):
    """Random actions, of which the share `speeding` gives gas, so that cars are passed and hit."""
    env = Enduro(**arguments)
    rng = np.random.default_rng(seed)
    actions = (rng.choice([GAS, GAS, GAS_LEFT, GAS_RIGHT]) if rng.random() < speeding else rng.integers(0, 9) for _ in range(130))
    assert_equals_twin(env, Twin(env.args, seed), seed, actions)


# ---------------------------------------------------------------- baselines


def hand(observations, rng=None):
    """The hand policy: gas; towards the nearest lane without a car at a gap of 0 to 60, or to the middle if all are taken."""
    x, cars = observations[:, 0], observations[:, 8:].reshape(-1, 10, 6)
    gaps, lanes = 440 * cars[:, :, 1], cars[:, :, 2]
    close = (cars[:, :, 0] == 1) & (gaps > 0) & (gaps < 60)
    places = np.array([-0.66, 0, 0.66], np.float32)
    taken = (close[:, :, None] & (np.abs(lanes[:, :, None] - places) < 0.1)).any(axis=1)
    cost = np.abs(places - x[:, None]) + 10 * taken
    target = np.where(taken.all(axis=1), 0, places[cost.argmin(axis=1)])
    away = target - x
    return np.where(np.abs(away) < 0.04, GAS, np.where(away < 0, GAS_LEFT, GAS_RIGHT))


DAY = {"quota1": 1000, "num_envs": 512}
"""An episode of exactly one day: nobody passes 1,000 cars."""


def test_random_play_passes_no_car():
    """Measured: none in 1,536 days."""
    log = play(Enduro(**DAY), None, 1024)
    assert log["n"] == 512
    assert log["score"] == 0


def test_the_hand_policy_passes_cars_in_its_band():
    """The mean of 8 measurements like this one, plus and minus 5 of their standard deviations."""
    log = play(Enduro(**DAY), hand, 1024)
    assert log["n"] == 512
    assert 66.0 <= log["score"] <= 71.4
    assert log["episode_return"] == pytest.approx(0.1 * log["score"], rel=1e-5)
