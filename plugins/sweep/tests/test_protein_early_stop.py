"""The early stop: hopeless trials end, and the best of a family of curves never does."""

from __future__ import annotations

import math

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.trial import TrialState, create_trial

from pufferlib.errors import ConfigError
from pufferlib_sweep.protein import ProteinPruner, should_stop
from pufferlib_sweep.space import IntLogNormal, LogNormal, SearchSpace

SPACE = SearchSpace([LogNormal("train.learning_rate", 1e-5, 1e-1), IntLogNormal("train.total_timesteps", 1000, 1_000_000)])
PARTS = np.linspace(0.05, 1, 20)


@pytest.fixture(scope="module", autouse=True)
def quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


def saturating(ceiling, speed, cost=10.0):
    """[[cost, score], ...] of a run whose score rises ever slower."""
    return [[cost * part, ceiling * (1 - math.exp(-speed * part))] for part in PARTS]


def ended(curve, /, state=TrialState.COMPLETE, steps=100_000, **attributes):
    params = {"train.learning_rate": 1e-3, "train.total_timesteps": steps}
    attributes = {"cost": curve[-1][0], "curve": curve, "curve_steps": [part * steps for part in PARTS], **attributes}
    value = curve[-1][1] if state == TrialState.COMPLETE else None
    return create_trial(state=state, value=value, params=params, distributions=SPACE.distributions(), user_attrs=attributes)


def running(curve, length, steps=100_000):
    """A trial of which `length` points are known."""
    told = [part * steps for part in PARTS][:length]
    return ended(curve, TrialState.RUNNING, steps, curve=curve[:length], curve_steps=told)


def study_of(*trials, direction="maximize"):
    study = optuna.create_study(direction=direction)
    study.add_trials(trials)
    return study


GOOD = study_of(*[ended(saturating(ceiling, 8)) for ceiling in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)])


def stops_at(study, curve, **keywords):
    """The number of points after which a trial with this curve is ended, or None."""
    lengths = range(1, len(PARTS))
    return next((n for n in lengths if should_stop(study, running(curve, n), SPACE, **keywords)), None)


def test_a_hopeless_trial_is_ended_but_not_before_a_fifth_of_its_way():
    assert stops_at(GOOD, saturating(0.1, 8)) == 4
    assert stops_at(GOOD, saturating(0.1, 8), min_part=0.48) == 10


def test_a_trial_ahead_of_the_front_goes_on():
    assert stops_at(GOOD, saturating(1.1, 8)) is None
    assert stops_at(GOOD, saturating(1.0, 20)) is None


def test_a_cheap_trial_is_held_against_cheap_ones_only():
    assert stops_at(GOOD, saturating(0.2, 8, cost=0.4)) is None  # no trial has cost so little
    dear = [[10 * cost, score] for cost, score in saturating(0.2, 8)]
    assert stops_at(GOOD, dear) is not None


def test_a_late_bloomer_is_given_the_gain_that_another_made():
    late = [[10 * part, 0.0 if part < 0.7 else 1.0] for part in PARTS]
    assert stops_at(GOOD, late) is not None  # nobody ever bloomed so late
    assert stops_at(study_of(*GOOD.trials, ended(late)), late) is None


def test_too_few_finished_trials_end_none():
    few = study_of(*GOOD.trials[:4])
    assert stops_at(few, saturating(0.1, 8)) is None
    assert stops_at(few, saturating(0.1, 8), min_trials=4) is not None


def test_failed_and_pruned_trials_and_those_without_a_curve_do_not_count():
    others = [
        ended(saturating(5, 8), TrialState.FAIL),
        ended(saturating(5, 8), TrialState.PRUNED),
        ended(saturating(5, 8), curve=[]),
    ]
    assert stops_at(study_of(*GOOD.trials, *others), saturating(1.0, 8)) is None


