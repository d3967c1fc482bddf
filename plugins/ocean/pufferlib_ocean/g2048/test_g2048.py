"""What g2048 promises: its rules (checked in C, under sanitizers), equality with a slow twin, and its baseline scores."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib_ocean.g2048 import G2048
from pufferlib_ocean.testing import Random, play, rule_test

UP, RIGHT, DOWN, LEFT = range(4)


test_rule = rule_test(__file__)


# ---------------------------------------------------------------- a slow twin, written from the rules


def slide(line):
    """The line after sliding to its front, and the tiles made."""
    tiles, out, made = [tile for tile in line if tile], [], []
    while tiles:
        tile = tiles.pop(0)
        if tiles and tiles[0] == tile < 17:
            tiles.pop(0)
            tile += 1
            made.append(tile)
        out.append(tile)
    return out + [0] * (len(line) - len(out)), made


class Twin:
    def __init__(self, a, seed):
        self.a, self.random = a, Random(seed)
        self.begin()

    def begin(self):
        self.board = np.zeros((self.a.size, self.a.size), int)
        self.t, self.score = 0, 0
        self.add_tile(), self.add_tile()

    def add_tile(self):
        empty = np.argwhere(self.board == 0)
        y, x = empty[self.random.below(len(empty))]
        self.board[y, x] = 2 if self.random.chance(0.1) else 1

    def slid(self, action):
        """The board after a move, and the tiles made."""
        turned = {UP: self.board.T, DOWN: self.board.T[:, ::-1], LEFT: self.board, RIGHT: self.board[:, ::-1]}[action]
        lines = [slide(line.tolist()) for line in turned]
        after = np.array([line for line, _ in lines])
        after = {UP: after.T, DOWN: after[:, ::-1].T, LEFT: after, RIGHT: after[:, ::-1]}[action]
        return after, [tile for _, made in lines for tile in made]

    def step(self, action):
        before = self.board
        self.board, made = self.slid(action)
        reward = np.float32(self.a.reward_noop)
        if (self.board != before).any():
            reward = np.float32(sum(made)) / np.float32(self.a.goal)
            self.add_tile()
        self.t += 1
        self.score += sum(2**tile for tile in made)
        terminal = all((self.slid(direction)[0] == self.board).all() for direction in range(4))
        truncated = not terminal and self.a.max_steps > 0 and self.t >= self.a.max_steps
        final = self.board.ravel().tolist()
        if terminal or truncated:
            self.begin()
        return self.board.ravel().tolist(), reward, terminal, truncated, final


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 6),
    st.integers(3, 17),
    st.sampled_from([0, 0, 1, 30]),
    st.sampled_from([-0.05, 0.0, 1.5]),
    st.integers(0, 2**63),
    st.floats(0, 1),
)
def test_equals_the_slow_twin_in_every_bit(size, goal, max_steps, reward_noop, seed, in_turn):
    """Actions: the share `in_turn` goes left, up, left, up, which builds high tiles; the others are random."""
    env = G2048(size=size, goal=goal, max_steps=max_steps, reward_noop=reward_noop)
    twin = Twin(env.args, seed)
    assert env.reset(seed=[seed])[0][0].tolist() == twin.board.ravel().tolist()
    rng = np.random.default_rng(seed)
    for t in range(120):
        action = (LEFT, UP)[t % 2] if rng.random() < in_turn else rng.integers(0, 4)
        observation, reward, terminal, truncated, final = twin.step(int(action))
        env.step(np.array([action]))
        assert env.observations[0].tolist() == observation
        assert env.rewards[0] == reward
        assert env.terminals[0] == terminal and env.truncations[0] == truncated
        if terminal or truncated:
            assert env.final_observations[0].tolist() == final


# ---------------------------------------------------------------- baselines


def first_moves(boards):
    """The hand policy: the first of left, up, right, down that changes the board. boards: [rows, 16]"""
    boards = boards.reshape(-1, 4, 4)
    chosen, undecided = np.full(len(boards), LEFT), np.ones(len(boards), bool)
    for action in (LEFT, UP, RIGHT, DOWN):
        lines = {LEFT: boards, RIGHT: boards[:, :, ::-1]}.get(action, boards.transpose(0, 2, 1))
        lines = (lines[:, :, ::-1] if action == DOWN else lines).astype(int)
        gap = (lines[:, :, :-1] == 0) & (lines[:, :, 1:] > 0)
        pair = (lines[:, :, :-1] == lines[:, :, 1:]) & (lines[:, :, 1:] > 0)
        movable = (gap | pair).any(axis=(1, 2))
        chosen[undecided & movable] = action
        undecided &= ~movable
    return chosen


# Bands: the mean measured over 16 seeds of the same run, plus and minus 5 standard errors of one run's mean.


def test_random_play_scores_in_its_band():
    log = play(G2048(num_envs=256), None, 1500)
    assert log["n"] > 2000
    assert 1029 <= log["score"] <= 1127
    assert 134.8 <= log["episode_length"] <= 143.7


def test_the_hand_policy_scores_in_its_band():
    log = play(G2048(num_envs=256), lambda boards, rng: first_moves(boards), 1500)
    assert log["n"] > 1000
    assert 2073 <= log["score"] <= 2404
