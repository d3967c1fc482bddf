"""Parameters map to the unit interval and back, and Optuna stores what a person would read."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import optuna
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pufferlib.errors import ConfigError
from pufferlib_sweep.parameters import (
    Categorical,
    IntLogNormal,
    IntUniform,
    LogitNormal,
    LogNormal,
    Parameter,
    Uniform,
    UniformPow2,
)
from pufferlib_sweep.space import SearchSpace

UNIT = st.floats(0, 1)


@st.composite
def parameters(draw: st.DrawFn) -> Parameter:
    kind = draw(st.sampled_from([Uniform, IntUniform, UniformPow2, LogNormal, IntLogNormal, LogitNormal, Categorical]))
    if kind is Categorical:
        return Categorical("x", tuple(draw(st.lists(st.integers() | st.text(), min_size=2, max_size=5, unique=True))))
    if kind is UniformPow2:
        low = draw(st.integers(0, 20))
        return UniformPow2("x", 1 << low, 1 << draw(st.integers(low + 1, 24)))
    if kind in (IntUniform, IntLogNormal):
        low = draw(st.integers(-1000 if kind is IntUniform else 1, 10_000))
        return kind("x", low, low + draw(st.integers(1, 10**9)))
    if kind is LogitNormal:
        low = draw(st.floats(1e-6, 0.9))
        return LogitNormal("x", low, draw(st.floats(low + 1e-3, 1 - 1e-7)))
    low = draw(st.floats(1e-8, 1e3)) * (draw(st.sampled_from([1, -1])) if kind is Uniform else 1)
    return kind("x", low, low + draw(st.floats(abs(low) * 0.01, 1e6)))


@given(parameters(), UNIT)
def test_a_value_comes_back_from_its_place_in_the_unit_interval(parameter, u):
    value = parameter.from_unit(u)
    place = parameter.to_unit(value)
    assert 0 <= place <= 1
    again = parameter.from_unit(place)
    if isinstance(value, float):
        assert parameter.min <= value <= parameter.max
        assert again == pytest.approx(value, rel=1e-9, abs=1e-9 * (parameter.max - parameter.min))
    else:
        assert again == value and type(again) is type(value)


@given(parameters(), UNIT, UNIT)
def test_numbers_keep_their_order(parameter, u, v):
    if isinstance(parameter, Categorical):
        return
    low, high = sorted((u, v))
    assert parameter.from_unit(low) <= parameter.from_unit(high)
    first, second = parameter.from_unit(low), parameter.from_unit(high)
    assert parameter.to_unit(first) <= parameter.to_unit(second)


@given(parameters(), st.floats(0, 10))
def test_ends_are_exact_and_what_lies_beyond_is_clamped(parameter, beyond):
    first, last = (
        (parameter.choices[0], parameter.choices[-1]) if isinstance(parameter, Categorical) else (parameter.min, parameter.max)
    )
    assert parameter.from_unit(-beyond) == first
    assert parameter.from_unit(1 + beyond) == last
    assert parameter.to_unit(first) == 0
    assert parameter.to_unit(last) == 1
    if not isinstance(parameter, Categorical):
        assert parameter.to_unit(parameter.min - beyond) == 0
        assert parameter.to_unit(parameter.max + beyond) == 1


@example(IntLogNormal("x", 1000, 1001), 0.5)
@given(parameters(), UNIT)
def test_snap_moves_a_coordinate_to_its_values_place(parameter, u):
    snapped = parameter.snap(np.array([u]))[0]
    is_fine = isinstance(parameter.from_unit(u), float) or isinstance(parameter, IntLogNormal)
    assert snapped == pytest.approx(parameter.to_unit(parameter.from_unit(u)), abs=1e-3 if is_fine else 1e-12)
    assert parameter.from_unit(snapped) == parameter.from_unit(u)


@given(parameters(), UNIT)
def test_optuna_can_store_every_value(parameter, u):
    value = parameter.from_unit(u)
    stored = parameter.to_optuna(value)
    assert parameter.distribution()._contains(parameter.distribution().to_internal_repr(stored))
    assert parameter.from_optuna(stored) == value


@pytest.mark.parametrize(
    ("parameter", "middle"),
    [
        (LogNormal("x", 1e-5, 1e-1), 1e-3),
        (IntLogNormal("x", 10_000, 1_000_000), 100_000),
        (UniformPow2("x", 4, 64), 16),
        (IntUniform("x", 1, 3), 2),
        (Uniform("x", -1, 3), 1.0),
        (LogitNormal("x", 1 / 10, 9 / 10), 0.5),
    ],
)
def test_the_middle_is_where_the_kind_says(parameter, middle):
    assert parameter.from_unit(0.5) == pytest.approx(middle)
    assert parameter.to_unit(middle) == pytest.approx(0.5)


def test_gamma_is_even_in_log_odds():
    gamma = LogitNormal("train.gamma", 0.8, 0.9999)
    near, far = gamma.to_unit(0.999) - gamma.to_unit(0.99), gamma.to_unit(0.99) - gamma.to_unit(0.9)
    assert near == pytest.approx(far, rel=0.05)  # a factor of ten in 1 - gamma, twice


def test_whole_numbers_and_choices_are_equally_likely():
    places = (np.arange(1200) + 0.5) / 1200
    for parameter in (IntUniform("x", 0, 2), UniformPow2("x", 1, 4), Categorical("x", ("a", "b", "c"))):
        _, counts = np.unique([parameter.from_unit(u) for u in places], return_counts=True)
        assert counts.tolist() == [400, 400, 400]


TABLES = {
    "train": {
        "learning_rate": {"distribution": "log_normal", "min": 1e-5, "max": 1e-1, "mean": 1e-3, "scale": "auto"},
        "total_timesteps": {"distribution": "int_log", "min": 1e4, "max": 1e6},
        "gamma": {"distribution": "logit", "min": 0.8, "max": 0.9999},
    },
    "train.minibatch_size": {"distribution": "uniform_pow2", "min": 256, "max": 4096},
    "policy": {"name": {"distribution": "categorical", "choices": ["mlp", "lstm", "gru"]}},
}


def test_tables_may_be_nested_or_dotted():
    space = SearchSpace.from_tables(TABLES)
    assert list(space) == ["train.learning_rate", "train.total_timesteps", "train.gamma", "train.minibatch_size", "policy.name"]
    assert space["train.learning_rate"] == LogNormal("train.learning_rate", 1e-5, 1e-1, 1e-3)
    assert isinstance(space["train.total_timesteps"], IntLogNormal)


@pytest.mark.parametrize("sampler", ["RandomSampler", "TPESampler", "CmaEsSampler", "QMCSampler"])
def test_every_sampler_of_optuna_works_on_a_space(sampler):
    space = SearchSpace.from_tables(TABLES)
    keywords = {"warn_independent_sampling": False} if sampler in ("CmaEsSampler", "QMCSampler") else {}
    study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=1, **keywords))
    for _ in range(15):
        trial = study.ask()
        values = space.suggest(trial)
        assert {type(value) for value in values.values()} == {float, int, str}
        assert all(0 <= u <= 1 for u in space.to_unit(values))
        study.tell(trial, values["train.learning_rate"])
    stored = study.trials[-1].params
    assert stored["train.total_timesteps"] == values["train.total_timesteps"]
    assert 2 ** stored["log2 train.minibatch_size"] == values["train.minibatch_size"]
    assert space.from_params(stored) == values
    assert space.to_params(values) == stored
    assert space.from_params({"train.gamma": 0.9}) is None


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"distribution": "log_norml", "min": 1, "max": 2}, ["train.x", "log_norml", "did you mean 'log_normal'"]),
        ({"min": 1, "max": 2}, ["train.x", "distribution=None", "uniform_pow2"]),
        ({"distribution": "uniform", "min": 1}, ["train.x", "needs max"]),
        ({"distribution": "uniform", "min": 2, "max": 2}, ["train.x", "min=2", "max=2"]),
        ({"distribution": "uniform", "min": "a", "max": 2}, ["train.x", "min='a'", "number"]),
        ({"distribution": "uniform", "min": 0, "max": math.inf}, ["train.x", "max=inf", "finite"]),
        ({"distribution": "uniform", "min": 0, "max": 1, "mean": 3}, ["train.x", "mean=3", "[0, 1]"]),
        ({"distribution": "uniform", "min": 0, "max": 1, "scale": 0}, ["train.x", "scale=0", "above 0"]),
        ({"distribution": "uniform", "min": 0, "max": 1, "step": 3}, ["train.x", "'step'", "min, max, mean, scale"]),
        ({"distribution": "log_normal", "min": 0, "max": 1}, ["train.x", "min=0", "above 0"]),
        ({"distribution": "logit_normal", "min": 0.5, "max": 1}, ["train.x", "max=1", "(0, 1)"]),
        ({"distribution": "uniform_pow2", "min": 3, "max": 8}, ["train.x", "min=3", "2 or 4"]),
        ({"distribution": "int_uniform", "min": 0.5, "max": 8}, ["train.x", "min=0.5", "whole number"]),
        ({"distribution": "int_log_normal", "min": 0, "max": 8}, ["train.x", "min=0", "above 0"]),
        ({"distribution": "categorical"}, ["train.x", "needs choices"]),
        ({"distribution": "categorical", "choices": "mlp"}, ["train.x", "'mlp'", "list"]),
        ({"distribution": "categorical", "choices": ["mlp"]}, ["train.x", "at least two"]),
        ({"distribution": "categorical", "choices": [[1], [2]]}, ["train.x", "[1]", "string"]),
        (3, ["train.x=3", "table"]),
    ],
)
def test_a_wrong_table_is_refused_by_name(table, words):
    with pytest.raises(ConfigError) as raised:
        SearchSpace.from_tables({"train": {"x": table}} if isinstance(table, dict) else {"train.x": table})
    for word in words:
        assert word in str(raised.value)


def test_an_empty_space_and_two_of_a_name_are_refused():
    with pytest.raises(ConfigError, match="at least one"):
        SearchSpace([])
    with pytest.raises(ConfigError, match="different names"):
        SearchSpace([Uniform("x", 0, 1), Uniform("x", 0, 2)])


def test_true_and_1_are_different_choices():
    both = Categorical("x", (1, True))
    assert both.to_unit(True) == 1 and both.to_unit(1) == 0
    with pytest.raises(ConfigError, match="not among"):
        both.to_unit("1")


def test_a_space_needs_neither_optuna_nor_scikit_learn():
    code = "import sys, pufferlib_sweep.space; print({'optuna', 'sklearn', 'scipy', 'torch'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "set()"
