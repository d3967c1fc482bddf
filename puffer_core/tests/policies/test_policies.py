"""The shipped policies: shapes, what they read, and that sequences equal single steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from pufferlib.errors import ConfigError, PluginError, SpaceError
from pufferlib.policies import build_policy
from pufferlib.policies.layers import layer_init
from pufferlib.policies.observations import ObservationEncoder
from pufferlib.policies.recurrent import reset_state, unroll
from pufferlib.pytorch import LSTMWrapper

SEES = spaces.Box(-1, 1, (2, 3))
ACTIONS = [spaces.Discrete(4), spaces.MultiDiscrete([2, 5]), spaces.Box(-1, 1, (3,)), spaces.Box(-1, 1, ())]


def leaves(parameters: Any) -> list[torch.Tensor]:
    return [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)


def test_the_default_network_has_two_layers_of_128() -> None:
    policy = build_policy("mlp", spaces.Box(-1, 1, (118,)), spaces.Discrete(3))
    shapes = [tuple(p.shape) for p in policy.parameters() if p.ndim == 2]
    assert shapes == [(128, 118), (128, 128), (4, 128)]


@pytest.mark.parametrize("action_space", ACTIONS)
def test_a_sequence_through_the_wrapper_equals_single_steps_with_resets_between(action_space: Any) -> None:
    policy = LSTMWrapper(Split(action_space), 8, 16)
    random = torch.Generator().manual_seed(0)
    observations = torch.randn(9, 5, 2, 3, generator=random)
    starts = torch.rand(9, 5, generator=random) < 0.25
    state = policy.initial_state(5)
    parameters, values, end = unroll(policy, observations, state, starts)
    for t in range(9):
        step, value, state = policy(observations[t], reset_state(state, starts[t], policy.initial_state(5)))
        for whole, single in zip(leaves(parameters), leaves(step), strict=True):
            torch.testing.assert_close(whole[t], single, atol=1e-5, rtol=0)
        torch.testing.assert_close(values[t], value.reshape(-1), atol=1e-5, rtol=0)
    for ours, theirs in zip(end, state, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


class Split(torch.nn.Module):
    """encode and decode, as LSTMWrapper wants them."""

    def __init__(self, action_space: Any) -> None:
        super().__init__()
        from pufferlib.policies.layers import Heads

        self.inner, self.heads = torch.nn.Linear(6, 8), Heads(16, action_space)

    def encode(self, observations: torch.Tensor) -> torch.Tensor:
        return self.inner(observations.flatten(1)).relu()

    def decode(self, features: torch.Tensor) -> Any:
        return self.heads(features)


def test_integers_are_scaled_by_their_highest_value() -> None:
    pixels = ObservationEncoder(spaces.Box(0, 255, (1, 2), np.uint8))
    assert pixels(torch.tensor([[[0, 255]]], dtype=torch.uint8)).tolist() == [[0.0, 1.0]]
    codes = ObservationEncoder(spaces.Box(np.array([0, -4], np.int8), np.array([5, 2], np.int8), dtype=np.int8))
    assert codes(torch.tensor([[5, -4]], dtype=torch.int8))[0].tolist() == pytest.approx([1.0, -1.0])
    floats = ObservationEncoder(spaces.Box(-9, 9, (2,), np.float64))
    out = floats(torch.tensor([[7.0, -9.0]], dtype=torch.float64))
    assert out.tolist() == [[7.0, -9.0]] and out.dtype == torch.float32
    assert ObservationEncoder(spaces.Box(0, 1, (2,), np.bool_))(torch.tensor([[True, False]])).tolist() == [[1.0, 0.0]]


def test_codes_can_be_read_as_one_hot() -> None:
    space = spaces.Box(np.array([0, -1], np.int8), np.array([2, 1], np.int8), dtype=np.int8)
    encoder = ObservationEncoder(space, "onehot")
    assert encoder.width == 6
    assert encoder(torch.tensor([[2, -1], [0, 1]], dtype=torch.int8)).tolist() == [[0, 0, 1, 1, 0, 0], [1, 0, 0, 0, 0, 1]]
    with pytest.raises(ConfigError, match="onehot"):
        ObservationEncoder(SEES, "onehot")
    with pytest.raises(ConfigError, match="encode"):
        ObservationEncoder(SEES, "embedding")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="mixed"):
        ObservationEncoder(SEES, "mixed")
    with pytest.raises(SpaceError, match="Dict"):
        ObservationEncoder(spaces.Dict({}))  # type: ignore[arg-type]


def test_codes_become_one_hot_and_amounts_are_scaled_in_one_row() -> None:
    space = spaces.Box(np.array([0, -100, 3, 0]), np.array([2, 50, 34, 32]), dtype=np.int16)
    encoder = ObservationEncoder(space, "mixed")
    assert encoder.width == 3 + 1 + 32 + 1
    out = encoder(torch.tensor([[1, -50, 3, 8]], dtype=torch.int16))[0].tolist()
    assert out == pytest.approx([0, 1, 0, -0.5, 1, *[0] * 31, 0.25])
    pixels = spaces.Box(0, 255, (7,), np.uint8)
    image = torch.arange(7, dtype=torch.uint8)[None]
    assert torch.equal(ObservationEncoder(pixels, "mixed")(image), ObservationEncoder(pixels)(image))
    wide = ObservationEncoder(spaces.Box(0, np.iinfo(np.uint64).max, (1,), np.uint64), "mixed")
    assert wide(torch.tensor([[2**63]], dtype=torch.uint64)).tolist() == [[0.5]]


def test_layer_init_is_orthogonal_with_the_gain() -> None:
    layer = layer_init(torch.nn.Linear(8, 4), std=3.0, bias=0.5)
    torch.testing.assert_close(layer.weight @ layer.weight.T, 9 * torch.eye(4), atol=1e-5, rtol=0)
    assert layer.bias.tolist() == [0.5] * 4


def test_a_seed_fixes_the_weights_and_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(1)
    first = build_policy("mlp", SEES, ACTIONS[0], seed=7)
    after = torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(after, torch.rand(1))
    again, other = build_policy("mlp", SEES, ACTIONS[0], seed=7), build_policy("mlp", SEES, ACTIONS[0], seed=8)
    assert torch.equal(first.heads.linear.weight, again.heads.linear.weight)
    assert not torch.equal(first.heads.linear.weight, other.heads.linear.weight)


def test_unknown_names_and_settings_get_near_matches() -> None:
    with pytest.raises(PluginError, match="mlp"):
        build_policy("mpl", SEES, ACTIONS[0])
    with pytest.raises(ConfigError, match=r"hidden_sise.*hidden_size"):
        build_policy("mlp", SEES, ACTIONS[0], hidden_sise=3)
    with pytest.raises(ConfigError, match="hidden_size"):
        build_policy("mlp", SEES, ACTIONS[0], hidden_size=0)
