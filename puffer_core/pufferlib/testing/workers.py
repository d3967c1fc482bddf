"""Envs to test a back end by whose envs live in workers: one that counts, and one that goes wrong on purpose."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

NEVER_S = 1e6


class Ticking(gymnasium.Env[Any, Any]):
    """The observation is (steps in this episode, a draw of the own generator); reward 1; ends at `horizon`, or is truncated.

    settings: attributes, such as `horizon`, that are set over the class's own. `info` may be overridden.
    """

    observation_space = spaces.Box(0, 1000, (2,), np.float32)
    action_space = spaces.Discrete(2)
    horizon = 5
    truncates = False

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)
        self.t = 0

    def obs(self) -> Any:
        return np.array([self.t, self.draw], np.float32)

    def info(self) -> dict[str, Any]:
        """What a step says."""
        return {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Its info is the options."""
        super().reset(seed=seed)
        self.t, self.draw = 0, self.np_random.random()
        return self.obs(), dict(options or {})

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.t += 1
        over = self.t >= self.horizon
        return self.obs(), 1.0, over and not self.truncates, over and self.truncates, self.info()


class NeedsTwo(Exception):
    """Cannot be unpickled: it would be rebuilt with one argument."""

    def __init__(self, a: Any, b: Any) -> None:
        super().__init__(f"{a}/{b}")


class Failing(Ticking):
    """Goes wrong as `how` says: init, close (raises there), or in the third step: raise, sigkill, exit, hang, info (one that
    cannot be sent).

    once: a file that it makes before, and that keeps it from doing so again
    """

    how = "sigkill"
    once: str | None = None

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.how == "init":
            raise NeedsTwo("no", "licence")

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.t == 2 and not (self.once and os.path.exists(self.once)):
            if self.once:
                open(self.once, "w").close()
            if self.how == "raise":
                raise NeedsTwo("speed", 3)
            if self.how == "sigkill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "exit":
                os._exit(3)
            if self.how == "hang":
                time.sleep(NEVER_S)
            if self.how == "info":
                return (*super().step(action)[:4], {"hook": lambda: None})
        return super().step(action)

    def close(self) -> None:
        if self.how == "close":
            raise NeedsTwo("close", 1)
