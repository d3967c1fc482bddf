"""What connect4 promises: its rules and bot (checked in C, under sanitizers), its rows' views, baselines."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from pufferlib.eval import RandomActor
from pufferlib_ocean.connect4 import Connect4
from pufferlib_ocean.testing import compile_rules, play, rule_test

TO_MOVE, PLIES = 42, 43


test_rule = rule_test(__file__)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """program(source): what a C file of tests is as a program, whose main does more than run tests."""
    return lambda source: str(compile_rules(Path(__file__).with_name(source), tmp_path_factory.getbasetemp()))


class Board:
    """The game once more, from its rules: columns are lists of stones, a line is looked for around the stone that fell."""

    def __init__(self, columns=()):
        self.stacks = [[] for _ in range(7)]
        self.player, self.over = 0, False
        for column in columns:
            self.drop(column)

    def legal(self):
        return [] if self.over else [column for column in range(7) if len(self.stacks[column]) < 6]

    def owner(self, column, height):
        inside = 0 <= column < 7 and 0 <= height < len(self.stacks[column])
        return self.stacks[column][height] if inside else None

    def drop(self, column):
        self.stacks[column].append(self.player)
        height = len(self.stacks[column]) - 1
        for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
            length = 1
            for sign in (1, -1):
                k = 1
                while self.owner(column + sign * k * dx, height + sign * k * dy) == self.player:
                    length, k = length + 1, k + 1
            self.over |= length >= 4
        self.over |= all(len(stack) == 6 for stack in self.stacks)
        self.player = 1 - self.player

    def take_back(self, column):
        self.stacks[column].pop()
        self.player, self.over = 1 - self.player, False

    def perft(self, depth):
        if depth == 0:
            return 1
        games = 0
        for column in self.legal():
            self.drop(column)
            games += self.perft(depth - 1)
            self.take_back(column)
        return games


@pytest.mark.parametrize(("opening", "depth"), [("", 5), ("010101", 5), ("33333322", 5), ("010101101010232323323232", 9)])
def test_as_many_games_follow_as_by_the_rules_in_python(program, opening, depth):
    board = Board(map(int, opening))
    assert not board.over
    command = [program("test_connect4_rules.c"), "perft", opening, str(depth)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) == board.perft(depth)


def test_both_rows_of_self_play_see_one_board_with_the_signs_turned():
    env = Connect4(num_envs=32, seed=4, opponent="self")
    observations, _ = env.reset()
    actor = RandomActor(env.single_action_space, 64, env.action_mask_size, seed=0)
    wins = 0
    for _ in range(400):
        one, two = observations[0::2], observations[1::2]
        assert (one[:, :42] == -two[:, :42]).all()
        assert (one[:, TO_MOVE] + two[:, TO_MOVE] == 1).all()
        assert (one[:, PLIES] == two[:, PLIES]).all()
        observations, rewards, terminals, _, _ = env.step(actor.act(observations, env.action_masks))
        assert (rewards[0::2] == -rewards[1::2]).all()
        assert (terminals[0::2] == terminals[1::2]).all()
        wins += np.abs(rewards[0::2]).sum()
    log = env.drain_log()
    assert wins > 300
    assert log["score"] == log["episode_return"] == 0
    assert log["perf"] == 0.5
    assert log["score_first"] == -log["score_second"]


def test_the_parts_of_the_score_by_seat_add_up_to_it():
    env = Connect4(num_envs=64, seed=4)
    log = play(env, None, 200)
    assert log["score_first"] + log["score_second"] == pytest.approx(log["score"])
    assert log["score_first"] < 0 > log["score_second"]


def test_games_agree_with_pettingzoo():
    """Masks, boards, rewards and ends of 100 random games are those of connect_four_v3."""
    connect_four_v3 = pytest.importorskip("pettingzoo.classic", reason="pip install 'pettingzoo[classic]'").connect_four_v3
    ours, theirs = Connect4(seed=8, opponent="self"), connect_four_v3.env()
    rng, ends = np.random.default_rng(2), {-1: 0, 0: 0, 1: 0}
    observations, _ = ours.reset()
    for _ in range(100):
        theirs.reset()
        over = False
        while not over:
            mover = int(observations[1, TO_MOVE])
            seen = theirs.last()[0]
            own, other = seen["observation"][..., 0], seen["observation"][..., 1]
            assert (observations[mover, :42].reshape(6, 7) == own.astype(int) - other).all()
            assert (ours.action_masks[mover] == seen["action_mask"]).all()
            column = rng.choice(np.flatnonzero(seen["action_mask"]))
            agent = theirs.agent_selection
            theirs.step(column)
            observations, rewards, terminals, _, _ = ours.step(np.full(2, column))
            over = bool(terminals[0])
            assert over == theirs.terminations[agent]
            assert rewards[mover] == theirs.rewards[agent]
        ends[int(rewards[mover])] += 1
    assert ends[1] > 90
    assert ends[-1] == 0


# Bands: the mean over 150,000 episodes (-0.991, 0.002, 0.386), plus and minus 5 standard errors of a mean over these few.


def masked(env):
    actor = RandomActor(env.single_action_space, env.num_agents, env.action_mask_size, seed=5)
    return lambda observations, rng: actor.act(observations, env.action_masks)


def test_random_play_loses_to_the_bot():
    env = Connect4(num_envs=256, seed=11)
    log = play(env, masked(env), 60)
    assert log["n"] > 1500
    assert -1 <= log["score"] <= -0.976


def test_random_play_is_even_with_a_random_bot():
    env = Connect4(num_envs=256, seed=11, bot_depth=0, bot_epsilon=1)
    log = play(env, masked(env), 120)
    assert log["n"] > 2000
    assert abs(log["score"]) < 0.1


def test_a_bot_that_looks_four_plies_ahead_beats_the_default_one(program):
    done = subprocess.run([program("test_connect4_bot.c"), "match", "2000"], capture_output=True, text=True, check=True)
    assert 0.28 <= float(done.stdout) <= 0.49
