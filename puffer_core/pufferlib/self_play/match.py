"""Matches between two policies in a game of two sides.

    result = play_match("ocean-connect4", load_policy("runs/a"), load_policy("runs/b"), games=1000, seed=1)
    print(result.score, result.elo_difference)

Seats are shared out evenly: A has side 0 in half of the worlds and side 1 in the others, and every world plays an even number of
games, since Ocean's turn games let the sides begin in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from pufferlib.buffers import Array
from pufferlib.errors import ConfigError
from pufferlib.eval import Actor, RandomActor
from pufferlib.make import make
from pufferlib.self_play import elo
from pufferlib.self_play.vec import score_of
from pufferlib.vector import VecEnv

RANDOM, BOT = "random", "bot"
MOST_WORLDS = 256
Script = Callable[[Array, Array | None], Array]
"""(observations [n, ...], action masks [n, m] or None) -> actions [n, ...]"""
Side = nn.Module | Script | str
"""A policy, a function, `random`, or (as B only) `bot`: the opponent that the game itself has."""


@dataclass
class Tally:
    """Wins, draws and losses of A."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    def add(self, score: float) -> None:
        self.wins += score == 1.0
        self.draws += score == 0.5
        self.losses += score == 0.0

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Wins and half of the draws, as a share of the games; NaN without any."""
        return (self.wins + 0.5 * self.draws) / self.games if self.games else float("nan")


@dataclass
class MatchResult:
    """How A fared against B: in all, and by A's side (0 or 1)."""

    total: Tally = field(default_factory=Tally)
    by_side: tuple[Tally, Tally] = field(default_factory=lambda: (Tally(), Tally()))

    @property
    def score(self) -> float:
        """A's."""
        return self.total.score

    @property
    def elo_difference(self) -> tuple[float, float, float]:
        """A's rating less B's: the estimate, and the ends of its 95 % interval."""
        return (elo.difference(self.score), *elo.difference_interval(self.score, self.total.games))


def play_match(
    env_name: str,
    a: Side,
    b: Side,
    *,
    games: int = 100,
    seed: int = 1,
    env_kwargs: Mapping[str, Any] | None = None,
    deterministic: bool = False,
    device: str = "cpu",
    draw_margin: float = 0.5,
) -> MatchResult:
    """Play `games` games of `env_name` between `a` and `b`.

    games: an even number. env_kwargs: arguments of the env; `opponent` is set here
    deterministic: policies take the likeliest action instead of sampling. draw_margin: see SelfPlayConfig
    The same seed gives the same games. Raises ConfigError if the game has not two sides or `games` is odd.
    """
    if games < 2 or games % 2:
        raise ConfigError(f"games (--games) must be an even number, so that both begin as often, got {games}")
    if a == BOT:
        raise ConfigError("the game's own bot can only be the second of the two: match RUN bot")
    worlds = min(games // 2, MOST_WORLDS)
    opponent = "bot" if b == BOT else "self"
    try:
        env = make(env_name, num_envs=worlds, seed=seed, **{**(env_kwargs or {}), "opponent": opponent})
    except TypeError as error:
        raise ConfigError(f"{env_name}: a match needs a game with opponent='self': {error}") from None
    try:
        if env.agents_per_env != (1 if b == BOT else 2):
            raise ConfigError(f"{env_name}: a match needs two sides a world, it has agents_per_env={env.agents_per_env}")
        table = Table(env, deterministic=deterministic, device=device)
        sides = np.zeros(worlds, np.int64) if b == BOT else np.arange(worlds) % 2
        rows_of_a = env.agents_per_env * np.arange(worlds) + sides
        table.seat(a, rows_of_a, seed)
        if b != BOT:
            table.seat(b, 2 * np.arange(worlds) + 1 - sides, seed + 1)
        return table.play(sides, games, seed, draw_margin)
    finally:
        env.close()


class Table:
    """An env and who plays which of its rows."""

    def __init__(self, env: VecEnv, *, deterministic: bool, device: str) -> None:
        self.env, self.deterministic, self.device = env, deterministic, device
        self.seats: list[tuple[Array, Actor | RandomActor | ScriptActor]] = []

    def seat(self, side: Side, rows: Array, seed: int) -> None:
        """Let `side` play these rows."""
        space, mask_size = self.env.single_action_space, self.env.action_mask_size
        actor: Actor | RandomActor | ScriptActor
        if isinstance(side, nn.Module):
            actor = Actor(side, space, len(rows), deterministic=self.deterministic, seed=seed, device=torch.device(self.device))
        elif side == RANDOM:
            actor = RandomActor(space, len(rows), mask_size, seed)
        elif callable(side):
            actor = ScriptActor(side)
        else:
            raise ConfigError(f"a side must be a policy, a function, 'random' or 'bot', got {side!r}")
        self.seats.append((rows, actor))

    def play(self, sides: Array, games: int, seed: int, draw_margin: float) -> MatchResult:
        """sides: int64[num_envs], A's side in each world."""
        env, result = self.env, MatchResult()
        pairs = games // 2
        quota = 2 * np.array([pairs // env.num_envs + (world < pairs % env.num_envs) for world in range(env.num_envs)])
        lead_of_a, rows_of_a = np.zeros(env.num_envs), self.seats[0][0]
        observations, _ = env.reset(seed=seed)
        actions = np.zeros_like(env.storage.actions[0])
        while quota.any():
            masks = env.storage.action_masks
            for rows, actor in self.seats:
                actions[rows] = actor.act(observations[rows], None if masks is None else masks[0][rows])
            observations, rewards, terminals, truncations, _ = env.step(actions)
            lead_of_a += rewards[rows_of_a]
            if len(self.seats) == 2:
                lead_of_a -= rewards[self.seats[1][0]]
            ended = terminals | truncations
            for world in np.flatnonzero(ended[rows_of_a]):
                if quota[world]:
                    quota[world] -= 1
                    # Against the game's bot only A's rewards are seen; what one side wins the other loses.
                    score = score_of(lead_of_a[world] * (3 - len(self.seats)), draw_margin)
                    result.total.add(score)
                    result.by_side[sides[world]].add(score)
                lead_of_a[world] = 0.0
            for rows, actor in self.seats:
                actor.forget(ended[rows])
        return result


class ScriptActor:
    """A function that plays."""

    def __init__(self, script: Script) -> None:
        self.script = script

    def act(self, observations: Array, action_masks: Array | None = None) -> Array:
        return np.asarray(self.script(observations, action_masks))

    def forget(self, ended: Array) -> None:
        """Nothing is remembered."""
