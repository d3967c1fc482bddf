"""Crafter (Hafner 2022, "Benchmarking the Spectrum of Agent Capabilities") with Gymnasium's API.

What the package leaves open is settled here: which ends are deaths, what a seed repeats, and what goes into the log.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from pufferlib import LegacyGym
from pufferlib.buffers import Buffers
from pufferlib.emulation.gymnasium import GymnasiumBatch
from pufferlib.errors import ConfigError, EnvError

Info = dict[str, Any]
ACHIEVEMENT = "achievement/"


def crafter_batch(factory: Callable[[], Any], num_envs: int = 1, buf: Buffers | None = None) -> GymnasiumBatch:
    """A batch of Crafter envs, made by Crafter(...) or crafter.Env(...)."""

    def adapted() -> Crafter:
        env = factory()
        return env if isinstance(env, Crafter) else Crafter.around(env)

    return GymnasiumBatch(adapted, num_envs, buf)


def crafter_score(log: Mapping[str, float]) -> float:
    """exp(mean(ln(1 + s))) - 1 over the success rates s in percent (section 3.3 of the paper), from a log of many episodes.

    log: what `drain_log()` returned, or a run's metrics: its names that end in `achievement/<name>` hold rates of 0 to 1
    Raises ValueError where there are none.
    """
    rates = [rate for name, rate in log.items() if ACHIEVEMENT in name]
    if not rates:
        raise ValueError(f"log has no {ACHIEVEMENT}<name>: no episode of Crafter has ended in it")
    return math.expm1(sum(math.log1p(100 * rate) for rate in rates) / len(rates))


class Crafter(LegacyGym):
    """One Crafter env: uint8[height, width, 3], 17 actions.

    area, view: cells of the world and cells seen; size: pixels of an observation; all as (width, height)
    length: steps until an episode is cut; None never cuts
    reward: False gives 0 always; the achievements still go into the log
    step_info: every step's info holds all that Crafter says (inventory, semantic map, position, ...), not only the last one's
    frame_size: pixels of what `render` draws

    `reset(seed=s)` repeats the worlds, and all that happens in them: Crafter itself keeps creatures in sets, whose order is
    another one in each process. The last step's info has `achievement/<name>`, 1.0 or 0.0, and `achievements`, their number.
    """

    def __init__(
        self,
        *,
        area: Sequence[int] = (64, 64),
        view: Sequence[int] = (9, 9),
        size: Sequence[int] = (64, 64),
        length: int | None = 10_000,
        reward: bool = True,
        step_info: bool = False,
        frame_size: Sequence[int] = (576, 576),
        render_mode: str | None = None,
    ) -> None:
        for name, numbers in (("area", area), ("view", view), ("size", size), ("frame_size", frame_size)):
            if len(numbers) != 2 or min(numbers) < 1:
                raise ConfigError(f"{name} must be two numbers of at least 1, got {numbers!r}")
        settings = {"area": tuple(area), "view": tuple(view), "size": tuple(size), "length": length, "reward": reward}
        self._build(_crafter().Env(**settings), step_info, tuple(frame_size), render_mode)

    @classmethod
    def around(cls, env: Any) -> Crafter:
        """The same around a `crafter.Env`."""
        made = cls.__new__(cls)
        made._build(env, False, (576, 576), None)
        return made

    def _build(self, env: Any, step_info: bool, frame_size: tuple[int, ...], render_mode: str | None) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ConfigError(
                f"render_mode must be 'rgb_array', got {render_mode!r}: `puffer eval --render human` opens a window"
            )
        width, height = env._size  # Crafter's own space has them the other way round
        super().__init__(env, observation_space=spaces.Box(0, 255, (height, width, 3), np.uint8), render_mode="rgb_array")
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": 10}
        self._step_info, self._frame_size = step_info, frame_size
        _keep_order(env._world)

    def seed(self, seed: int) -> None:
        """Begin the sequence of worlds that belongs to the seed; each is drawn from it and the episode's number."""
        self.env._seed, self.env._episode = seed, 0

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        observation, reward, done, info = self.env.step(action)
        died = done and info["discount"] == 0  # both may be: the last step before the limit can be deadly
        if not done:
            return observation, reward, False, False, info if self._step_info else {}
        unlocked = {name: float(count > 0) for name, count in info["achievements"].items()}
        said: Info = {f"{ACHIEVEMENT}{name}": flag for name, flag in unlocked.items()}
        said["achievements"] = sum(unlocked.values())
        return observation, reward, died, not died, {**info, **said} if self._step_info else said

    def render(self) -> Any:
        """uint8[height, width, 3], of `frame_size`."""
        return self.env.render(self._frame_size)


class Ordered(dict[Any, None]):
    """A set that is gone through in the order in which its members came."""

    def add(self, member: Any) -> None:
        self[member] = None

    def remove(self, member: Any) -> None:
        del self[member]


def _keep_order(world: Any) -> None:
    """Let a world keep its creatures in order, from its next reset on."""
    reset = world.reset

    def ordered_reset(seed: int | None = None) -> None:
        reset(seed)
        world._chunks = defaultdict(Ordered)

    world.reset = ordered_reset


def _crafter() -> Any:
    try:
        import crafter
    except ImportError as error:
        raise EnvError(f"Crafter cannot be imported ({error}): pip install 'pufferlib[crafter]'") from error
    return crafter
