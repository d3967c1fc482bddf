"""What asteroids promises: its rules (checked in C, under sanitizers), equality with a slow twin, and its baseline scores."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib_ocean.asteroids import Asteroids
from pufferlib_ocean.testing import Random, assert_equals_twin, play, rule_test, sine

F = np.float32
NONE, THRUST, LEFT, RIGHT, FIRE, THRUST_FIRE = range(6)


test_rule = rule_test(__file__)


# ---------------------------------------------------------------- a slow twin, written from the rules

RADIUS = (0, F(0.018), F(0.035), F(0.06))


def direction(angle):
    return np.array([sine(angle, 1), sine(angle)], np.float32)


def wrap(v):
    v = np.where(v < 0, v + F(1), v)
    return np.where(v >= 1, v - F(1), v)


def offset(a, b):
    """The shortest way from a to b on the torus."""
    d = b - a
    return np.where(d > 0.5, d - F(1), np.where(d < -0.5, d + F(1), d))


def dot(a, b):
    return F(a[0] * b[0]) + F(a[1] * b[1])


class Twin:
    """One world: vectors are float32[2], rocks and shots dicts; a shot that does not fly is None."""

    def __init__(self, a, seed):
        self.a, self.random = a, Random(seed)
        self.begin()

    def begin(self):
        self.ship, self.velocity = np.full(2, 0.5, np.float32), np.zeros(2, np.float32)
        self.turn_to(F(-0.5) * F(np.pi))
        self.cooldown = self.safety = self.wave = self.points = self.worth = self.t = 0
        self.lives, self.rocks, self.shots = self.a.lives, [], [None] * 6
        self.new_wave()

    def turn_to(self, heading):
        pi = F(np.pi)
        self.heading = heading - F(2) * pi if heading > pi else heading + F(2) * pi if heading < -pi else heading
        self.nose = direction(self.heading)

    def new_wave(self):
        for _ in range(min(8, self.a.start_rocks + self.wave)):
            while True:
                at = np.array([self.random.uniform(), self.random.uniform()], np.float32)
                way = offset(self.ship, at)
                if dot(way, way) >= F(0.25) * F(0.25):
                    break
            angle = self.random.range(-F(np.pi), F(np.pi))
            self.rocks.append({"at": at, "velocity": self.speed(3) * direction(angle), "size": 3})

    def speed(self, size):
        return self.random.range(0.001, 0.003) * F(4 - size)

    def tick(self, action):
        if action in (LEFT, RIGHT):
            self.turn_to(self.heading + (F(0.08) if action == RIGHT else F(-0.08)))
        thrust = F(0.0004) if action in (THRUST, THRUST_FIRE) else F(0)
        self.velocity = (self.velocity + thrust * self.nose) * F(0.995)
        speed = np.sqrt(dot(self.velocity, self.velocity))
        if speed > F(0.012):
            self.velocity = self.velocity * (F(0.012) / speed)
        self.cooldown = max(0, self.cooldown - 1)
        if action in (FIRE, THRUST_FIRE) and self.cooldown == 0 and None in self.shots:
            shot = {"at": self.ship, "velocity": F(0.02) * self.nose + self.velocity, "life": 40}
            self.shots[self.shots.index(None)], self.cooldown = shot, 8
        self.ship = wrap(self.ship + self.velocity)
        for thing in [*self.rocks, *filter(None, self.shots)]:
            thing["at"] = wrap(thing["at"] + thing["velocity"])
        for i, shot in enumerate(self.shots):
            if shot:
                shot["life"] -= 1
                hit = next((k for k, rock in enumerate(self.rocks) if meets(shot, rock)), None)
                if hit is not None:
                    self.split(hit)
                if hit is not None or shot["life"] == 0:
                    self.shots[i] = None
        if self.safety:
            self.safety -= 1
        elif any(self.touches(rock) for rock in self.rocks):
            self.lives, self.safety = self.lives - 1, 60
            self.ship, self.velocity = np.full(2, 0.5, np.float32), np.zeros(2, np.float32)
        if not self.rocks:
            self.wave += 1
            self.new_wave()

    def split(self, hit):
        rock = self.rocks[hit]
        self.worth += 4 - rock["size"]
        if rock["size"] == 1:
            last = self.rocks.pop()
            if last is not rock:
                self.rocks[hit] = last
            return
        ahead, full = rock["velocity"] / np.sqrt(dot(rock["velocity"], rock["velocity"])), len(self.rocks) == 32
        for side in (1,) if full else (1, -1):
            aside = direction(side * self.random.range(0.3, 1))
            way = np.array([ahead[0] * aside[0] - ahead[1] * aside[1], ahead[0] * aside[1] + ahead[1] * aside[0]], np.float32)
            child = {"at": rock["at"], "velocity": self.speed(rock["size"] - 1) * way, "size": rock["size"] - 1}
            if side == 1:
                self.rocks[hit] = child
            else:
                self.rocks.append(child)

    def touches(self, rock):
        way, touch = offset(self.ship, rock["at"]), RADIUS[rock["size"]] + F(0.012)
        return dot(way, way) <= touch * touch

    def as_seen(self, v):
        c, s = self.nose
        return [v[0] * c + v[1] * s, v[1] * c - v[0] * s]

    def seen(self):
        speed = np.clip(self.velocity / F(0.012), -1, 1)
        values = [*speed, *self.nose, F(self.cooldown) / 8, F(self.shots.count(None)) / 6]
        values += [F(self.lives) / self.a.lives, F(self.safety) / 60]
        ways = [offset(self.ship, rock["at"]) for rock in self.rocks]
        for k in sorted(range(len(ways)), key=lambda k: dot(ways[k], ways[k]))[:12]:
            rock = self.rocks[k]
            relative = self.as_seen(rock["velocity"] - self.velocity)
            shown = [2 * d for d in self.as_seen(ways[k])] + [d / F(0.02) for d in relative]
            values += [*np.clip(shown, -1, 1), F(rock["size"]) / 3]
        return np.array(values + [0] * (68 - len(values)), np.float32)

    def step(self, action):
        worth, lives = self.worth, self.lives
        for _ in range(self.a.frameskip):
            self.tick(action)
            if self.lives == 0:
                break
        reward = F(0.1) * F(self.worth - worth) - F(lives - self.lives)
        self.t += 1
        terminal = self.lives == 0
        truncated = not terminal and 0 < self.a.max_steps <= self.t
        final = self.seen() if terminal or truncated else None
        if final is not None:
            self.begin()
        return self.seen(), reward, terminal, truncated, final


def meets(shot, rock):
    """Whether the shot's way of this tick comes within the rock's radius of its middle."""
    end, way, radius = offset(rock["at"], shot["at"]), shot["velocity"], RADIUS[rock["size"]]
    back = np.clip(dot(end, way) / dot(way, way), F(0), F(1))
    closest = end - back * way
    return dot(closest, closest) <= radius * radius


@settings(max_examples=10, deadline=None)
@given(
    frameskip=st.integers(1, 6), start_rocks=st.integers(1, 8), lives=st.integers(1, 3),
    max_steps=st.sampled_from([0, 0, 2, 60]), seed=st.integers(0, 2**63), aiming=st.floats(0, 1),
)  # fmt: skip
def test_equals_the_slow_twin_in_every_bit(seed, aiming, **arguments):
    """Random actions, of which the share `aiming` shoots at rocks, so that they split."""
    env = Asteroids(**arguments)
    rng = np.random.default_rng(seed)
    actions = (hand(env.observations)[0] if rng.random() < aiming else rng.integers(0, 6) for _ in range(90))
    assert_equals_twin(env, Twin(env.args, seed), seed, actions)


# ---------------------------------------------------------------- baselines


def hand(observations, rng=None):
    """The hand policy: turn to where the rock that is soonest to hit will be when a shot gets there; fire at |bearing| < .1."""
    rocks = observations[:, 8:].reshape(-1, 12, 5)
    x, y, vx, vy = rocks[:, :, 0] / 2, rocks[:, :, 1] / 2, rocks[:, :, 2] * 0.02, rocks[:, :, 3] * 0.02
    far = np.hypot(x, y) + 1e-6
    closing = np.maximum(-(x * vx + y * vy) / far, 1e-4)
    soonest = np.where(rocks[:, :, 4] > 0, (far - 0.02 * 3 * rocks[:, :, 4]) / closing + 40 * far, np.inf).argmin(axis=1)
    k = (np.arange(len(rocks)), soonest)
    ticks = far[k] / 0.02
    bearing = np.arctan2(y[k] + vy[k] * ticks, x[k] + vx[k] * ticks)
    return np.where(np.abs(bearing) < 0.1, FIRE, np.where(bearing < 0, LEFT, RIGHT))


# Bands: the mean of five measurements like these, plus and minus 5 of their standard deviations.


def test_random_play_scores_in_its_band():
    log = play(Asteroids(num_envs=256), None, 1000)
    assert log["n"] >= 250
    assert 1252 <= log["score"] <= 1726


def test_the_hand_policy_scores_in_its_band():
    """In the first fifth of an episode: a whole one is worth 19,200, eleven times as much as random play."""
    log = play(Asteroids(num_envs=128, max_steps=600), hand, 600)
    assert 3638 <= log["score"] <= 3885
