"""Every setting is checked when it is given."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import pytest

from pufferlib.config.train_config import _RANGES, TrainConfig
from pufferlib.errors import ConfigError


@pytest.mark.parametrize("name", sorted(_RANGES))
def test_nan_and_text_are_refused_in_every_number_naming_both_spellings(name: str) -> None:
    for value in (math.nan, "1", None, True):
        with pytest.raises(ConfigError) as found:
            TrainConfig(**{name: value})
        assert name in str(found.value) and f"--train.{name.replace('_', '-')}" in str(found.value)


@pytest.mark.parametrize(
    ("name", "value"), [
        ("seed", -1), ("total_timesteps", 0), ("total_timesteps", 1.5), ("horizon", 0), ("minibatch_size", 0), ("gamma", 1.01),
        ("gae_lambda", -0.1), ("clip_coef", 0), ("learning_rate", math.inf), ("adam_beta2", 1.0), ("prio_beta0", 2),
        ("max_grad_norm", -1),
        ("optimizer", "sgd"), ("anneal_schedule", "step"), ("nonfinite", "ignore"), ("anneal_lr", 1), ("device", 0),
    ],
)  # fmt: skip
def test_values_out_of_range_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name):
        TrainConfig(**{name: value})


def test_whole_floats_serve_as_integers_and_integers_as_floats() -> None:
    config = TrainConfig(total_timesteps=1e6, gamma=1)  # type: ignore[arg-type]
    assert config.total_timesteps == 1_000_000 and isinstance(config.total_timesteps, int)
    assert isinstance(config.gamma, float)


def test_every_number_has_a_range_and_every_setting_a_description() -> None:
    numbers = {field.name for field in fields(TrainConfig) if field.type in ("int", "float")}
    assert numbers == set(_RANGES)


def test_batch_size_and_horizon_follow_from_each_other() -> None:
    assert TrainConfig(horizon=16).resolve(8).batch_size == 128
    assert TrainConfig(batch_size=128, horizon=99).resolve(8).horizon == 16
    with pytest.raises(ConfigError, match=r"batch_size.*=5 .*num_agents=8; nearest: 8"):
        TrainConfig(batch_size=5).resolve(8)


def test_the_final_rate_may_not_exceed_the_first() -> None:
    with pytest.raises(ConfigError, match=r"min_learning_rate.*0\.001"):
        TrainConfig(learning_rate=0.001, min_learning_rate=0.1)