def test_minimizing_turns_the_curves_over():
    def turned(curve):
        return [[cost, -score] for cost, score in curve]

    study = study_of(*[ended(turned(saturating(ceiling, 8))) for ceiling in (0.5, 0.7, 0.8, 0.9, 1.0)], direction="minimize")
    assert stops_at(study, turned(saturating(0.1, 8))) == 4
    assert stops_at(study, turned(saturating(1.1, 8))) is None


def test_damaged_curves_end_nothing():
    for curve in ([], [[1, math.nan]] * 5, [None] * 5, [[0.0, 1.0]] * 5):
        assert not should_stop(GOOD, running(saturating(0.1, 8), 10), SPACE, curve=curve)


def test_without_steps_the_cost_says_how_far_a_trial_is():
    space = SearchSpace([LogNormal("train.learning_rate", 1e-5, 1e-1)])
    trial = running(saturating(0.1, 8), 10)
    assert should_stop(GOOD, trial, space)
    assert not should_stop(GOOD, trial, space, curve=saturating(0.1, 8)[:3])
    assert not should_stop(GOOD, trial, space, curve=saturating(0.1, 8))  # it is at its end anyway


def test_as_a_pruner_in_an_objective():
    ceilings = [0.5, 0.6, 0.7, 0.8, 1.0, 0.1, 1.1]

    def objective(trial):
        values = SPACE.suggest(trial)
        curve = saturating(ceilings[trial.number], 8)
        for length in range(1, len(curve) + 1):
            trial.set_user_attr("curve", curve[:length])
            trial.set_user_attr("curve_steps", [part * values["train.total_timesteps"] for part in PARTS[:length]])
            trial.set_user_attr("cost", curve[length - 1][0])
            if trial.should_prune():
                raise optuna.TrialPruned
        return curve[-1][1]

    study = optuna.create_study(direction="maximize", pruner=ProteinPruner(SPACE), sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(objective, n_trials=len(ceilings))
    assert [trial.number for trial in study.trials if trial.state == TrialState.PRUNED] == [5]


CURVES = st.lists(st.tuples(st.floats(0.05, 2), st.floats(0.2, 30), st.sampled_from([1.0, 3.0, 10.0])), min_size=6, max_size=12)


@settings(max_examples=60, deadline=None)
@given(CURVES, st.floats(0, 0.2))
def test_the_best_of_a_family_of_saturating_curves_is_never_ended(family, slack):
    """Trials come one after another; whichever is ended early would not have beaten what was there."""
    study = study_of()
    for ceiling, speed, cost in family:
        curve = saturating(ceiling, speed, cost)
        at = stops_at(study, curve, slack=slack)
        within = [
            score
            for trial in study.trials
            if trial.state == TrialState.COMPLETE
            for c, score in trial.user_attrs["curve"]
            if c <= cost
        ]
        assert at is None or curve[-1][1] < max(within)
        study.add_trial(ended(curve) if at is None else ended(curve, TrialState.PRUNED, curve=curve[:at]))


def test_a_noisy_family_keeps_its_best_and_saves_a_third_of_the_cost():
    rng = np.random.default_rng(1)
    spent = full = 0.0
    kept = 0
    for _ in range(8):
        study = study_of()
        ceilings = rng.uniform(0, 1, 30) ** 2
        for ceiling in ceilings:
            noise = rng.normal(0, 0.02, len(PARTS))
            curve = [[cost, score + n] for (cost, score), n in zip(saturating(ceiling, rng.uniform(3, 12)), noise, strict=True)]
            at = stops_at(study, curve)
            kept += at is None and ceiling == ceilings.max()
            spent += curve[-1 if at is None else at - 1][0]
            full += curve[-1][0]
            study.add_trial(ended(curve) if at is None else ended(curve, TrialState.PRUNED, curve=curve[:at]))
    assert kept == 8
    assert spent < full * 2 / 3


@pytest.mark.parametrize("keywords", [{"min_part": 2}, {"slack": -1}, {"min_trials": 0}])
def test_wrong_keywords_are_refused(keywords):
    with pytest.raises(ConfigError, match=next(iter(keywords))):
        should_stop(GOOD, running(saturating(0.1, 8), 5), SPACE, **keywords)
