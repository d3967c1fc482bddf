"""What a trial is worth, from the rows of its metrics."""

import math

import pytest

from pufferlib.errors import ConfigError
from pufferlib_sweep.outcome import Outcome, Progress, TrialError, average


def row(step, n=0, **episodes):
    found = {"global_step": step, "uptime": step / 10}
    return {**found, "environment/n": n, **{f"environment/{k}": v for k, v in episodes.items()}} if n else found


def progress(*rows, metric="auto", cost="seconds", total=100):
    found = Progress(metric, cost, total)
    found.add(rows)
    return found


def test_score_is_the_mean_over_the_episodes_of_the_last_tenth():
    found = progress(row(50, 9, perf=9.0), row(90, 5, perf=9.0), row(95, 3, perf=1.0), row(100, 1, perf=5.0))
    assert found.score() == pytest.approx((3 * 1.0 + 5.0) / 4)


def test_without_episodes_in_the_last_tenth_the_last_row_with_some_counts():
    assert progress(row(20, 2, perf=0.5), row(40, 2, perf=0.25), row(100)).score() == 0.25


def test_cost_is_seconds_or_steps():
    rows = [row(40, 1, score=1.0), row(100, 1, score=1.0)]
    assert progress(*rows).outcome().cost == 10.0
    assert progress(*rows, cost="steps").outcome().cost == 100.0


def test_auto_takes_perf_then_score_then_return():
    assert progress(row(9, 1, score=1, episode_return=2, perf=3)).metric == "perf"
    assert progress(row(9, 1, score=1, episode_return=2)).metric == "score"
    assert progress(row(9, 1, episode_return=2)).metric == "episode_return"
    assert progress(row(9)).metric == "auto"


def test_any_name_of_the_metrics_can_be_the_metric():
    found = progress({**row(100, 3, score=1.0), "SPS": 500.0}, metric="SPS")
    assert found.score() == 500.0


def test_a_metric_that_is_not_logged_is_refused_with_a_near_match():
    with pytest.raises(ConfigError, match=r"scor: .*did you mean score"):
        progress(row(9, 1, score=1.0), metric="scor")


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_is_not_finite_is_a_failure(value):
    with pytest.raises(TrialError, match="perf is not finite at step 50"):
        progress(row(50, 1, perf=value))


def test_no_ended_episode_is_a_failure():
    with pytest.raises(TrialError, match="no episode ended within 100 steps"):
        progress(row(50), row(100)).score()


def test_the_curve_has_at_most_20_points_each_a_mean_over_episodes():
    found = progress(*[row(step, step % 3 + 1, perf=float(step)) for step in range(1, 101)]).outcome()
    assert len(found.curve) == 20 and found.curve_steps[0] == 5 and found.curve_steps[-1] == 100
    weights = [step % 3 + 1 for step in range(1, 6)]
    assert found.curve[0] == [0.5, pytest.approx(sum(s * w for s, w in zip(range(1, 6), weights, strict=True)) / sum(weights))]


def test_the_curve_begins_when_as_many_episodes_have_ended_as_there_are_envs():
    found = Progress("auto", "steps", 100, left_out=8)
    found.add([row(5, 3, perf=9.0), row(10, 5, perf=9.0), row(15, 1, perf=1.0), row(20, 7, perf=2.0)])
    assert found.outcome().curve == [[15.0, 1.0], [20.0, 2.0]] and found.outcome().score == 2.0


def test_seeds_of_a_trial_count_by_their_mean():
    one = Outcome(1.0, 10.0, 100, "perf", [[5.0, 0.0], [10.0, 1.0]], [50, 100])
    two = Outcome(3.0, 20.0, 100, "perf", [[10.0, 2.0], [20.0, 3.0]], [50, 100])
    both = average([one, two])
    assert (both.score, both.cost, both.steps) == (2.0, 15.0, 100)
    assert both.curve == [[7.5, 1.0], [15.0, 2.0]]
