"""Elo's ratings (Elo 1978, The Rating of Chessplayers, 1.4 and 1.6).

A game's score is 1 for a win, 1/2 for a draw, 0 for a loss. A difference of 400 points stands for odds of 10 to 1.
"""

from __future__ import annotations

import math

START = 1000.0
"""The rating of a policy that has learnt nothing yet."""
Z_95 = 1.959964
"""Standard deviations to each side that hold 95 % of a normal distribution."""


def expected_score(rating: float, opponent: float) -> float:
    """1 / (1 + 10^((opponent - rating) / 400))"""
    return 1.0 / (1.0 + math.pow(10.0, (opponent - rating) / 400.0))


def after_game(rating: float, opponent: float, score: float, k: float) -> tuple[float, float]:
    """Both ratings after a game: one gains k (score - expected score), which the other loses."""
    gain = k * (score - expected_score(rating, opponent))
    return rating + gain, opponent - gain


def difference(score: float) -> float:
    """The difference of ratings at which `score` is the expected one: 400 log10(score / (1 - score)); infinite at 0 and 1."""
    if score <= 0.0:
        return -math.inf
    return math.inf if score >= 1.0 else 400.0 * math.log10(score / (1.0 - score))


def score_interval(score: float, games: int, z: float = Z_95) -> tuple[float, float]:
    """Wilson's interval (Wilson 1927, eq. 4) for the expected score after `games` independent games.

    It takes every game for won or lost, so with draws among them it is wider than need be, never narrower.
    """
    centre = (score + z * z / (2 * games)) / (1 + z * z / games)
    half = z / (1 + z * z / games) * math.sqrt(score * (1 - score) / games + z * z / (4 * games * games))
    return (0.0 if score <= 0 else max(0.0, centre - half)), (1.0 if score >= 1 else min(1.0, centre + half))


def difference_interval(score: float, games: int, z: float = Z_95) -> tuple[float, float]:
    """The same as a difference of ratings."""
    low, high = score_interval(score, games, z)
    return difference(low), difference(high)
