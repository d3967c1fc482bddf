"""What freeway promises: its rules (checked in C, under sanitizers), equality with a slow twin, and its baseline scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib_ocean.freeway import Freeway
from pufferlib_ocean.testing import Random, assert_equals_twin, play, rule_test

test_rule = rule_test(__file__)


# ---------------------------------------------------------------- a slow twin, written from the rules


class Twin:
    """One world. Every car is a rectangle of its own; positions are float32, as in C."""

    def __init__(self, a, seed):
        self.a, self.random = a, Random(seed)
        self.begin()

    def begin(self):
        self.level = self.a.level if self.a.level >= 0 else self.random.below(8)
        self.lanes = []
        for k in range(10):
            speed = np.float32(0.6) + np.float32(0.2) * np.float32(k * (self.level + 3) % 10)
            self.lanes.append({
                "middle": 168 - 16 * k, "speed": speed if k < 5 else -speed, "cars": 1 + (k + self.level) % 2,
                "length": 18 if (k + self.level) % 3 == 0 else 10, "x": self.random.range(-20, 180),
            })  # fmt: skip
        self.change_speeds()
        self.y, self.stun, self.ticks, self.score, self.t, self.paid = 184, 0, 0, 0, 0, set()

    def change_speeds(self):
        for lane in self.lanes:
            factor = self.random.range(0.7, 1.3) if self.level >= 4 else np.float32(1)
            lane["velocity"] = factor * lane["speed"]

    def xs(self, lane):
        """The middles of a lane's cars."""
        return [wrap(lane["x"] + 100 * i) for i in range(lane["cars"])]

    def hit(self):
        return any(
            abs(x - 44) < 3 + lane["length"] / 2 and abs(lane["middle"] - self.y) < 3 + 5
            for lane in self.lanes
            for x in self.xs(lane)
        )

    def tick(self, dy):
        """Returns the crossings and the lanes paid for in this tick."""
        crossed, entered = 0, 0
        for lane in self.lanes:
            lane["x"] = wrap(lane["x"] + lane["velocity"])
        if self.stun:
            self.stun -= 1
        else:
            self.y = min(184, self.y + dy)
            inside = {lane["middle"] for lane in self.lanes if self.y < lane["middle"] + 8}
            entered = len(inside - self.paid)
            self.paid |= inside
            if self.hit():
                self.y, self.stun = min(184, self.y + 16), 8
            if self.y <= 8:
                crossed, self.y, self.paid = 1, 184, set()
        self.ticks += 1
        if self.ticks % 128 == 0:
            self.change_speeds()
        self.score += crossed
        return np.array([crossed, entered])

    def seen(self):
        def part(a, b):
            return np.float32(a) / np.float32(b)

        values = [part(self.y, 184), part(self.stun, 8), 1 - part(self.ticks, self.a.game_ticks), min(1, part(self.score, 46))]
        for lane in self.lanes:
            towards = -1 if lane["velocity"] > 0 else 1
            coming = [x - 44 for x in self.xs(lane) if towards * (x - 44) > -(3 + lane["length"] / 2)]
            gap = min(coming, key=lambda gap, towards=towards: towards * gap, default=np.float32(100))
            values += [np.clip(part(gap, 100), -1, 1), part(lane["velocity"], 4), part(lane["length"], 18)]
        return np.array(values, np.float32)

    def step(self, action):
        paid = np.zeros(2, int)
        for _ in range(self.a.frameskip):
            paid += self.tick((0, -1, 1)[action])
            if self.ticks == self.a.game_ticks:
                break
        reward = np.float32(paid[0]) + self.a.dense * np.float32(0.01) * np.float32(paid[1])
        self.t += 1
        terminal = self.ticks == self.a.game_ticks
        truncated = not terminal and 0 < self.a.max_steps <= self.t
        final = self.seen() if terminal or truncated else None
        if final is not None:
            self.begin()
        return self.seen(), reward, terminal, truncated, final


def wrap(x):
    """On the ring of 200 px from -20."""
    x = np.float32(x)
    return x - np.float32(200) if x >= 180 else x + np.float32(200) if x < -20 else x


@settings(max_examples=25, deadline=None)
@given(
    frameskip=st.integers(1, 16), level=st.integers(-1, 7), game_ticks=st.integers(64, 700), dense=st.booleans(),
    max_steps=st.sampled_from([0, 0, 1, 30]), seed=st.integers(0, 2**63), boldness=st.floats(0, 1),
)  # fmt: skip
def test_equals_the_slow_twin_in_every_bit(seed, boldness, **arguments):
    """Random actions, of which the share `boldness` goes up."""
    env = Freeway(**arguments)
    rng = np.random.default_rng(seed)
    actions = (1 if rng.random() < boldness else rng.integers(0, 3) for _ in range(90))
    assert_equals_twin(env, Twin(env.args, seed), seed, actions)


# ---------------------------------------------------------------- baselines: every episode has 2,048 steps


def up(observations, rng):
    """The hand policy."""
    return np.ones(len(observations), np.int32)


def test_random_play_never_crosses():
    """As in all of 2,048 episodes measured: 8,192 ticks of a random walk with steps of 4 px, and a road of 168."""
    assert play(Freeway(num_envs=256), None, 2048)["score"] == 0


def test_going_up_scores_in_its_band():
    """The mean measured over 1,024 episodes, plus and minus 5 standard errors of a mean of 256."""
    log = play(Freeway(num_envs=256), up, 2048)
    assert log["n"] == 256
    assert 27.7 <= log["score"] <= 28.8
    assert log["perf"] == pytest.approx(log["score"] / 44)


@pytest.mark.parametrize("level", range(8))
def test_going_up_is_about_as_good_at_every_level(level):
    assert 26.5 <= play(Freeway(num_envs=32, level=level), up, 2048)["score"] <= 31.1
