"""The snapshots that a policy plays against, with their ratings.

In a folder each is one file `<global_step>.pt`, written atomically, that `pufferlib.load_policy` and `puffer match` read like a
checkpoint. Which snapshots belong to the pool, and how they are rated, is part of the trainer's checkpoint: a resumed run goes on
with the pool of the checkpoint that it goes on from.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from pufferlib.atomic import replacing
from pufferlib.config.self_play_config import SelfPlayConfig
from pufferlib.errors import CheckpointError
from pufferlib.self_play import elo

if TYPE_CHECKING:
    from pufferlib.train.puffe_rl import PuffeRL

log = logging.getLogger(__name__)
MEMORY = 0.99
"""The share of a snapshot's mean score that outlasts one more game against it: the policy changes, so old games count less."""
LEAST_WEIGHT = 0.01
"""Of a snapshot that always loses, so that it is not forgotten."""


@dataclass
class Snapshot:
    """One past policy. step: its global step, and its name."""

    step: int
    rating: float
    games: int = 0
    score: float = 0.5
    """The learner's recent mean score against it."""


class Pool:
    """At most `config.pool_size` snapshots, oldest first. folder: where their files go; None: they are kept in memory alone."""

    def __init__(self, config: SelfPlayConfig, folder: Path | None = None) -> None:
        self.config, self.folder = config, folder
        self.rating = elo.START
        """The learner's."""
        self.snapshots: list[Snapshot] = []
        self.weights: dict[int, dict[str, Tensor]] = {}
        """By step."""

    def add(self, trainer: PuffeRL) -> Snapshot:
        """Take a snapshot of the trainer's policy, with its rating. Another one goes where there are too many."""
        made = Snapshot(trainer.global_step, self.rating)
        self.snapshots = [old for old in self.snapshots if old.step != made.step]
        if len(self.snapshots) >= self.config.pool_size:
            self._drop(max(self.snapshots, key=lambda old: (old.score, -old.step)))
        self.snapshots.append(made)
        self.weights[made.step] = {k: v.detach().to("cpu", copy=True) for k, v in trainer.policy.state_dict().items()}
        if self.folder is not None:
            self._write(trainer, made)
        return made

    def draw(self, rng: np.random.Generator) -> list[int]:
        """The steps of `config.active` snapshots, drawn with replacement by their weights."""
        if self.config.pick == "uniform":
            weights = np.ones(len(self.snapshots))
        else:
            weights = np.maximum([(1.0 - snapshot.score) ** 2 for snapshot in self.snapshots], LEAST_WEIGHT)
        drawn = rng.choice(len(self.snapshots), self.config.active, p=weights / weights.sum())
        return [self.snapshots[i].step for i in drawn]

    def record(self, step: int, score: float) -> None:
        """The learner has played a game against the snapshot of that step. score: 1, 0.5 or 0, the learner's."""
        for snapshot in self.snapshots:
            if snapshot.step == step:
                self.rating, snapshot.rating = elo.after_game(self.rating, snapshot.rating, score, self.config.elo_k)
                snapshot.games += 1
                snapshot.score += (1 - MEMORY) * (score - snapshot.score)

    def state_dict(self) -> dict[str, Any]:
        return {"rating": self.rating, "snapshots": [asdict(snapshot) for snapshot in self.snapshots]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Undo `state_dict`. Weights are read from the folder; one that is gone or damaged is left out with a warning."""
        self.rating, self.snapshots = float(state["rating"]), []
        known, self.weights = self.weights, {}
        for entry in state["snapshots"]:
            snapshot = Snapshot(**entry)
            weights = known.get(snapshot.step) or self._read(snapshot.step)
            if weights is not None:
                self.snapshots.append(snapshot)
                self.weights[snapshot.step] = weights

    def _drop(self, snapshot: Snapshot) -> None:
        # Its file stays: a run that goes on from an earlier checkpoint plays against it.
        self.snapshots.remove(snapshot)
        del self.weights[snapshot.step]

    def _path(self, step: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{step}.pt"

    def _write(self, trainer: PuffeRL, snapshot: Snapshot) -> None:
        from pufferlib.train.checkpoint import policy_content

        path = self._path(snapshot.step)
        try:
            with replacing(path) as file:
                torch.save(policy_content(trainer), file)
        except OSError as error:
            raise CheckpointError(f"cannot write snapshot {path}: {error}") from error

    def _read(self, step: int) -> dict[str, Tensor] | None:
        from pufferlib.train.checkpoint import read_checkpoint

        if self.folder is None:
            log.warning("the snapshot of step %d was kept in memory alone; going on without it", step)
            return None
        try:
            weights: dict[str, Tensor] = read_checkpoint(self._path(step))["policy"]
        except CheckpointError as error:
            log.warning("%s; going on without this snapshot", error)
            return None
        return weights
