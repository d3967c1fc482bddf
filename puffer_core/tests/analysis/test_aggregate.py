"""Statistics over seeds equal scipy's and what can be counted by hand; no interval where there is none."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats

from pufferlib.analysis.aggregate import aggregate, bootstrap, iqm, probability_of_improvement
from pufferlib.errors import ConfigError


def scores(seed, *shape):
    return np.random.default_rng(seed).beta(2, 3, shape)


@pytest.mark.parametrize("count", range(1, 14))
def test_iqm_is_scipys_trimmed_mean(count):
    values = scores(count, 7, count)
    assert iqm(values) == pytest.approx(scipy.stats.trim_mean(values, 0.25, axis=1))
    assert iqm(values.T, axis=0) == pytest.approx(scipy.stats.trim_mean(values, 0.25, axis=1))


def test_statistics_over_tasks_by_hand():
    result = aggregate({"a": np.array([0.0, 0.2, 0.4]), "b": np.array([0.6, 1.0, 1.4]), "c": np.array([0.1, 0.1, 0.1])})
    assert (result.n, result.missing, result.tasks) == (9, 0, 3)
    assert result.mean.value == pytest.approx((0.2 + 1.0 + 0.1) / 3)
    assert result.median.value == pytest.approx(0.2)  # of the means 0.2, 1.0, 0.1
    assert result.iqm.value == pytest.approx((0.1 + 0.1 + 0.2 + 0.4 + 0.6) / 5)  # 0, 0.1 and 1, 1.4 are cut off
    assert result.optimality_gap.value == pytest.approx((0.8 + (0.4 + 0 + 0) / 3 + 0.9) / 3)


def test_the_median_of_one_task_is_that_of_its_runs():
    values = np.array([0.1, 0.2, 0.9])
    assert aggregate({"a": values}).median.value == np.median(values)


@pytest.mark.parametrize("name", ["iqm", "mean", "median", "optimality_gap"])
def test_intervals_are_those_of_scipys_percentile_bootstrap(name):
    values = scores(3, 12)
    statistic = {
        "iqm": lambda x, axis: scipy.stats.trim_mean(x, 0.25, axis=axis),
        "mean": np.mean,
        "median": np.median,
        "optimality_gap": lambda x, axis: np.mean(1 - np.minimum(x, 1), axis=axis),
    }[name]
    theirs = scipy.stats.bootstrap(
        (values,), statistic, method="percentile", n_resamples=50_000, random_state=np.random.default_rng(1), vectorized=True
    ).confidence_interval
    ours = getattr(aggregate({"a": values}, resamples=50_000), name).interval
    assert ours == pytest.approx(tuple(theirs), abs=0.006)


def test_the_interval_of_three_scores_is_that_of_all_27_resamples():
    values = np.array([0.0, 3.0, 9.0])
    means = np.sort([np.mean(pick) for pick in itertools.product(values, repeat=3)])
    drawn = bootstrap([values], lambda parts: parts[0].mean(axis=1), resamples=40_000)
    # 1 of 27 resamples is (0, 0, 0), which is more than 2.5 %; the same at the other end
    assert drawn == (means[0], means[-1]) == (0.0, 9.0)


def test_resampling_is_within_tasks():
    """Each task's runs are equal, so a draw within tasks changes nothing, while one over all runs would."""
    result = aggregate({"a": np.full(5, 0.1), "b": np.full(5, 0.9)})
    assert result.iqm.interval == pytest.approx((0.5, 0.5))
    assert result.mean.interval == pytest.approx((0.5, 0.5))


def test_resampling_in_portions_draws_as_many(monkeypatch):
    monkeypatch.setattr("pufferlib.analysis.aggregate.MOST_NUMBERS", 50)
    counted = []
    bootstrap([np.arange(4.0), np.arange(6.0)], lambda parts: counted.append(len(parts[0])) or parts[0][:, 0], resamples=23)
    assert counted == [5, 5, 5, 5, 3]


def test_a_single_run_has_a_value_and_no_interval():
    result = aggregate({"a": np.array([0.7])})
    assert (result.n, result.iqm.value, result.iqm.interval) == (1, 0.7, None)
    assert aggregate({"a": np.array([0.7]), "b": np.array([0.1, 0.2])}).mean.interval is None


def test_missing_scores_do_not_count_and_are_told():
    result = aggregate({"a": np.array([0.2, np.nan, 0.4, np.inf]), "b": np.array([np.nan])})
    assert (result.n, result.missing, result.tasks) == (2, 3, 1)
    assert result.mean.value == pytest.approx(0.3)
    with pytest.raises(ConfigError, match="no run of the group has a score"):
        aggregate({"a": np.array([np.nan])})


def test_the_same_seed_gives_the_same_interval():
    group = {"a": scores(1, 6)}
    assert aggregate(group, seed=4, resamples=500) == aggregate(group, seed=4, resamples=500)
    assert aggregate(group, seed=4, resamples=500) != aggregate(group, seed=5, resamples=500)


# ---------------------------------------------------------------- probability of improvement


@pytest.mark.parametrize("seed", range(5))
def test_probability_of_improvement_is_mann_whitneys_u(seed):
    ours, theirs = np.round(scores(seed, 9), 1), np.round(scores(seed + 50, 7), 1)  # rounded: there are draws
    u = scipy.stats.mannwhitneyu(ours, theirs).statistic
    found = probability_of_improvement({"a": ours}, {"a": theirs}, resamples=100)
    assert found.value == pytest.approx(u / (9 * 7))
    back = probability_of_improvement({"a": theirs}, {"a": ours}, resamples=100)
    assert found.value + back.value == pytest.approx(1)


def test_over_tasks_it_is_the_mean_of_those_that_both_groups_have():
    ours = {"a": np.array([1.0, 1.0]), "b": np.array([0.0, 0.0]), "mine": np.array([9.0])}
    theirs = {"a": np.array([0.0, 0.0]), "b": np.array([0.0, 1.0]), "theirs": np.array([9.0])}
    found = probability_of_improvement(ours, theirs)
    assert found.value == pytest.approx((1.0 + 0.25) / 2)
    assert found.interval[0] >= 0.5 and found.interval[1] <= 0.75
    assert probability_of_improvement({"a": ours["a"]}, {"b": theirs["b"]}) is None


def test_its_interval_is_that_of_scipys_bootstrap_of_both_samples():
    ours, theirs = scores(1, 10), scores(2, 8) - 0.05

    def share(a, b, axis):
        return (a[..., :, None] > b[..., None, :]).mean(axis=(-1, -2))

    reference = scipy.stats.bootstrap(
        (ours, theirs), share, method="percentile", n_resamples=20_000, random_state=np.random.default_rng(0), vectorized=True
    ).confidence_interval
    found = probability_of_improvement({"a": ours}, {"a": theirs}, resamples=20_000)
    assert found.interval == pytest.approx(tuple(reference), abs=0.02)


def test_a_single_run_against_many_has_no_interval():
    found = probability_of_improvement({"a": np.array([0.5])}, {"a": np.array([0.1, 0.9])})
    assert (found.value, found.interval) == (0.5, None)
