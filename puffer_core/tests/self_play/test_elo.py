"""Elo's arithmetic, against numbers worked out elsewhere."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pufferlib.self_play import elo

ratings = st.floats(0, 4000)


def test_the_expected_scores_of_a_published_example():
    """A player rated 1613 in a tournament of five games (Wikipedia, Elo rating system, Mathematical details)."""
    opponents, scores = (1609, 1477, 1388, 1586, 1720), (0, 0.5, 1, 1, 0)
    expected = [elo.expected_score(1613, opponent) for opponent in opponents]
    assert expected == pytest.approx([0.51, 0.69, 0.79, 0.54, 0.35], abs=0.005)
    assert sum(expected) == pytest.approx(2.88, abs=0.02)  # a sum of rounded ones there
    gains = [elo.after_game(1613, o, s, 32)[0] - 1613 for o, s in zip(opponents, scores, strict=True)]
    assert round(1613 + sum(gains)) == 1601


def test_differences_by_hand():
    assert elo.difference(0.5) == 0
    assert elo.difference(10 / 11) == pytest.approx(400)  # odds of 10 to 1
    assert elo.difference(0.75) == pytest.approx(400 * math.log10(3))
    assert elo.difference(1) == math.inf
    assert elo.difference(0) == -math.inf


def test_wilsons_interval_by_hand():
    """10 of 20, and 0 and 20 of 20, at 95 % (Newcombe 1998, table I, method 3, gives such ends to four digits)."""
    assert elo.score_interval(0.5, 20) == pytest.approx((0.2993, 0.7007), abs=1e-4)
    assert elo.score_interval(81 / 263, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert elo.score_interval(0, 20) == pytest.approx((0, 0.1611), abs=1e-4)
    assert elo.score_interval(1, 29) == pytest.approx((0.8830, 1), abs=1e-4)
    assert elo.difference_interval(1, 20)[1] == math.inf


@given(ratings, ratings, st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 64))
def test_a_game_moves_points_from_one_side_to_the_other(a, b, score, k):
    new_a, new_b = elo.after_game(a, b, score, k)
    assert new_a + new_b == pytest.approx(a + b)
    assert abs(new_a - a) <= k + 1e-9  # a sum of some thousands is rounded
    assert (new_a - a) * (score - elo.expected_score(a, b)) >= 0


@given(ratings, ratings)
def test_the_difference_undoes_the_expected_score(a, b):
    assert elo.expected_score(a, b) + elo.expected_score(b, a) == pytest.approx(1)
    if abs(a - b) < 1500:
        assert elo.difference(elo.expected_score(a, b)) == pytest.approx(a - b, abs=1e-6)
