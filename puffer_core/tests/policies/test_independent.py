"""A network for each agent of an env."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces

import pufferlib
from pufferlib.errors import ConfigError
from pufferlib.policies import build_policy

SPACES = spaces.Box(-1, 1, (3,), np.float32), spaces.Discrete(2)


@pytest.mark.parametrize("base", ["mlp", "gru"])
def test_each_row_is_played_by_its_agents_own_network(base):
    policy = build_policy("independent", *SPACES, seed=0, agents=3, base=base, hidden_size=8)
    observations = torch.randn(6, 3)
    state = policy.initial_state(6)
    for _ in range(2):
        logits, value, state = policy(observations, state)
    for row in range(6):
        member = policy.members[row % 3]
        one = observations[row : row + 1]
        expected = member(one) if base == "mlp" else member(one, member(one, member.initial_state(1))[2])
        torch.testing.assert_close(logits[row], expected[0][0])
        torch.testing.assert_close(value[row], expected[1][0])
    weights = [member.heads.linear.weight for member in policy.members]
    assert not torch.equal(weights[0], weights[1]) and not torch.equal(weights[1], weights[2])


def test_an_agents_gradient_moves_its_own_network_only():
    policy = build_policy("independent", *SPACES, agents=2, hidden_size=8)
    _, value, _ = policy(torch.randn(4, 3), policy.initial_state(4))
    value[[0, 2]].sum().backward()
    first, second = ([p.grad is not None and bool(p.grad.any()) for p in m.body.parameters()] for m in policy.members)
    assert all(first) and not any(second)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ConfigError, match="agents=3 does not divide the 4 rows"):
        build_policy("independent", *SPACES, agents=3).initial_state(4)
    with pytest.raises(ConfigError, match="agents must be an integer of at least 1, got 0"):
        build_policy("independent", *SPACES, agents=0)
    with pytest.raises(ConfigError, match="'independent' needs the setting 'agents'"):
        build_policy("independent", *SPACES)
    with pytest.raises(ConfigError, match="would nest"):
        build_policy("independent", *SPACES, agents=2, base="independent")
    with pytest.raises(ConfigError, match="'mlp' has no setting 'window'"):
        build_policy("independent", *SPACES, agents=2, window=3)


@pytest.mark.parametrize("base", ["mlp", "attention"])
def test_training_replays_what_acting_did(base):
    env = pufferlib.make("ocean-multiagent", num_envs=4)
    policy = build_policy(
        "independent", env.single_observation_space, env.single_action_space, seed=0, agents=2, base=base, hidden_size=8
    )
    trainer = pufferlib.PuffeRL(env, policy, device="cpu", horizon=8, minibatch_size=64, learning_rate=0.02)
    for _ in range(3):
        trainer.evaluate()
        trainer.train()
        assert trainer.mean_and_log()["losses/approx_kl"] == pytest.approx(0, abs=1e-6), (
            "one minibatch: the ratio is 1 everywhere"
        )
    trainer.close()
