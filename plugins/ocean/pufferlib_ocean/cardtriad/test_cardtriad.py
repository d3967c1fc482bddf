"""What card triad promises: equality with a slow twin written from its rules, rules by hand, and its baseline scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pufferlib
from pufferlib_ocean.cardtriad import Cardtriad
from pufferlib_ocean.testing import Random, assert_equals_two_sided_twin, play

UP, RIGHT, DOWN, LEFT = range(4)
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))


def neighbours(cell):
    """(direction, cell) of those on the board."""
    x, y = cell % 3, cell // 3
    near = [(d, x + dx, y + dy) for d, (dx, dy) in enumerate(MOVES)]
    return [(d, nx + 3 * ny) for d, nx, ny in near if 0 <= nx < 3 and 0 <= ny < 3]


# ---------------------------------------------------------------- a slow twin, written from the rules


class Twin:
    """One world: step(actions) returns the rewards, whether the game ended and how, and what each row saw last."""

    def __init__(self, a, seed):
        self.a, self.random = a, Random(seed)
        self.rows = 2 if a.opponent == "self" else 1
        self.first, self.scores = 1 - self.random.below(2), []
        self.begin()

    def begin(self):
        self.first = self.to_move = 1 - self.first
        self.board, self.t = {}, 0
        self.hands = [[self.draw_card() for _ in range(5)] for _ in range(2)]
        if self.to_move >= self.rows:
            self.play_bot()

    def draw_card(self):
        for _ in range(21):
            card = [1 + self.random.below(10) for _ in range(4)]
            if 16 <= sum(card) <= 26:
                break
        return card

    def legal(self):
        return [9 * i + c for i, card in enumerate(self.hands[self.to_move]) if card for c in range(9) if c not in self.board]

    def takes(self, card, cell):
        """The cells that the side to move takes by placing a card there."""
        theirs = [(d, n) for d, n in neighbours(cell) if n in self.board and self.board[n][0] != self.to_move]
        return [n for d, n in theirs if self.board[n][1][(d + 2) % 4] < card[d]]

    def place(self, action):
        card, cell = self.hands[self.to_move][action // 9], action % 9
        for taken in self.takes(card, cell):
            self.board[taken] = (self.to_move, self.board[taken][1])
        self.board[cell] = (self.to_move, card)
        self.hands[self.to_move][action // 9] = None
        self.to_move = 1 - self.to_move

    def play_bot(self):
        choices = self.legal()
        if not self.random.chance(self.a.bot_epsilon):
            costs = []
            for action in choices:
                card, cell = self.hands[self.to_move][action // 9], action % 9
                weakness = sum(10 - card[d] for d, n in neighbours(cell) if n not in self.board)
                costs.append((-len(self.takes(card, cell)), weakness))
            choices = [action for action, cost in zip(choices, costs, strict=True) if cost == min(costs)]
        self.place(choices[self.random.below(len(choices))])

    def cards(self, side):
        return sum(owner == side for owner, _ in self.board.values())

    def score(self):
        held = [sum(card is not None for card in hand) for hand in self.hands]
        return self.cards(0) + held[0] - self.cards(1) - held[1]

    def mask(self, row):
        allowed = self.legal() if row == self.to_move else [0]
        return [int(action in allowed) for action in range(45)]

    def seen(self, row):
        def slot(first, card, hidden=False):
            return [first, *([0] * 4 if card is None or hidden else (np.float32(side) / np.float32(10) for side in card))]

        own = [slot(card is not None, card) for card in self.hands[row]]
        other = [slot(card is not None, card, not self.a.open) for card in self.hands[1 - row]]
        empty = (None, None)
        cells = [self.board.get(cell, empty) for cell in range(9)]
        board = [slot(0 if owner is None else 1 if owner == row else -1, card) for owner, card in cells]
        lead = np.float32(self.cards(row) - self.cards(1 - row)) / np.float32(9)
        shown = [x for part in (*own, *other, *board) for x in part]
        return [float(x) for x in (*shown, row == self.to_move, row == self.first, lead)]

    def step(self, actions):
        rewards, side, forfeit = np.zeros(2, np.float32), self.to_move, False
        action, choices = actions[side], self.legal()
        if action not in choices:
            forfeit = self.a.illegal == "lose"
            if not forfeit:
                rewards[side] += np.float32(self.a.reward_illegal)
                action = choices[self.random.below(len(choices))]
        if not forfeit:
            self.place(action)
            if self.to_move >= self.rows and len(self.board) < 9:
                self.play_bot()
        self.t += 1
        terminal = forfeit or len(self.board) == 9
        score = (-10 if side == 0 else 10) if forfeit else self.score()
        if terminal:
            self.scores.append(score)
            rewards += np.float32([np.sign(score), -np.sign(score)])
        truncated = not terminal and self.a.max_steps > 0 and self.t >= self.a.max_steps
        finals = [self.seen(row) for row in range(self.rows)]
        if terminal or truncated:
            self.begin()
        return rewards[: self.rows].tolist(), terminal, truncated, finals


arguments = st.fixed_dictionaries(
    {
        "opponent": st.sampled_from(["bot", "self"]),
        "illegal": st.sampled_from(["random", "random", "lose"]),
        "max_steps": st.sampled_from([0, 0, 0, 1, 3]),
        "bot_epsilon": st.sampled_from([0.0, 0.1, 1.0]),
        "open": st.booleans(),
        "reward_illegal": st.sampled_from([-0.02, 0.5]),
    }
)


@settings(max_examples=50, deadline=None)
@given(arguments, st.integers(0, 2**63), st.sampled_from([0.0, 0.05, 1.0]))
def test_equals_the_slow_twin_in_every_bit(arguments, seed, careless):
    env = Cardtriad(**arguments)
    twin = Twin(env.args, seed)
    assert_equals_two_sided_twin(env, twin, seed, careless, 60)
    log = env.drain_log()
    scores = twin.scores
    if scores and not env.args.max_steps:
        assert log["score"] == pytest.approx(np.mean(scores) if env.num_agents == 1 else 0)
        assert log["score"] == pytest.approx(log["score_first"] + log["score_second"])
        results = np.sign(scores)
        assert log["perf"] == pytest.approx(np.mean((results + 1) / 2) if env.num_agents == 1 else 0.5)


# ---------------------------------------------------------------- rules


def test_a_hand_has_five_cards_of_16_to_26_and_every_side_from_1_to_10():
    observations, _ = Cardtriad(num_envs=2000, seed=1).reset()
    began = observations[:, 96] == 1
    assert 0.45 < began.mean() < 0.55
    own = observations[:, :25].reshape(-1, 5, 5)
    assert (own[:, :, 0] == 1).all()
    tenths = np.rint(own[:, :, 1:] * 10).astype(int)
    assert ((tenths.sum(axis=2) >= 16) & (tenths.sum(axis=2) <= 26)).all()
    assert set(np.unique(tenths)) == set(range(1, 11))
    placed = (observations[:, 50:95].reshape(-1, 9, 5)[:, :, 0] != 0).sum(axis=1)
    assert (placed == np.where(began, 0, 1)).all(), "where it begins, the bot has placed one card"


def test_who_begins_alternates_and_the_beginner_places_five_cards():
    env = Cardtriad(num_envs=64, seed=2)
    observations, _ = env.reset()
    lengths = np.zeros(64, int)
    began = [observations[:, 96].copy()]
    for _ in range(9):
        actions = np.array([np.flatnonzero(mask)[0] for mask in env.action_masks])
        observations, _, terminals, _, _ = env.step(actions)
        lengths += 1
        if terminals.any():
            assert (lengths[terminals] == np.where(env.final_observations[terminals, 96] == 1, 5, 4)).all()
            assert (observations[terminals, 96] == 1 - env.final_observations[terminals, 96]).all()
            lengths[terminals] = 0
    assert set(began[0]) == {0.0, 1.0}


def place(hands, moves):
    """The twin's board after moves (card, cell) in turn with given hands: {cell: owner}."""
    twin = Twin(Cardtriad(opponent="self").args, 0)
    twin.hands, twin.to_move = [[list(card) for card in hand] for hand in hands], 0
    for card, cell in moves:
        twin.place(9 * card + cell)
    return {cell: owner for cell, (owner, _) in twin.board.items()}


