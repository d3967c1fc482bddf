"""Inputs are standardised by statistics that change between rollouts only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

import pufferlib
from pufferlib import PufferEnv, PuffeRL
from pufferlib.policies import build_policy
from pufferlib.policies.layers import InputLinear

SPACES = spaces.Box(-np.inf, np.inf, (3,), np.float32), spaces.Discrete(2)


class Drift(PufferEnv):
    """Every observation differs, the columns by orders of magnitude; each row dies once and stays masked for the next step."""

    def __init__(self, buf: pufferlib.Buffers | None = None) -> None:
        self.single_observation_space, self.single_action_space = SPACES
        self.num_agents = 4
        super().__init__(buf)
        self.t = 0

    def reset(self, seed=None):
        self.write()
        return self.observations, []

    def step(self, actions):
        self.t += 1
        self.write()
        self.masks[:] = True
        self.masks[self.t % 4] = self.t % 3 > 0
        return self.observations, self.rewards, self.terminals, self.truncations, []

    def write(self):
        rng = np.random.default_rng(self.t)
        self.observations[:] = rng.normal(size=(4, 3)) * [0.1, 1, 50] + [0, 3, 100]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 2**16))
def test_statistics_of_parts_are_those_of_the_whole(sizes, seed):
    data = np.random.default_rng(seed).normal(size=(sum(sizes), 3)) * [0.01, 1, 20] + [0, -2, 30]
    layer = InputLinear(3, 5)
    for part in np.split(data, np.cumsum(sizes)[:-1]):
        layer.update(torch.as_tensor(part, dtype=torch.float32))
    assert np.allclose(layer.mean, data.mean(0), rtol=1e-4, atol=1e-4)
    assert np.allclose(layer.variance, data.var(0), rtol=1e-3, atol=1e-4)
    assert float(layer.count) == len(data)


def test_output_is_the_linear_layer_of_standardised_inputs():
    torch.manual_seed(0)
    layer, x = InputLinear(3, 4).double(), torch.randn(50, 3, dtype=torch.float64) * torch.tensor([0.1, 1, 9]) + 2
    layer.update(x)
    standard = (x - x.mean(0)) / (x.var(0, correction=0) + layer.floor).sqrt()
    assert torch.allclose(layer(x), standard @ layer.weight.T + layer.bias, atol=1e-9)


def test_an_input_that_never_changes_is_not_blown_up():
    layer = InputLinear(1, 1)
    layer.update(torch.ones(1000, 1))
    change = layer(torch.tensor([[0.0]])) - layer(torch.tensor([[1.0]]))
    assert float(change.detach().abs()) <= float(layer.weight.detach().abs()) / layer.floor**0.5 * 1.001


@pytest.mark.parametrize("name", ["mlp", "residual", "lstm", "gru", "mingru", "attention"])
def test_a_rollout_is_learnt_from_with_the_statistics_it_was_drawn_by(name):
    trainer = PuffeRL(
        env=pufferlib.emulate(Drift), policy=build_policy(name, *SPACES, seed=1), device="cpu", horizon=8, minibatch_size=32
    )
    for _ in range(3):
        trainer.evaluate()
        before = trainer.policy.body[0].mean.clone()
        trainer.train()
        assert trainer.last_log is not None and not torch.equal(before, trainer.policy.body[0].mean)
        assert trainer.mean_and_log()["losses/approx_kl"] == pytest.approx(0, abs=1e-6), (
            "one minibatch: the ratio is 1 everywhere"
        )
    trainer.close()


def test_statistics_are_of_real_steps_only():
    trainer = PuffeRL(env=pufferlib.emulate(Drift), policy=build_policy("mlp", *SPACES, seed=1), device="cpu", horizon=8)
    trainer.evaluate()
    real = trainer.rollout.observations[:-1][trainer.rollout.masks].double()
    trainer.train()
    layer = trainer.policy.body[0]
    assert 0 < len(real) < 32 and float(layer.count) == len(real)
    assert torch.allclose(layer.mean.double(), real.mean(0), rtol=1e-4)
    trainer.close()


def test_statistics_travel_with_the_checkpoint(tmp_path: Path):
    def fresh():
        return PuffeRL(env=pufferlib.emulate(Drift), policy=build_policy("mlp", *SPACES, seed=1), device="cpu", horizon=8)

    first, second = fresh(), fresh()
    first.evaluate()
    first.train()
    first.save_checkpoint(tmp_path / "a.pt")
    second.load_checkpoint(tmp_path / "a.pt")
    for name in ("mean", "variance", "count"):
        assert torch.equal(getattr(first.policy.body[0], name), getattr(second.policy.body[0], name))
    first.close()
    second.close()


def test_one_hot_inputs_and_standardise_false_stay_as_they_are():
    codes = spaces.Box(0, 3, (4,), np.uint8)
    assert not isinstance(build_policy("mlp", codes, SPACES[1], encode="onehot").body[0], InputLinear)
    assert not isinstance(build_policy("mlp", *SPACES, standardise=False).body[0], InputLinear)
