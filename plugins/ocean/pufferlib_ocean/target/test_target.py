"""What target promises: its rules (checked in C, under sanitizers), agreement with a slow twin, and its baseline scores."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pufferlib_ocean.target import Target
from pufferlib_ocean.testing import Random, play, rule_test

test_rule = rule_test(__file__)


# ---------------------------------------------------------------- a slow twin, written from the rules


class Twin:
    """One world in double precision, with headings as angles."""

    def __init__(self, a, seed):
        self.a, self.random = a, Random(seed)
        self.begin()

    def place(self):
        return [float(self.random.range(0, self.a.width)), float(self.random.range(0, self.a.height))]

    def begin(self):
        self.agents = []
        for _ in range(self.a.num_agents):
            self.agents.append({"at": self.place(), "heading": float(self.random.range(-np.pi, np.pi)), "speed": 0.0})
        self.goals = [self.place() for _ in range(self.a.num_goals)]
        self.t, self.margin = 0, np.inf

    def relative(self, agent, at):
        dx, dy = at[0] - agent["at"][0], at[1] - agent["at"][1]
        bearing = np.arctan2(dy, dx) - agent["heading"]
        return [dx / self.a.width, dy / self.a.height, np.cos(bearing), np.sin(bearing)]

    def seen(self):
        """Also lowers `margin`: how near this is to an order that rounding could turn around."""
        rows = []
        for agent in self.agents:
            row = []
            others = [other["at"] for other in self.agents if other is not agent]
            for points, shown in ((self.goals, self.a.num_goals), (others, self.a.max_others)):
                ordered = sorted(points, key=lambda p: np.hypot(p[0] - agent["at"][0], p[1] - agent["at"][1]))
                far = [np.hypot(p[0] - agent["at"][0], p[1] - agent["at"][1]) for p in ordered]
                self.margin = min([self.margin, *np.diff(far[: shown + 1]), *far[:shown]])
                for point in ordered[:shown]:
                    row += self.relative(agent, point)
            x, y = agent["at"]
            clock = self.t / self.a.max_steps if self.a.max_steps else 0
            row += [x / self.a.width, y / self.a.height, agent["speed"] / 20, clock]
            rows.append(row)
        return np.array(rows)

    def step(self, actions):
        rewards = np.zeros(len(self.agents))
        for agent, (turn, throttle) in zip(self.agents, actions, strict=True):
            agent["heading"] += (turn - 4) * 0.1
            agent["speed"] = min(max(agent["speed"] + (throttle - 2) * 0.5, 0), 20)
            x, y = agent["at"]
            x, y = x + agent["speed"] * np.cos(agent["heading"]), y + agent["speed"] * np.sin(agent["heading"])
            agent["at"] = [min(max(x, 0), self.a.width), min(max(y, 0), self.a.height)]
        for j, goal in enumerate(self.goals):
            far = [np.hypot(goal[0] - agent["at"][0], goal[1] - agent["at"][1]) for agent in self.agents]
            self.margin = min([self.margin, *(abs(f - 32) for f in far)])
            within = [i for i, f in enumerate(far) if f <= 32]
            if within:
                rewards[within[0]] += 1
                self.goals[j] = self.place()
        self.t += 1
        truncated, final = 0 < self.a.max_steps <= self.t, None
        if truncated:
            final = self.seen()
            self.begin()
        return self.seen(), rewards, truncated, final


@settings(max_examples=40, deadline=None)
@given(
    num_agents=st.integers(1, 10), num_goals=st.integers(1, 16), width=st.integers(200, 900), height=st.integers(200, 900),
    max_steps=st.sampled_from([0, 1, 30]), max_others=st.integers(0, 7), seed=st.integers(0, 2**63),
)  # fmt: skip
def test_agrees_with_the_slow_twin(seed, **arguments):
    env = Target(**arguments)
    twin = Twin(env.args, seed)
    assert np.allclose(env.reset(seed=[seed])[0], twin.seen(), atol=1e-4)
    rng = np.random.default_rng(seed)
    for _ in range(80):
        actions = np.stack([rng.integers(0, 9, env.num_agents), rng.integers(1, 5, env.num_agents)], axis=1)
        seen, rewards, truncated, final = twin.step(actions)
        env.step(actions)
        assume(twin.margin > 1e-3)  # nearer than that, float32 may rightly see another order
        assert np.allclose(env.rewards, rewards)
        assert (env.truncations == truncated).all() and not env.terminals.any()
        assert np.allclose(env.observations, seen, atol=0.05 if twin.margin < 0.1 else 1e-3)
        if final is not None:
            assert np.allclose(env.final_observations, final, atol=0.05 if twin.margin < 0.1 else 1e-3)


# ---------------------------------------------------------------- baselines


def to_nearest_goal(observations, rng):
    """The hand policy: turn to the nearest goal, full speed, brake while it is not ahead."""
    bearing = np.arctan2(observations[:, 3], observations[:, 2])
    turn = np.clip(np.rint(bearing / 0.1) + 4, 0, 8)
    throttle = np.where(abs(bearing) > 0.8, 0, 4)
    return np.stack([turn, throttle], axis=1).astype(np.int32)


def test_baseline_scores():
    random = play(Target(num_envs=64), None, 1000)
    hand = play(Target(num_envs=64), to_nearest_goal, 1000)
    assert random["n"] == hand["n"] == 1024
    assert 0.2 <= random["score"] <= 0.4, "0.30, measured, and 5 standard errors"
    assert hand["score"] >= 5 * random["score"]