def test_the_twin_takes_strictly_smaller_facing_sides_without_chains():
    five, six, weak = [5] * 4, [6] * 4, [1, 1, 6, 1]
    assert place([[five], [five]], [(0, 4), (0, 1)]) == {4: 0, 1: 1}, "equal sides do not take"
    assert place([[five], [six]], [(0, 4), (0, 1)]) == {4: 1, 1: 1}
    assert place([[five], [weak]], [(0, 4), (0, 1)]) == {4: 1, 1: 1}, "a side faces its neighbour: down beats up"
    assert place([[five], [weak]], [(0, 4), (0, 7)]) == {4: 0, 7: 1}
    # 3 is taken by 4, which does not pass it on to 0
    assert place([[five, [1] * 4], [six]], [(0, 3), (0, 8), (1, 0)])[8] == 1
    chain = place([[[9, 9, 9, 9], [1, 1, 1, 1]], [[2, 2, 2, 2], [1, 9, 1, 1]]], [(1, 0), (0, 5), (0, 8), (1, 1)])
    assert chain == {0: 0, 5: 0, 8: 0, 1: 1}, "what the taken card could take stays"
    assert len(neighbours(0)) == len(neighbours(8)) == 2 and len(neighbours(4)) == 4 and len(neighbours(1)) == 3


