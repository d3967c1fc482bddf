"""The parts of Protein against formulas and brute force: posterior, front, improvement, history."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from optuna.trial import TrialState, create_trial
from scipy import integrate, stats

from pufferlib_sweep.acquisition import log_expected_improvement, perturbed, prior_points
from pufferlib_sweep.history import read_history
from pufferlib_sweep.model import Model, refit_size
from pufferlib_sweep.pareto import best_score_within, pareto_front
from pufferlib_sweep.space import Categorical, IntLogNormal, LogNormal, SearchSpace, Uniform, UniformPow2
from pufferlib_sweep.surrogate import FailureModel, Surrogate, fit_theta

SPACE = SearchSpace([LogNormal("train.learning_rate", 1e-5, 1e-1), IntLogNormal("train.total_timesteps", 1000, 1_000_000)])


def matern_posterior(points, values, queries, variance, length, noise):
    """Rasmussen & Williams eq. 2.25, 2.26 with the kernel of eq. 4.17, in one dimension, by plain inverses."""

    def kernel(a, b):
        r = np.abs(a[:, None] - b[None]) / length
        return variance * (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)

    inverse = np.linalg.inv(kernel(points, points) + noise * np.eye(len(points)))
    cross = kernel(queries, points)
    mean = cross @ inverse @ values
    return mean, np.sqrt(np.diag(kernel(queries, queries) - cross @ inverse @ cross.T))


def test_the_posterior_is_that_of_the_textbook():
    points = np.array([0.05, 0.2, 0.45, 0.5, 0.9])
    values = np.array([3.0, 2.0, -1.0, -0.5, 4.0])
    queries = np.linspace(0, 1, 23)
    variance, length, noise = 1.7, 0.3, 0.05
    ours = Surrogate(points[:, None], values, np.log([variance, length, noise]))
    mean, std = ours.predict(queries[:, None])
    scaled = (values - values.mean()) / values.std()
    expected_mean, expected_std = matern_posterior(points, scaled, queries, variance, length, noise)
    np.testing.assert_allclose(mean, expected_mean * values.std() + values.mean(), rtol=1e-7)
    np.testing.assert_allclose(std, expected_std * values.std(), rtol=1e-6)
    np.testing.assert_allclose(ours.mean(queries[:, None]), mean, rtol=1e-12)


def test_fitted_length_scales_tell_what_matters():
    points = np.random.default_rng(1).random((60, 4))
    theta = fit_theta(points, np.sin(6 * points[:, 2]))
    lengths = np.exp(theta[1:5])
    assert lengths[2] < 0.5 * np.delete(lengths, 2).min()


def test_a_linear_surrogate_extrapolates_a_power_law():
    points = np.random.default_rng(1).random((40, 2)) * [1, 0.5]
    log_cost = 5 * points[:, 1] + points[:, 0]
    surrogate = Surrogate(points, log_cost, fit_theta(points, log_cost, linear=True, noise=0.001), linear=True)
    assert surrogate.mean(np.array([[0.5, 0.9]]))[0] == pytest.approx(5.0, abs=0.3)


def test_failures_on_one_side_make_that_side_unlikely():
    points = np.random.default_rng(1).random((60, 3))
    failed = points[:, 0] > 0.7
    model = FailureModel(points, failed, fit_theta(points, np.where(failed, 1.0, -1.0), noise=0.1))
    success = model.success(np.array([[0.95, 0.5, 0.5], [0.3, 0.5, 0.5]]))
    assert success[0] < 0.1 and success[1] > 0.9


SMALL = st.integers(1, 12).flatmap(
    lambda n: st.tuples(*[arrays(float, n, elements=st.sampled_from([0.0, 1.0, 2.0, 3.0, np.nan, -np.inf]))] * 2)
)


@given(SMALL)
def test_the_front_is_what_brute_force_finds(points):
    scores, costs = points
    costs = np.abs(costs)
    front = pareto_front(scores, costs)

    def beaten(i):
        return any(
            (scores[j] >= scores[i] and costs[j] <= costs[i] and (scores[j] > scores[i] or costs[j] < costs[i]))
            or (scores[j] == scores[i] and costs[j] == costs[i] and j < i)
            for j in range(len(scores))
        )

    expected = [i for i in range(len(scores)) if not np.isnan(scores[i]) and not np.isnan(costs[i]) and not beaten(i)]
    assert sorted(front) == expected
    assert (np.diff(costs[front]) > 0).all() and (np.diff(scores[front]) > 0).all()


def test_best_score_within_a_cost():
    scores, costs = np.array([1.0, 5.0, 3.0]), np.array([1.0, 10.0, 2.0])
    assert [best_score_within(scores, costs, cost) for cost in (0.5, 1, 5, 10)] == [-np.inf, 1, 3, 5]


@pytest.mark.parametrize(
    ("mean", "std", "best"), [(0.0, 1.0, 0.5), (2.0, 0.5, 0.0), (-1.0, 0.3, 0.0), (0.0, 0.1, 0.58), (0.0, 0.1, 0.62)]
)
def test_expected_improvement_is_its_integral(mean, std, best):
    expected, _ = integrate.quad(
        lambda f: (f - best) * stats.norm.pdf(f, mean, std), best, max(best, mean) + 12 * std, epsabs=0, epsrel=1e-10
    )
    ours = log_expected_improvement(np.array([mean]), np.array([std]), best)[0]
    assert ours == pytest.approx(np.log(expected), abs=0.01)


def test_expected_improvement_stays_finite_and_ordered_far_below_the_mark():
    means = np.linspace(-1000, 0, 500)
    ours = log_expected_improvement(means, np.ones(500), 5.0)
    assert np.isfinite(ours).all() and (np.diff(ours) > 0).all()


def trial(state=TrialState.COMPLETE, value=None, lr=1e-3, steps=1000, **attributes):
    params = {"train.learning_rate": lr, "train.total_timesteps": steps}
    return create_trial(state=state, value=value, params=params, distributions=SPACE.distributions(), user_attrs=attributes)


def study_of(*trials, direction="maximize"):
    study = optuna.create_study(direction=direction)
    study.add_trials(trials)
    return study


def test_history_tells_results_failures_and_running_trials_apart():
    study = study_of(
        trial(value=3.0, cost=2.0),
        trial(TrialState.FAIL, lr=1e-2, failure="boom"),
        trial(value=float("inf"), lr=2e-2, cost=1.0),
        trial(TrialState.FAIL, lr=3e-2, not_counted="interrupted"),
        trial(TrialState.RUNNING, lr=4e-2),
        trial(value=1.0, lr=5e-2),  # a cost is not said
        trial(TrialState.PRUNED, lr=6e-2),
    )
    history = read_history(study, SPACE)
    lr = SPACE["train.learning_rate"].to_unit
    assert history.scores.tolist() == [3.0, 1.0] and history.trials.tolist() == [0, 5]
    assert history.costs[0] == 2.0 and np.isnan(history.costs[1])
    assert history.failed[:, 0].tolist() == [lr(1e-2), lr(2e-2), lr(6e-2)]
    assert history.pending[:, 0].tolist() == [lr(4e-2)]
    assert {key[0] for key in history.taken} == {1e-3, 1e-2, 2e-2, 4e-2, 5e-2, 6e-2}
    assert {key[0] for key in history.failed_values} == {1e-2, 2e-2, 6e-2}
    assert len(read_history(study, SPACE, skip=4).pending) == 0
    assert read_history(study_of(trial(value=3.0), direction="minimize"), SPACE).scores.tolist() == [-3.0]


def test_points_of_a_curve_count_as_trials_with_fewer_steps():
    curve, steps = [[cost, cost / 10] for cost in range(1, 11)], [cost * 10_000 for cost in range(1, 11)]
    history = read_history(
        study_of(trial(value=1.0, cost=10.0, steps=100_000, curve=curve, curve_steps=steps)), SPACE, curve_points=3
    )
    assert history.partial.tolist() == [True, True, True, False]
    told = [SPACE["train.total_timesteps"].from_unit(u) for u in history.points[:, 1]]
    np.testing.assert_allclose(history.costs * 10_000, told)
    np.testing.assert_allclose(history.scores, history.costs / 10)
    assert history.scores[-1] == 1.0 and history.costs[-1] == 10.0


def test_a_pruned_trial_counts_with_the_end_of_its_curve():
    curve, steps = [[1.0, 0.1], [2.0, 0.2], [3.0, float("nan")], [4.0, 0.4]], [10_000, 20_000, 30_000, 40_000]
    history = read_history(study_of(trial(TrialState.PRUNED, steps=100_000, cost=4.1, curve=curve, curve_steps=steps)), SPACE)
    assert history.scores[-1] == 0.4 and history.costs[-1] == 4.0 and history.partial.all()
    assert len(history.failed) == 0


@settings(max_examples=20)
@given(st.lists(st.sampled_from([None, 3, [], [1], [1, 2], [0, 1], ["a", 1], [float("nan"), 1], [2, 5]]), max_size=4))
def test_a_damaged_curve_does_no_harm(curve):
    history = read_history(study_of(trial(value=1.0, cost=10.0, curve=curve, curve_steps=[2000] * len(curve))), SPACE)
    assert np.isfinite(history.scores).all() and (history.costs > 0).all()


def test_choices_become_columns():
    space = SearchSpace([Uniform("x", 0, 1), Categorical("kind", ("a", "b", "c")), Categorical("flag", (True, False))])
    study = optuna.create_study(direction="maximize")
    for index, kind in enumerate("abcab"):
        params = {"x": index / 5, "kind": kind, "flag": True}
        study.add_trial(
            create_trial(value=float(index), params=params, distributions=space.distributions(), user_attrs={"cost": 1.0})
        )
    history = read_history(study, space)
    model = Model(history, space, max_points=100, rng=np.random.default_rng(1))
    inputs = model.inputs(history.points)
    assert inputs.shape == (5, 5)
    np.testing.assert_allclose(np.linalg.norm(inputs[0, 1:4] - inputs[1, 1:4]), np.linalg.norm(inputs[0, 1:4] - inputs[2, 1:4]))


def test_a_running_trial_makes_the_model_surer_there_and_changes_no_mean():
    rng = np.random.default_rng(1)
    done = [trial(value=np.sin(2 * power), cost=1.0, lr=10**power) for power in np.linspace(-5, -1, 8)]
    here = SPACE.to_unit({"train.learning_rate": 2e-3, "train.total_timesteps": 500_000})[None]
    running = trial(TrialState.RUNNING, lr=2e-3, steps=500_000)
    models = [
        Model(read_history(study_of(*trials), SPACE), SPACE, max_points=100, rng=rng) for trials in (done, [*done, running])
    ]
    (mean, std), (believed, surer) = (model.predict_score(here) for model in models)
    assert surer[0] < 0.5 * std[0]
    assert believed[0] == pytest.approx(mean[0], abs=0.05)


def test_a_model_is_capped_and_keeps_the_best():
    rng = np.random.default_rng(1)
    done = [trial(value=float(i), cost=1.0 + i, lr=10 ** (-5 + i / 15)) for i in rng.permutation(60)]
    model = Model(read_history(study_of(*done), SPACE), SPACE, max_points=20, rng=rng)
    assert len(model.score.process.X_train_) == 20
    assert model.front_costs.max() == 60.0


def test_hyperparameters_are_fitted_anew_at_ever_larger_sizes():
    sizes = sorted({refit_size(count) for count in range(1, 400)})
    assert sizes[:5] == [1, 2, 3, 4, 5] and len(sizes) < 45
    assert all(count / refit_size(count) <= 1.2 for count in range(1, 400))


def test_perturbed_points_stay_in_the_cube_and_move():
    space = SearchSpace([Uniform("x", 0, 1), UniformPow2("n", 1, 64), Categorical("kind", ("a", "b", "c"))])
    centres = np.random.default_rng(1).integers(0, 2, (500, 3)).astype(float)
    moved = perturbed(centres, space, np.random.default_rng(2))
    assert ((moved >= 0) & (moved <= 1)).all()
    assert set(np.unique(moved[:, 2])) == {0.0, 0.5, 1.0}
    assert (np.abs(moved - centres).sum(1) > 0).mean() > 0.7


def test_the_prior_gathers_points_around_its_mean():
    space = SearchSpace([LogNormal("x", 1e-5, 1e-1, mean=1e-2, scale=0.1), Uniform("y", 0, 1)])
    even = np.random.default_rng(1).random((2000, 2))
    points = prior_points(even, space)
    assert np.median(points[:, 0]) == pytest.approx(0.75, abs=0.02) and points[:, 0].std() == pytest.approx(0.1, abs=0.02)
    assert (points[:, 1] == even[:, 1]).all()
