"""Callbacks: objects that a trainer tells what it has just done.

    class StopWhenSolved(Callback):
        def on_epoch(self, trainer):
            if trainer.recent_episodes.get("perf", 0) > 0.95:
                trainer.stop()

    PuffeRL(env, policy, callbacks=[StopWhenSolved()])

One iteration calls, of every callback in the order in which they were given: `on_rollout`, then `on_update` after each step of
the optimizer, then `on_epoch`; `on_log` follows whenever a row of metrics is made. `on_start` comes before the first rollout of
a trainer (also of a resumed one), `on_end` when it is closed. An error in one of them ends training with a CallbackError that
names the callback.
"""

from __future__ import annotations

import importlib
import logging
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pufferlib.errors import CallbackError, ConfigError

if TYPE_CHECKING:
    from pufferlib.train.losses import Losses
    from pufferlib.train.puffe_rl import PuffeRL

log = logging.getLogger(__name__)


class Callback:
    """Override what you need. A trainer's public attributes and methods are at your service: `set_settings`, `set_env_arguments`,
    `learning_rate`, `recent_episodes`, `stop`, `save_checkpoint` ...
    """

    run_dir: Path | None = None
    """The run's directory, where there is one: set before checkpoints are loaded."""

    def on_start(self, trainer: PuffeRL) -> None:
        """Before the trainer's first rollout."""

    def on_rollout(self, trainer: PuffeRL) -> None:
        """A rollout was collected (`trainer.rollout`), from which nothing was learnt yet."""

    def on_update(self, trainer: PuffeRL, losses: Losses) -> None:
        """A minibatch was learnt from. losses: tensors on the trainer's device; reading a number off them costs time on a GPU."""

    def on_epoch(self, trainer: PuffeRL) -> None:
        """A rollout was learnt from; `trainer.epoch` counts it."""

    def on_log(self, trainer: PuffeRL, row: dict[str, float]) -> None:
        """A row of metrics is made: add to it, under names such as `curriculum/level`."""

    def on_end(self, trainer: PuffeRL) -> None:
        """The trainer is being closed."""

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint is to hold: numbers, text, lists, dicts and tensors."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Undo `state_dict`, when a checkpoint is loaded."""


class Callbacks:
    """All callbacks of one trainer."""

    def __init__(self, callbacks: Iterable[Callback]) -> None:
        self.all = list(callbacks)
        for callback in self.all:
            if not isinstance(callback, Callback):
                raise ConfigError(f"callbacks must be instances of pufferlib.Callback, got {callback!r}")
        self.names = [f"{i}/{type(callback).__name__}" for i, callback in enumerate(self.all)]
        self.listens_to_updates = any(type(callback).on_update is not Callback.on_update for callback in self.all)
        self._started = False

    def set_run_dir(self, path: Path) -> None:
        """Where callbacks may write."""
        for callback in self.all:
            callback.run_dir = path

    def start(self, trainer: PuffeRL) -> None:
        """Once."""
        if not self._started:
            self._started = True
            self.call("on_start", trainer)

    def end(self, trainer: PuffeRL) -> None:
        """Once, and only after a start."""
        if self._started:
            self._started = False
            self.call("on_end", trainer)

    def call(self, method: str, *arguments: Any) -> None:
        """Call one method of each. Raises CallbackError for whatever goes wrong in it."""
        for callback in self.all:
            try:
                getattr(callback, method)(*arguments)
            except Exception as error:
                raise CallbackError(f"callback {type(callback).__name__}, {method}(): {describe(error)}") from error

    def state_dict(self) -> dict[str, Any]:
        """By place and class."""
        return {name: dict(callback.state_dict()) for name, callback in zip(self.names, self.all, strict=True)}

    def load_state_dict(self, states: Mapping[str, Any]) -> None:
        """Callbacks that a checkpoint does not know start anew."""
        for name, callback in zip(self.names, self.all, strict=True):
            if name in states:
                callback.load_state_dict(states[name])
            elif callback.state_dict():
                log.warning("the checkpoint holds no state of callback %s, only of %s", name, ", ".join(states) or "none")


def describe(error: Exception) -> str:
    """Type, message and the line that raised."""
    line = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(line.filename).name}:{line.lineno})"


def load_callbacks(paths: Iterable[str]) -> list[Callback]:
    """What each `module:Name` names: a Callback, its class or a function that makes one. Raises ConfigError."""
    made: list[Callback] = []
    for path in paths:
        module, colon, name = path.partition(":")
        try:
            if not colon:
                raise ImportError("it is not of the form module:Name")
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise ConfigError(f"--callback {path}: cannot be imported: {error}") from None
        try:
            callback = found if isinstance(found, Callback) or not callable(found) else found()
        except Exception as error:
            raise ConfigError(f"--callback {path}: cannot be made: {describe(error)}") from error
        if not isinstance(callback, Callback):
            raise ConfigError(
                f"--callback {path}: must be a pufferlib.Callback, its class or a function that makes one, got {found!r}"
            )
        made.append(callback)
    return made