def test_a_cursor_chooses_a_card_of_ones_own_and_a_cell():
    env = Cardtriad(opponent="self")
    assert len(env.cursor_spots()) == 19
    assert env.cursor_action([9 + 2, 7], 0) == 2 * 9 + 7
    assert env.cursor_action([14 + 2, 7], 1) == 2 * 9 + 7
    assert env.cursor_action([14, 7], 0) is None, "the other's card"
    assert env.cursor_action([7, 9], 0) is None


def test_the_alias_makes_the_same_game():
    env = pufferlib.make("ocean-tripletriad", num_envs=4)
    assert env.single_action_space.n == 45
    env.close()


# ---------------------------------------------------------------- baselines

# Bands: the mean measured over 16 seeds of the same run, plus and minus 5 standard errors of one run's mean. Results are
# wins less losses, 2 * perf - 1.


def result(log):
    assert log["n"] > 1000
    return 2 * log["perf"] - 1


def bot_policy(observations, rng):
    """The hand policy: the bot itself, from what a row sees."""
    actions = []
    for row in observations:
        tenths = np.rint(row * 10).astype(int)
        hand, board = tenths[:25].reshape(5, 5), tenths[50:95].reshape(9, 5)
        best = []
        for card in np.flatnonzero(hand[:, 0]):
            sides = hand[card, 1:]
            for cell in np.flatnonzero(board[:, 0] == 0):
                near = neighbours(cell)
                takes = sum(board[n, 0] < 0 and board[n, 1 + (d + 2) % 4] < sides[d] for d, n in near)
                best.append((-takes, sum(10 - sides[d] for d, n in near if board[n, 0] == 0), rng.random(), 9 * card + cell))
        actions.append(min(best)[3])
    return np.array(actions)


def test_random_play_loses_to_the_default_bot():
    assert -0.847 <= result(play(Cardtriad(num_envs=256), None, 100)) <= -0.794


def test_random_play_is_even_with_a_random_bot():
    assert -0.058 <= result(play(Cardtriad(num_envs=256, bot_epsilon=1), None, 100)) <= 0.058


def test_the_bot_beats_a_random_bot():
    assert 0.84 <= result(play(Cardtriad(num_envs=64, bot_epsilon=1), bot_policy, 80)) <= 0.9
