"""SelfPlayVec: a VecEnv of a two-player game in some of whose worlds a snapshot plays one side.

Nothing of the trainer knows about it: the actions of a snapshot's rows are replaced on their way to the env, and these rows'
masks are 0, so that nothing is learnt from them. Sides, and who plays them, change between games only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from pufferlib.buffers import Array
from pufferlib.errors import ConfigError
from pufferlib.vector import VecEnv
from pufferlib.wrappers.base import Step, VecWrapper

NOBODY = -1


class Player(Protocol):
    """Plays some rows of a VecEnv."""

    def act(self, rows: Array, observations: Array, action_masks: Array | None) -> Array:
        """Actions of these rows. rows: int64[n], observations: [n, ...]"""

    def forget(self, rows: Array) -> None:
        """New games begin in these rows. rows: int64[n]"""


class Game(NamedTuple):
    """A finished game against a snapshot."""

    step: int
    """The snapshot's."""
    score: float
    """The learner's: 1, 0.5 or 0."""


class SelfPlayVec(VecWrapper):
    """env: two agents a world, whose episodes end together. Until `set_players` is called, the learner plays all rows.

    share: of the worlds, those in which a player has one side: world k has one if k < share * num_envs
    draw_margin: a game is a draw where the sides' returns differ by no more
    seed: of who plays which side
    Raises ConfigError if the env has not two agents a world.
    """

    owned = ("actions", "masks")

    def __init__(self, env: VecEnv, *, share: float = 0.5, draw_margin: float = 0.5, seed: int = 0) -> None:
        if env.agents_per_env != 2:
            raise ConfigError(
                f"self-play needs a game of two sides, this env has agents_per_env={env.agents_per_env}; two-player Ocean games "
                f"take opponent='self' (--env.opponent self)"
            )
        self.draw_margin = draw_margin
        self.games: list[Game] = []
        """Finished since the caller last emptied it."""
        self._with_player = np.arange(env.num_envs) < round(share * env.num_envs)
        self._rng = np.random.default_rng([seed, 5])
        self._players: dict[int, Player] = {}
        self._active: list[int] = []
        self._player_of = np.full(env.num_agents, NOBODY, np.int64)
        """[rows]: the step of the snapshot that plays it, or NOBODY: the learner."""
        self._returns = np.zeros(env.num_agents)
        super().__init__(env)

    @property
    def is_opponent(self) -> Array:
        """bool[num_agents]: the rows that snapshots play now."""
        rows: Array = self._player_of != NOBODY
        return rows

    def set_players(self, players: dict[int, Player], active: Sequence[int]) -> None:
        """From now on, games that begin are against one of `active`, keys of `players`; games under way are played to their end.

        players: must hold those that still play, see `playing`
        """
        self._players, self._active = players, list(active)

    def playing(self) -> set[int]:
        """The keys of the players whose games are under way."""
        return set(self._player_of[self.is_opponent].tolist())

    # ------------------------------------------------------------ what VecWrapper asks for

    def _start_step(self, group: int, source: int, target: int) -> None:
        self._moves[group] = (source, target, False)
        rows, outer, inner = self._rows[group], self._views[source][group], self.env._views[source][group]
        inner.actions[...] = outer.actions
        for key in np.unique(self._player_of[rows]):
            if key != NOBODY:
                which = np.flatnonzero(self._player_of[rows] == key)
                masks = None if inner.action_masks is None else inner.action_masks[which]
                inner.actions[which] = self._players[key].act(rows.start + which, inner.observations[which], masks)
        if self.env._require_valid_actions is not None:
            self.env._require_valid_actions(inner.actions, rows.start)
        self.env._start_step(group, source, target)

    def receive(self, step: Step) -> None:
        rows, inner = step.rows, step.inner
        if step.is_reset:
            step.outer.masks[...] = inner.masks
            worlds = np.arange(rows.start // 2, rows.stop // 2)
        else:
            step.outer.masks[...] = inner.masks & (self._player_of[rows] == NOBODY)
            self._returns[rows] += inner.rewards
            ended = (inner.terminals | inner.truncations).reshape(-1, 2).any(axis=1)
            was_played = ended & inner.masks.reshape(-1, 2).all(axis=1)  # not cut off because a worker was replaced
            worlds = rows.start // 2 + np.flatnonzero(ended)
            self._finish_games(rows.start // 2 + np.flatnonzero(was_played))
        if len(worlds):
            self._returns.reshape(-1, 2)[worlds] = 0.0
            self._begin_games(worlds)

    # ------------------------------------------------------------ games

    def _finish_games(self, worlds: Array) -> None:
        for world in worlds:
            for side in (0, 1):
                key = int(self._player_of[2 * world + side])
                if key != NOBODY:
                    lead = self._returns[2 * world + 1 - side] - self._returns[2 * world + side]
                    self.games.append(Game(key, score_of(lead, self.draw_margin)))

    def _begin_games(self, worlds: Array) -> None:
        self._player_of.reshape(-1, 2)[worlds] = NOBODY
        worlds = worlds[self._with_player[worlds]]
        if not self._active or not len(worlds):
            return
        rows = 2 * worlds + self._rng.integers(0, 2, len(worlds))
        self._player_of[rows] = self._rng.choice(self._active, len(worlds))
        for key in np.unique(self._player_of[rows]):
            self._players[key].forget(rows[self._player_of[rows] == key])


def score_of(lead: float, draw_margin: float) -> float:
    """1, 0.5 or 0 for a side whose return is `lead` above the other's."""
    return 0.5 if abs(lead) <= draw_margin else 1.0 if lead > 0 else 0.0
