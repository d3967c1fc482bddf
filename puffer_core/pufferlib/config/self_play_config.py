"""The settings of self-play: the table `[self_play]`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from pufferlib.errors import ConfigError


@dataclass(kw_only=True)
class SelfPlayConfig:
    """How past snapshots of the policy play one side of a two-player game. See docs/curricula.md, Self-play."""

    enabled: bool = False
    """Train against snapshots. The env must have two agents a world; Ocean's two-player games need --env.opponent self."""
    share: float = 0.5
    """Of the worlds, those in which a snapshot plays one side, whose rows are not learnt from. In the others the policy learns
    from both sides of its games against itself."""
    snapshot_interval: int = 50
    """Rollouts between snapshots."""
    pool_size: int = 16
    """Snapshots kept. When one more comes, the one that loses most goes."""
    active: int = 4
    """Snapshots that begin games at one time, drawn anew after every rollout."""
    pick: Literal["prioritised", "uniform"] = "prioritised"
    """prioritised: those that win more against the policy are drawn more often, by (1 - score)^2 (Vinyals et al. 2019)."""
    elo_k: float = 8.0
    """Most points that a rating moves in one game."""
    draw_margin: float = 0.5
    """A game is a draw where the two sides' returns differ by no more."""

    def __post_init__(self) -> None:
        for name, low, high in (("share", 0, 1), ("elo_k", 0, 1000), ("draw_margin", 0, math.inf)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ConfigError(f"{name} (--self-play.{name.replace('_', '-')}) must be in [{low}, {high:g}], got {value:g}")
        for name in ("snapshot_interval", "pool_size", "active"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} (--self-play.{name.replace('_', '-')}) must be at least 1, got {getattr(self, name)}")
        if self.pick not in ("prioritised", "uniform"):
            raise ConfigError(f"pick (--self-play.pick) must be prioritised or uniform, got {self.pick!r}")
