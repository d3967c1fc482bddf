"""Protein as a sampler: finite and in range whatever trials do, reproducible, spread out, and better than chance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.trial import TrialState

from pufferlib.errors import ConfigError
from pufferlib_sweep.protein import ProteinSampler
from pufferlib_sweep.space import Categorical, IntLogNormal, LogitNormal, LogNormal, SearchSpace, UniformPow2

SPACE = SearchSpace(
    [
        LogNormal("train.learning_rate", 1e-5, 1e-1, mean=1e-3),
        LogitNormal("train.gamma", 0.8, 0.9999),
        IntLogNormal("train.total_timesteps", 10_000, 1_000_000),
        UniformPow2("vec.num_envs", 16, 256),
        Categorical("policy.name", ("mlp", "lstm", "gru")),
    ]
)


@pytest.fixture(autouse=True)
def quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


def good_score(values: dict[str, Any], number: int = 0) -> float:
    off = math.log10(values["train.learning_rate"] / 3e-3) ** 2 + math.log10((1 - values["train.gamma"]) / 0.01) ** 2
    return math.log10(values["train.total_timesteps"]) - off - (values["policy.name"] == "gru")


def good_cost(values: dict[str, Any]) -> float:
    return values["train.total_timesteps"] / 1e4 * (1 + 64 / values["vec.num_envs"])


def run(
    sampler: optuna.samplers.BaseSampler,
    trials: int,
    score: Callable[[dict[str, Any], int], float | None] = good_score,
    *,
    space: SearchSpace = SPACE,
    cost: Callable[[dict[str, Any]], float | None] = good_cost,
    study: optuna.Study | None = None,
) -> tuple[optuna.Study, list[dict[str, Any]]]:
    """Ask and tell. A score of None is a failure."""
    study = study or optuna.create_study(direction="maximize")
    study.sampler = sampler
    asked = []
    for _ in range(trials):
        trial = study.ask()
        values = space.suggest(trial)
        asked.append(values)
        told, spent = score(values, trial.number), cost(values)
        if spent is not None:
            trial.set_user_attr("cost", spent)
        failed = told is None or math.isnan(told)
        study.tell(trial, None if failed else told, state=TrialState.FAIL if failed else TrialState.COMPLETE)
    return study, asked


def in_range(values: dict[str, Any], space: SearchSpace = SPACE) -> bool:
    return all(isinstance(v, (str, bool)) or math.isfinite(v) for v in values.values()) and all(
        isinstance(p, Categorical) or p.min <= values[p.name] <= p.max for p in space.parameters
    )


TROUBLES: dict[str, Callable[[dict[str, Any], int], float | None]] = {
    "a third fails": lambda values, number: None if number % 3 == 1 else good_score(values),
    "all fail": lambda values, number: None,
    "all but one fail": lambda values, number: 1.0 if number == 2 else None,
    "infinite": lambda values, number: math.inf if number % 4 == 1 else good_score(values),
    "minus infinity": lambda values, number: -math.inf if number % 4 == 1 else good_score(values),
    "all alike": lambda values, number: 3.0,
    "huge": lambda values, number: 1e300 * good_score(values),
    "outliers": lambda values, number: -1e12 if number % 5 == 0 else good_score(values),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_suggestions_are_finite_in_range_and_new_whatever_trials_do(trouble):
    _, asked = run(ProteinSampler(SPACE, seed=1, num_startup=5), 16, TROUBLES[trouble])
    assert all(in_range(values) for values in asked)
    assert len({tuple(values.values()) for values in asked}) == len(asked)


@pytest.mark.parametrize("cost", [lambda values: None, lambda values: 1.0, lambda values: -1.0, lambda values: math.inf])
def test_costs_may_be_missing_equal_or_wrong(cost):
    _, asked = run(ProteinSampler(SPACE, seed=1, num_startup=4), 12, cost=cost)
    assert all(in_range(values) for values in asked)


def test_a_single_trial_is_enough_for_the_model():
    study, _ = run(ProteinSampler(SPACE, seed=1), 1)
    _, asked = run(ProteinSampler(SPACE, seed=1, num_startup=1), 3, study=study)
    assert all(in_range(values) for values in asked)


def test_no_failed_point_is_tried_again_where_the_space_is_small():
    space = SearchSpace([UniformPow2("a", 1, 8), Categorical("b", ("x", "y"))])
    fails = {(1, "x"), (2, "x"), (4, "y")}
    _, asked = run(
        ProteinSampler(space, seed=1, num_startup=3),
        20,
        lambda v, n: None if (v["a"], v["b"]) in fails else float(v["a"]),
        space=space,
        cost=lambda values: 1.0,
    )
    tried = [tuple(values.values()) for values in asked]
    assert set(tried[:8]) == {(1 << a, b) for a in range(4) for b in "xy"}  # all eight points, each once
    assert not set(tried[8:]) & fails


def test_a_region_that_fails_is_left_alone():
    _, asked = run(
        ProteinSampler(SPACE, seed=1),
        40,
        lambda values, number: None if values["train.learning_rate"] > 4e-3 else good_score(values),
    )
    assert sum(values["train.learning_rate"] > 4e-3 for values in asked[20:]) <= 6  # chance: 35 % of 20


def test_the_first_trial_is_the_mean_of_the_prior_and_the_first_ones_are_cheap():
    _, asked = run(ProteinSampler(SPACE, seed=3), 7)
    assert asked[0]["train.learning_rate"] == pytest.approx(1e-3)
    assert max(values["train.total_timesteps"] for values in asked) <= 10_000 * 100**0.36


def test_the_same_seed_and_history_give_the_same_suggestion_in_a_new_process_or_storage(tmp_path):
    whole, asked = run(ProteinSampler(SPACE, seed=5), 16)
    again, first = run(ProteinSampler(SPACE, seed=5), 12)
    copy = optuna.create_study(storage=f"sqlite:///{tmp_path}/study.db", direction="maximize")
    copy.add_trials(again.trials)
    _, rest = run(ProteinSampler(SPACE, seed=5), 4, study=copy)
    assert first + rest == asked
    assert run(ProteinSampler(SPACE, seed=6), 12)[1] != first
    assert [trial.value for trial in whole.trials[:12]] == [trial.value for trial in again.trials]


def test_parallel_trials_spread_out():
    study, _ = run(ProteinSampler(SPACE, seed=1), 20)
    running = [SPACE.to_unit(SPACE.suggest(study.ask())) for _ in range(6)]
    gaps = [np.linalg.norm(a - b) for i, a in enumerate(running) for b in running[:i]]
    assert min(gaps) > 0.02 and np.median(gaps) > 0.1


def test_minimizing_is_maximizing_the_negative():
    _, up = run(ProteinSampler(SPACE, seed=1), 12)
    _, down = run(
        ProteinSampler(SPACE, seed=1),
        12,
        lambda values, number: -good_score(values),
        study=optuna.create_study(direction="minimize"),
    )
    assert up == down


def test_max_cost_holds():
    study, _ = run(ProteinSampler(SPACE, seed=1, max_cost=20.0), 40)
    costs = [trial.user_attrs["cost"] for trial in study.trials]
    assert np.mean(np.array(costs[10:]) > 30) < 0.1  # the limit is on the expected cost


def test_costs_spread_over_the_whole_front():
    study, _ = run(ProteinSampler(SPACE, seed=1), 40)
    costs = np.array([trial.user_attrs["cost"] for trial in study.trials[10:]])
    assert np.quantile(costs, 0.15) < 25 < 100 < np.quantile(costs, 0.85)


def test_protein_finds_better_than_random_at_equal_cost():
    ahead = 0
    for seed in range(10):
        protein, _ = run(ProteinSampler(SPACE, seed=seed, candidates=256), 20)
        budget = sum(trial.user_attrs["cost"] for trial in protein.trials)
        chance, _ = run(RandomSampler(seed=seed), 60)
        spent = np.cumsum([trial.user_attrs["cost"] for trial in chance.trials])
        within = [trial.value for trial, so_far in zip(chance.trials, spent, strict=True) if so_far <= budget]
        ahead += protein.best_value > max(within, default=-math.inf)
    assert ahead >= 8


FLAKY = SearchSpace([LogNormal("learning_rate", 1e-5, 1e-1), LogitNormal("gamma", 0.8, 0.9999)])


@pytest.mark.parametrize("start", [0, 1])
def test_a_sweep_survives_trials_that_crash_or_return_nothing(start, stub):
    """start=1: the first trials all fail."""

    def objective(trial: optuna.Trial) -> float:
        params = FLAKY.suggest(trial)
        number = trial.number if start == 0 or trial.number >= 5 else [1, 2, 3, 6, 7][trial.number]
        result = stub.flaky(number, params["learning_rate"], params["gamma"])
        if "cost" in result:
            trial.set_user_attr("cost", result["cost"])
        if not math.isfinite(result.get("score", math.nan)):
            raise ValueError(f"score {result.get('score')}")
        return result["score"]

    study = optuna.create_study(direction="maximize", sampler=ProteinSampler(FLAKY, seed=1))
    study.optimize(objective, n_trials=25, catch=(Exception,))
    assert len(study.trials) == 25
    failed = [trial for trial in study.trials if trial.state == TrialState.FAIL]
    assert len(failed) == (16 if start == 0 else 18)
    assert all(in_range(trial.params, FLAKY) for trial in study.trials)
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 25
    assert abs(math.log10(study.best_params["learning_rate"]) + 3) < 1


def test_a_trial_that_was_enqueued_or_asks_for_more_is_served():
    study = optuna.create_study(direction="maximize", sampler=ProteinSampler(SPACE, seed=1))
    wanted = SPACE.from_unit(np.full(5, 0.3))
    study.enqueue_trial(SPACE.to_params(wanted))
    trial = study.ask()
    assert SPACE.suggest(trial) == wanted
    assert 0 <= trial.suggest_float("something else", 0, 1) <= 1


def test_trials_that_lack_a_parameter_are_left_out():
    study, _ = run(ProteinSampler(SPACE, seed=1), 10)
    more = SearchSpace([*SPACE.parameters, LogNormal("train.ent_coef", 1e-4, 1e-1)])
    _, asked = run(ProteinSampler(more, seed=1), 2, space=more, study=study)
    assert all(in_range(values, more) for values in asked)


def test_several_objectives_are_refused():
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=ProteinSampler(SPACE, seed=1))
    with pytest.raises(ConfigError, match="one objective"):
        SPACE.suggest(study.ask())


WRONG = [{"num_startup": 0}, {"max_cost": 0}, {"max_cost": math.nan}, {"curve_points": -1}, {"candidates": 1}, {"max_points": 1}]


@pytest.mark.parametrize("keywords", WRONG)
def test_wrong_keywords_are_refused(keywords):
    with pytest.raises(ConfigError, match=next(iter(keywords))):
        ProteinSampler(SPACE, **keywords)
