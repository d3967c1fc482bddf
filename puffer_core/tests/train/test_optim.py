"""Schedules, which matrices Muon takes, and gradient clipping."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch import nn

from pufferlib.config.train_config import TrainConfig
from pufferlib.policies import build_policy
from pufferlib.train.optim import Optimizer, clip_gradients, hidden_matrices, scheduled_rate

OBSERVATIONS = spaces.Box(-1, 1, (5,))


@pytest.mark.parametrize(
    ("schedule", "step", "expected"), [
        ("linear", 0, 1e-3), ("linear", 400, 6.4e-4), ("linear", 1000, 1e-4), ("linear", 5000, 1e-4),
        ("cosine", 0, 1e-3), ("cosine", 500, 5.5e-4), ("cosine", 250, 1e-4 + 9e-4 * 0.8535533905932737), ("cosine", 1000, 1e-4),
    ],
)  # fmt: skip
def test_the_rate_falls_over_the_run(schedule: Any, step: int, expected: float) -> None:
    config = TrainConfig(learning_rate=1e-3, min_learning_rate=1e-4, total_timesteps=1000, anneal_schedule=schedule)
    assert scheduled_rate(config, step) == pytest.approx(expected)


def test_without_annealing_the_rate_stays() -> None:
    assert scheduled_rate(TrainConfig(learning_rate=1e-3, anneal_lr=False), 10**9) == 1e-3


@pytest.mark.parametrize(
    ("name", "expected"), [
        ("mlp", {"body.0.weight", "body.2.weight"}),
        ("lstm", {"body.0.weight", "core.lstm.weight_ih_l0", "core.lstm.weight_hh_l0"}),
    ],
)  # fmt: skip
def test_muon_takes_hidden_matrices_only(name: str, expected: set[str]) -> None:
    policy = build_policy(name, OBSERVATIONS, spaces.MultiDiscrete([3, 4]), seed=0, hidden_size=32)
    chosen = {id(p) for p in hidden_matrices(policy, (3, 4))}
    assert {name for name, p in policy.named_parameters() if id(p) in chosen} == expected


def test_heads_and_embeddings_of_a_users_network_are_left_to_adam() -> None:
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.codes, self.body = nn.Embedding(10, 16), nn.Linear(16, 16)
            self.actor, self.critic, self.conv = nn.Linear(16, 3), nn.Linear(16, 1), nn.Conv2d(1, 2, 3)

    own = Own()
    assert [id(p) for p in hidden_matrices(own, (3,))] == [id(own.body.weight)]
    optimizer = Optimizer(own, (3,), TrainConfig(optimizer="muon", learning_rate=0.1))
    assert [type(part).__name__ for part in optimizer.parts] == ["Muon", "AdamW"]
    counted = sum(len(group["params"]) for part in optimizer.parts for group in part.param_groups)
    assert counted == len(list(own.parameters())), "every parameter is in exactly one of them"


def test_adams_first_step_moves_by_the_learning_rate() -> None:
    layer = nn.Linear(2, 1, bias=False)
    before = layer.weight.detach().clone()
    optimizer = Optimizer(layer, (1,), TrainConfig(learning_rate=0.25))
    layer.weight.grad = torch.tensor([[3.0, -0.01]])
    optimizer.step()
    torch.testing.assert_close(before - layer.weight.detach(), torch.tensor([[0.25, -0.25]]), rtol=1e-4, atol=0)


def test_gradients_are_scaled_to_the_global_norm_and_the_old_norm_is_told() -> None:
    first, second = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1))
    first.grad, second.grad = torch.tensor([3.0]), torch.tensor([4.0])
    assert clip_gradients([first, second], 0.0).item() == 5.0 and first.grad.item() == 3.0
    assert clip_gradients([first, second], 0.5).item() == 5.0
    assert first.grad.item() == pytest.approx(0.3, rel=1e-4) and second.grad.item() == pytest.approx(0.4, rel=1e-4)
