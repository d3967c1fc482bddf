"""What checkers promises: its rules (checked in C, under sanitizers), equality with a slow twin, and its baseline scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib_ocean.checkers import Checkers
from pufferlib_ocean.testing import Random, assert_equals_two_sided_twin, play, rule_test

DIRECTIONS = ((-1, -1), (-1, 1), (1, 1), (1, -1))
"""(row, column) as a side sees it: up left, up right, down right, down left."""


test_rule = rule_test(__file__)


# ---------------------------------------------------------------- a slow twin, written from the rules


def number(side, square):
    """A square (row, column) of the board as side 0 sees it, as the index that `side` gives it."""
    row, column = square
    index = row * 4 + column // 2
    return index if side == 0 else 31 - index


def square_of(side, index):
    index = index if side == 0 else 31 - index
    row = index // 4
    return row, 2 * (index % 4) + (row % 2 == 0)


class Position:
    """pieces: {(row, column): (side, is_king)}, as side 0, which moves up, sees the board."""

    def __init__(self, pieces=None):
        dark = [(row, column) for row in range(8) for column in range(8) if (row + column) % 2]
        start = {square: (int(square[0] < 3), False) for square in dark if square[0] not in (3, 4)}
        self.pieces = start if pieces is None else pieces

    def ways(self, side, square, jumping):
        """{direction: target} of the steps, or the jumps, of the piece on a square."""
        found = {}
        for direction, (dy, dx) in enumerate(DIRECTIONS):
            if direction >= 2 and not self.pieces[square][1]:
                continue
            sign = 1 if side == 0 else -1
            near = (square[0] + sign * dy, square[1] + sign * dx)
            far = (square[0] + 2 * sign * dy, square[1] + 2 * sign * dx)
            target = far if jumping else near
            if not (0 <= target[0] < 8 and 0 <= target[1] < 8) or target in self.pieces:
                continue
            if not jumping or self.pieces.get(near, (side,))[0] != side:
                found[direction] = target
        return found

    def legal(self, side, chain=None):
        """({(square, direction): target}, whether these are jumps)"""
        own = sorted((s for s in self.pieces if self.pieces[s][0] == side), key=lambda s: number(side, s))
        for jumping in (True, False):
            if chain and not jumping:
                break
            ways = {(s, d): t for s in ([chain] if chain else own) for d, t in self.ways(side, s, jumping).items()}
            if ways:
                return ways, jumping
        return {}, False

    def moved(self, square, target, jumping):
        """(the position after one step or jump, whether the piece became a king by it)"""
        pieces = dict(self.pieces)
        side, king = pieces.pop(square)
        if jumping:
            del pieces[(square[0] + target[0]) // 2, (square[1] + target[1]) // 2]
        crowned = not king and target[0] == (0 if side == 0 else 7)
        pieces[target] = (side, king or crowned)
        return Position(pieces), crowned

    def chains(self, side, chain=None):
        """The positions after every whole move."""
        ways, jumping = self.legal(side, chain)
        if chain and not ways:
            return [self]
        found = []
        for (square, _), target in ways.items():
            after, crowned = self.moved(square, target, jumping)
            found += after.chains(side, target) if jumping and not crowned else [after]
        return found

    def material(self, side):
        return sum((5 if king else 3) * (1 if owner == side else -1) for owner, king in self.pieces.values())

    def value(self, side, depth, ply):
        if depth == 0:
            return self.material(side)
        return max((-after.value(1 - side, depth - 1, ply + 1) for after in self.chains(side)), default=ply - 100)

    def men(self, side):
        return {square for square, piece in self.pieces.items() if piece == (side, False)}


class Twin:
    """One world: step(actions) returns the rewards, whether the game ended and how, and what each row saw last."""

    def __init__(self, a, seed):
        self.a, self.random = a, Random(seed)
        self.rows = 2 if a.opponent == "self" else 1
        self.first = 1 - self.random.below(2)
        self.begin()

    def begin(self):
        self.first = self.to_move = 1 - self.first
        self.position, self.chain, self.quiet, self.t = Position(), None, 0, 0
        if self.to_move >= self.rows:
            self.play_bot()

    def play_bot(self):
        side, choices = self.to_move, self.position.chains(self.to_move)
        values = [0] * len(choices)
        at_random = self.random.chance(self.a.bot_epsilon)
        if not at_random and self.a.bot_depth:
            values = [-after.value(1 - side, self.a.bot_depth - 1, 1) for after in choices]
        best = [after for after, value in zip(choices, values, strict=True) if value == max(values)]
        return self.end_move(best[self.random.below(len(best))])

    def end_move(self, after):
        """None, or the result for the side that has moved."""
        side = self.to_move
        busy = len(after.pieces) < len(self.position.pieces) or after.men(side) != self.position.men(side)
        self.quiet = 0 if busy else self.quiet + 1
        self.position, self.chain, self.to_move = after, None, 1 - side
        if not after.legal(1 - side)[0]:
            return side
        return "draw" if self.quiet >= self.a.draw_plies else None

    def legal_actions(self):
        ways, _ = self.position.legal(self.to_move, self.chain)
        return {4 * number(self.to_move, square) + direction: (square, target) for (square, direction), target in ways.items()}

    def mask(self, row):
        allowed = self.legal_actions() if row == self.to_move else [0]
        return [int(action in allowed) for action in range(128)]

    def seen(self, row):
        board = np.zeros(32, np.float32)
        for square, (side, king) in self.position.pieces.items():
            board[number(row, square)] = (1 if side == row else -1) * (0.5 if king else 1)
        chain = [0, 0] if self.chain is None else [1, np.float32(number(row, self.chain)) / np.float32(31)]
        quiet = np.float32(self.quiet) / np.float32(self.a.draw_plies)
        return [*board.tolist(), float(row == self.to_move), *map(float, chain), float(quiet)]

    def step(self, actions):
        rewards, side, winner = np.zeros(2, np.float32), self.to_move, None
        legal = self.legal_actions()
        action = actions[side]
        if action not in legal:
            if self.a.illegal == "lose":
                winner = 1 - side
            else:
                rewards[side] += np.float32(self.a.reward_illegal)
                action = sorted(legal)[self.random.below(len(legal))]
        if winner is None:
            square, target = legal[action]
            jumping = abs(target[0] - square[0]) == 2
            after, crowned = self.position.moved(square, target, jumping)
            if jumping and not crowned and after.ways(side, target, True):
                self.position, self.chain, self.quiet = after, target, 0
            else:
                winner = self.end_move(after)
        if winner is None and self.to_move >= self.rows:
            winner = self.play_bot()
        self.t += 1
        if winner in (0, 1):
            rewards += np.float32([1, -1] if winner == 0 else [-1, 1])
        truncated = winner is None and self.a.max_steps > 0 and self.t >= self.a.max_steps
        finals = [self.seen(row) for row in range(self.rows)]
        if winner is not None or truncated:
            self.begin()
        return rewards[: self.rows].tolist(), winner is not None, truncated, finals


arguments = st.fixed_dictionaries(
    {
        "opponent": st.sampled_from(["bot", "self"]),
        "illegal": st.sampled_from(["random", "random", "lose"]),
        "max_steps": st.sampled_from([0, 0, 0, 1, 25]),
        "bot_depth": st.integers(0, 2),
        "bot_epsilon": st.sampled_from([0.0, 0.2, 1.0]),
        "draw_plies": st.sampled_from([10, 40]),
        "reward_illegal": st.sampled_from([-0.02, 0.5]),
    }
)


@settings(max_examples=30, deadline=None)
@given(arguments, st.integers(0, 2**63), st.sampled_from([0.0, 0.02, 0.5]))
def test_equals_the_slow_twin_in_every_bit(arguments, seed, careless):
    env = Checkers(**arguments)
    assert_equals_two_sided_twin(env, Twin(env.args, seed), seed, careless, 120 if env.args.opponent == "self" else 50)


@pytest.mark.parametrize("agent", [0, 1])
def test_a_cursor_chooses_a_piece_and_where_it_goes(agent):
    env = Checkers(opponent="self")
    for action in range(128):
        row, column = square_of(agent, action // 4)
        dy, dx = DIRECTIONS[action % 4]
        sign = 1 if agent == 0 else -1
        for far in (1, 2):
            y, x = row + sign * far * dy, column + sign * far * dx
            if 0 <= y < 8 and 0 <= x < 8:
                assert env.cursor_action([8 * row + column, 8 * y + x], agent) == action
    assert env.cursor_action([1], agent) is None
    assert env.cursor_action([1, 2], agent) is None


# ---------------------------------------------------------------- baselines


# Bands: the mean measured over 16 seeds of the same run, plus and minus 5 standard errors of one run's mean. That a bot which
# looks 4 moves ahead beats the default one stands in test_checkers.c.


def test_random_play_loses_to_the_default_bot():
    log = play(Checkers(num_envs=256), None, 400)
    assert log["n"] > 1000
    assert log["score"] <= -0.988


def test_random_play_is_even_with_a_random_bot_from_both_seats():
    log = play(Checkers(num_envs=256, bot_depth=0, bot_epsilon=1), None, 400)
    assert log["n"] > 1000
    assert -0.125 <= log["score"] <= 0.118
    assert log["score"] == pytest.approx(log["score_first"] + log["score_second"])
