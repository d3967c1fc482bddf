"""What boids promises: its rules (checked in C, under sanitizers), agreement with a model in double precision that starts each
step from what all rows show, and its baseline scores."""

from __future__ import annotations

import numpy as np
import pytest

from pufferlib_ocean.boids import Boids
from pufferlib_ocean.testing import play, random_actions, rule_test

test_rule = rule_test(__file__)


# ---------------------------------------------------------------- a model in double precision


def flock(observations, a):
    """Places and velocities of all boids, from the rows of one world."""
    half = np.array([a.width, a.height]) / 2
    own = observations[:, :4].astype(np.float64)
    return half + own[:, :2] * half, own[:, 2:] * 4


def flown(places, velocities, actions, a):
    velocities = velocities + (actions - 2) * 0.25
    speeds = np.hypot(*velocities.T)
    velocities[speeds == 0], speeds[speeds == 0] = (1, 0), 1
    velocities *= (np.clip(speeds, 1, 4) / speeds)[:, None]
    places = places + velocities
    inside = np.clip(places, 0, [a.width, a.height])
    velocities[places != inside] = 0
    return inside, velocities


def rows_and_rewards(places, velocities, a):
    """What every boid sees and is paid; and how near this is to something that rounding could turn around."""
    rows, rewards, margin = [], [], np.inf
    for i, (place, velocity) in enumerate(zip(places, velocities, strict=True)):
        far = np.hypot(*(places - place).T)
        far[i] = np.inf
        order = np.argsort(far, kind="stable")[: a.neighbours]
        seen = order[far[order] <= 100]
        steps = np.sort(far[np.isfinite(far)])[: a.neighbours + 1]
        margin = min([margin, *np.diff(steps), *abs(steps - 100), *abs(steps - 20)])
        offsets, reward = places[seen] - place, 0.0
        if len(seen):
            mean = velocities[seen].mean(axis=0)
            lengths = np.hypot(*velocity) * np.hypot(*mean)
            cosine = velocity @ mean / lengths if lengths > 0 else 0
            reward = a.cohesion * (1 - np.hypot(*offsets.mean(axis=0)) / 100) + a.alignment * cosine
            reward -= a.separation * (far[seen] <= 20).mean()
        to_wall = np.min([place, [a.width, a.height] - place])
        margin = min(margin, abs(to_wall - 50))
        rewards.append((reward - a.margin * (to_wall < 50)) / 100)
        others = np.hstack([offsets / 100, (velocities[seen] - velocity) / 8])
        rows.append(np.pad(others, ((0, a.neighbours - len(seen)), (0, 0))).ravel())
    return np.array(rows), np.array(rewards), margin


@pytest.mark.parametrize("arguments", [{}, {"num_boids": 12, "width": 150, "height": 100, "neighbours": 16, "separation": 3}])
def test_agrees_with_the_model_step_by_step(arguments):
    env = Boids(max_steps=100, **arguments)
    env.reset(seed=2)
    rng, compared = np.random.default_rng(2), 0
    for t in range(1, 260):
        places, velocities = flown(*flock(env.observations, env.args), actions := random_actions(env, rng), env.args)
        env.step(actions)
        assert (env.truncations == (t % 100 == 0)).all() and not env.terminals.any()
        seen = env.final_observations if t % 100 == 0 else env.observations
        there, speed = flock(seen, env.args)
        clear = (places > 2e-3) & (places < [env.args.width - 2e-3, env.args.height - 2e-3])
        assert np.allclose(there, places, atol=2e-3) and np.allclose(speed[clear], velocities[clear], atol=1e-4)
        velocities[~clear] = speed[~clear]  # by a wall, rounding decides whether it is touched
        rows, rewards, margin = rows_and_rewards(places, velocities, env.args)
        if margin > 2e-3:  # nearer than that, float32 may rightly see another order
            assert np.allclose(seen[:, 4:], rows, atol=1e-4) and np.allclose(env.rewards, rewards, atol=1e-5)
            compared += 1
    assert compared > 20


# ---------------------------------------------------------------- baselines


def three_rules(observations, rng):
    """The hand policy (Reynolds 1987): match velocities, stay with the others' middle, keep off those too near; turn at walls."""
    own = observations[:, :4]
    others = observations[:, 4:].reshape(len(own), -1, 4)
    there = (others != 0).any(axis=2)
    count = np.maximum(there.sum(axis=1), 1)[:, None]
    offsets, change = others[:, :, :2] * 100, others[:, :, 2:] * 8
    far = np.hypot(offsets[:, :, 0], offsets[:, :, 1])
    near = there & (far < 35)
    away = -(offsets / np.maximum(far, 1e-6)[:, :, None] ** 2 * near[:, :, None]).sum(axis=1)
    steer = change.sum(axis=1) / count + 0.004 * offsets.sum(axis=1) / count + 8 * away
    to_walls = (1 - abs(own[:, :2])) * np.array([400, 300])
    steer -= 2.5 * np.sign(own[:, :2]) * np.clip((90 - to_walls) / 90, 0, 1)
    return np.clip(np.rint(steer / 0.25) + 2, 0, 4).astype(np.int32)


def test_baseline_scores():
    random = play(Boids(num_envs=8), None, 1000)
    hand = play(Boids(num_envs=8), three_rules, 1000)
    assert random["n"] == hand["n"] == 512
    assert -0.03 <= random["score"] <= 0.03 and random["perf"] <= 0.06, "0.00 and 0.047, measured"
    assert 0.97 <= hand["score"] <= 1 and hand["perf"] >= 0.94, "0.984 and 0.974, measured"
