"""What go promises: its rules (checked in C, under sanitizers, against a referee), its observations, and its baseline scores."""

from __future__ import annotations

import numpy as np
import pytest

from pufferlib_ocean.go import Go
from pufferlib_ocean.testing import play, rule_test

test_rule = rule_test(__file__)


# ---------------------------------------------------------------- observations and arguments


def parts(observations, size):
    """The planes of own stones, the other's, and the last stone; then the four flags."""
    return np.split(observations, [size * size, 2 * size * size, 3 * size * size], axis=1)


@pytest.mark.parametrize("size", [5, 9, 19])
def test_first_observation_and_mask(size):
    env = Go(num_envs=100, size=size, seed=1)
    own, other, last, flags = parts(env.reset()[0], size)
    black = flags[:, 1] == 1
    assert 30 < black.sum() < 70
    assert not own.any()
    assert (other.sum(axis=1) == np.where(black, 0, 1)).all(), "where the bot is black it has placed a stone"
    assert (last == other).all()
    assert (flags[:, 0] == 1).all() and not flags[:, 2:].any()
    assert (env.action_masks == np.hstack([1 - other, np.ones((100, 1))])).all()


def test_the_two_rows_of_self_play_see_one_board_from_both_sides():
    env = Go(num_envs=16, opponent="self", size=7, seed=2)
    observations, _ = env.reset()
    rng, ends = np.random.default_rng(0), 0
    for _ in range(400):
        own, other, last, flags = parts(observations, 7)
        assert (own[0::2] == other[1::2]).all() and (other[0::2] == own[1::2]).all() and (last[0::2] == last[1::2]).all()
        assert (flags[0::2, :2] + flags[1::2, :2] == 1).all() and (flags[0::2, 3] == flags[1::2, 3]).all()
        to_move = flags[:, 0] == 1
        assert (env.action_masks[~to_move] == np.eye(1, 50)).all()
        taken = (own | other)[to_move]
        assert not (env.action_masks[to_move][:, :49] & taken).any() and env.action_masks[to_move][:, 49].all()
        observations, rewards, terminals, _, _ = env.step(np.array([rng.choice(np.flatnonzero(m)) for m in env.action_masks]))
        assert (rewards[0::2] == -rewards[1::2]).all() and (np.abs(rewards) == terminals).all()
        ends += terminals.sum()
    assert ends > 16
    log = env.drain_log()
    assert log["score"] == 0 and log["perf"] == 0.5 and log["score_first"] == -log["score_second"]


def test_plies_are_shown_in_fifteenths_and_end_the_game():
    env = Go(size=5, max_plies=30, opponent="self", seed=0)
    env.reset()
    rng, shown = np.random.default_rng(0), []
    for _ in range(30):
        choices = np.flatnonzero(env.action_masks[env.observations[:, -4] == 1][0])
        action = rng.choice(choices[:-1]) if len(choices) > 1 else choices[0]
        _, _, terminals, _, _ = env.step(np.array([action, action]))
        shown.append(env.observations[0, -1])
    assert terminals.all()
    assert shown[:-1] == [15 * ply // 30 for ply in range(1, 30)]
    assert (env.final_observations[:, -1] == 15).all()


def test_komi_is_in_half_points():
    Go(komi=-20), Go(komi=0), Go(komi=6.5)
    with pytest.raises(ValueError, match=r"go: komi must be a multiple of 0.5 in \[-20, 20\], got 7.3"):
        Go(komi=7.3)


# ---------------------------------------------------------------- baselines

# Bands: the mean measured over 16 seeds of the same run, plus and minus 5 standard errors of one run's mean. That the greedy
# bot beats the random one stands in test_go.c.


def test_random_play_loses_to_the_greedy_bot():
    log = play(Go(num_envs=256), None, 250)
    assert log["n"] >= 1000
    assert log["score"] <= -0.934


def test_random_play_is_about_even_with_the_random_bot():
    log = play(Go(num_envs=256, bot="random"), None, 400)
    assert log["n"] >= 800
    assert -0.033 <= log["score"] <= 0.39
