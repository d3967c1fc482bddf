"""What convert promises: agreement with a slow twin in double precision, laps, and its baseline scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pufferlib_ocean.convert import Convert
from pufferlib_ocean.testing import Random, play, random_actions


class Twin:
    """One world in double precision, written from the rules. `margin`: how near it came to what rounding could turn around."""

    def __init__(self, a, seed):
        self.a, self.random = a, Random(seed)
        self.field = np.array([a.width, a.height], np.float64)
        self.begin()

    def place(self):
        return np.array([self.random.range(0, self.a.width), self.random.range(0, self.a.height)], np.float64)

    def begin(self):
        self.agents, self.t, self.margin = [], 0, np.inf
        for _ in range(self.a.num_agents):
            at, heading = self.place(), float(self.random.range(-np.pi, np.pi))
            held = self.random.below(self.a.num_resources)
            self.agents.append({"at": at, "heading": heading, "speed": 0.0, "held": held})
        self.factories = [self.place() for _ in range(self.a.num_factories)]

    def nearest(self, at, resource):
        offsets = sorted(
            (factory - at for f, factory in enumerate(self.factories) if f % self.a.num_resources == resource),
            key=lambda offset: np.hypot(*offset),
        )  # fmt: skip
        far = [np.hypot(*offset) for offset in offsets[:2]]
        self.margin = min([self.margin, *np.diff(far)])
        return offsets[0]

    def seen(self):
        rows = []
        for agent in self.agents:
            row, h = [], agent["heading"]
            for resource in range(self.a.num_resources):
                dx, dy = self.nearest(agent["at"], resource)
                row += [(dx * np.cos(h) + dy * np.sin(h)) / self.a.width, (dy * np.cos(h) - dx * np.sin(h)) / self.a.height]
            row += [agent["held"] == resource for resource in range(self.a.num_resources)]
            wrapped = (h + np.pi) % (2 * np.pi) - np.pi
            self.margin = min(self.margin, 10 * (np.pi - abs(wrapped)))
            rows.append([*row, *(agent["at"] / self.field), agent["speed"] / 20, wrapped / np.pi])
        return np.clip(rows, -1, 1)

    def step(self, actions):
        rewards = np.zeros(len(self.agents))
        for i, (agent, (turn, throttle)) in enumerate(zip(self.agents, actions, strict=True)):
            agent["heading"] += (turn - 4) * 0.1
            agent["speed"] = min(max(agent["speed"] + (throttle - 2) * 0.5, 0), 20)
            ahead = np.array([np.cos(agent["heading"]), np.sin(agent["heading"])])
            agent["at"] = np.clip(agent["at"] + agent["speed"] * ahead, 0, self.field)
            far = np.hypot(*self.nearest(agent["at"], agent["held"]))
            self.margin = min(self.margin, abs(far - 32))
            if far <= 32:
                rewards[i] = 1
                agent["held"] = (agent["held"] + 1) % self.a.num_resources
        self.t += 1
        truncated, final = 0 < self.a.max_steps <= self.t, None
        if truncated:
            final = self.seen()
            self.begin()
        return self.seen(), rewards, truncated, final


@settings(max_examples=40, deadline=None)
@given(
    num_agents=st.integers(1, 8), num_resources=st.integers(2, 9), more=st.integers(0, 12), width=st.integers(100, 600),
    height=st.integers(100, 600), max_steps=st.sampled_from([0, 1, 30]), seed=st.integers(0, 2**63),
)  # fmt: skip
def test_agrees_with_the_slow_twin(more, seed, **arguments):
    env = Convert(num_factories=arguments["num_resources"] + more, **arguments)
    twin = Twin(env.args, seed)
    assert np.allclose(env.reset(seed=[seed])[0], twin.seen(), atol=1e-4)
    rng = np.random.default_rng(seed)
    for _ in range(80):
        actions = np.stack([rng.integers(0, 9, env.num_agents), rng.integers(1, 5, env.num_agents)], axis=1)
        seen, rewards, truncated, final = twin.step(actions)
        env.step(actions)
        assume(twin.margin > 1e-3)
        assert (env.rewards == rewards).all() and (env.truncations == truncated).all() and not env.terminals.any()
        assert np.allclose(env.observations, seen, atol=1e-4)
        if final is not None:
            assert np.allclose(env.final_observations, final, atol=1e-4)


def test_conversions_go_around_in_a_ring_and_laps_are_whole_rings():
    env = Convert(num_agents=40, num_factories=3, num_resources=3, width=100, height=100, max_steps=2500)
    env.reset(seed=5)
    rng, laps = np.random.default_rng(5), 0
    held = env.observations[:, 6:9].argmax(axis=1)
    since_zero = np.where(held == 0, 0, -np.inf)
    for _ in range(2500):
        env.step(random_actions(env, rng))
        seen = np.where(env.truncations[:, None], env.final_observations, env.observations)
        assert set(env.rewards) <= {0, 1}
        assert (seen[:, 6:9].argmax(axis=1) == (held + env.rewards) % 3).all()
        held, since_zero = seen[:, 6:9].argmax(axis=1), since_zero + env.rewards
        came_to_zero = (env.rewards == 1) & (held == 0)
        laps += (came_to_zero & (since_zero == 3)).sum()
        since_zero[came_to_zero] = 0
    assert laps > 50 and round(env.drain_log()["laps"] * 40) == laps


def test_fewer_factories_than_resources_are_refused():
    with pytest.raises(ValueError, match=r"num_factories must be at least num_resources=8, .* got 7"):
        Convert(num_factories=7)


# ---------------------------------------------------------------- baselines


def to_its_factory(observations, rng):
    """The hand policy: turn to the nearest factory for what one holds, full speed, brake while it is not ahead."""
    rows, resources = np.arange(len(observations)), (observations.shape[1] - 4) // 3
    held = observations[:, 2 * resources : 3 * resources].argmax(axis=1)
    bearing = np.arctan2(observations[rows, 2 * held + 1] * 1080, observations[rows, 2 * held] * 1920)
    turn = np.clip(np.rint(bearing / 0.1) + 4, 0, 8)
    return np.stack([turn, np.where(abs(bearing) > 0.8, 0, 4)], axis=1).astype(np.int32)


def test_baseline_scores():
    random = play(Convert(num_envs=16, num_agents=64), None, 500)
    hand = play(Convert(num_envs=16, num_agents=64), to_its_factory, 500)
    assert random["n"] == hand["n"] == 1024
    assert 0.23 <= random["score"] <= 0.35, "0.29, measured, and 5 standard errors"
    assert 19 <= hand["score"] <= 29, "24, measured, and 5 standard errors: places of factories matter"
