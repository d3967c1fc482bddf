"""The best checkpoint, told from rows of metrics."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from pufferlib.train.best import EPISODES, Ranking


def row(step, episodes, **means):
    return {"global_step": step, "environment/n": episodes, **{f"environment/{name}": mean for name, mean in means.items()}}


def test_a_checkpoint_is_worth_the_mean_of_the_last_hundred_episodes_before_it():
    ranking = Ranking("score", [row(10, 80, score=1.0), row(20, 60, score=4.0), row(30, 50, score=8.0), {"global_step": 35}])
    assert ranking.value(5) is None
    assert ranking.value(10) == 1.0
    assert ranking.value(20) == (60 * 4.0 + 80 * 1.0) / 140
    assert ranking.value(30) == ranking.value(40) == (50 * 8.0 + 60 * 4.0) / 110
    assert ranking.best([5, 10, 20, 30]) == [30, 20, 10]


def test_one_lucky_episode_makes_no_checkpoint_best():
    rows = [row(10, 1, score=99.0), row(20, 100, score=2.0), row(30, 100, score=1.0)]
    assert Ranking("score", rows).best([10, 20, 30]) == [20, 30, 10]
    assert Ranking("score", rows[:1]).best([10]) == [10]


def test_of_equals_the_newer_is_best_and_a_minus_turns_the_order_round():
    rows = [row(step, 200, score=mean, time=-mean) for step, mean in ((10, 1.0), (20, 3.0), (30, 3.0), (40, 2.0))]
    assert Ranking("score", rows).best([10, 20, 30, 40]) == Ranking("-time", rows).best([10, 20, 30, 40]) == [30, 20, 40, 10]


def test_auto_is_the_score_or_else_the_return():
    returns = [row(10, 100, episode_return=5.0), row(20, 100, episode_return=4.0)]
    assert Ranking("auto", returns).best([10, 20]) == [10, 20]
    scores = [{**returns[0], "environment/score": 1.0}, {**returns[1], "environment/score": 2.0}]
    assert Ranking("auto", scores).best([10, 20]) == [20, 10]
    assert Ranking("auto", scores).name == "score"


def test_rows_without_a_number_are_passed_over():
    rows = [row(10, 100, score=None), row(20, 100, score=math.nan), row(30, 0, score=5.0), {"global_step": 40, "SPS": 1.0}]
    assert Ranking("score", rows).best([10, 20, 30, 40]) == []


@given(st.lists(st.tuples(st.integers(1, 300), st.floats(-1e3, 1e3)), min_size=1, max_size=20))
def test_the_value_is_a_mean_of_the_shortest_run_of_rows_with_enough_episodes(rows):
    ranking = Ranking("score", [row(10 * k, n, score=mean) for k, (n, mean) in enumerate(rows)])
    for last in range(len(rows)):
        tail = next((rows[first : last + 1] for first in range(last, -1, -1)
                     if sum(n for n, _ in rows[first : last + 1]) >= EPISODES), rows[: last + 1])  # fmt: skip
        expected = math.fsum(n * mean for n, mean in tail) / sum(n for n, _ in tail)
        assert math.isclose(ranking.value(10 * last), expected, rel_tol=1e-9, abs_tol=1e-9)
