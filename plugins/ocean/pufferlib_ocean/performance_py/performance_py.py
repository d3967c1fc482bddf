"""Performance in Python (sanity): the slow twin of `performance`, to measure worker processes."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from pufferlib import PufferEnv
from pufferlib.buffers import Array, Buffers
from pufferlib.errors import ConfigError

MASK64 = 2**64 - 1


class PerformancePy(PufferEnv):
    """One world. The arguments, observations and episodes are those of `pufferlib_ocean.performance`."""

    def __init__(
        self,
        work: int = 1000,
        spread: float = 0.0,
        obs_size: int = 64,
        max_steps: int = 100,
        seed: int | None = None,
        buf: Buffers | None = None,
    ) -> None:
        for name, value, low, high in (
            ("work", work, 0, 10**7),
            ("spread", spread, 0, 1),
            ("obs_size", obs_size, 1, 65536),
            ("max_steps", max_steps, 0, 10**9),
        ):
            if not low <= value <= high:
                raise ConfigError(f"performance_py: {name} must be in [{low}, {high}], got {value}")
        self.work, self.spread, self.max_steps = work, np.float32(spread), max_steps
        self.single_observation_space = Box(-1, 1, (obs_size,), np.float32)
        self.single_action_space = Discrete(2)
        self.num_agents = 1
        super().__init__(buf)
        self.random = Pcg32(secrets.randbits(31) if seed is None else seed)

    def reset(self, seed: int | list[int] | None = None) -> tuple[Array, list[dict[str, Any]]]:
        if seed is not None:
            self.random = Pcg32(seed if isinstance(seed, int) else seed[0])
        self._begin_episode()
        self.rewards[:], self.terminals[:], self.truncations[:], self.masks[:] = 0, False, False, True
        self._observe(self.observations)
        return self.observations, []

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, list[dict[str, Any]]]:
        work = self.work
        if self.spread > 0:
            low, high = np.float32(1) - self.spread, np.float32(1) + self.spread
            work = int(np.float32(work) * (low + (high - low) * self.random.uniform()))
        for _ in range(work):
            self.last = self.random.u32()
        self.t += 1
        infos: list[dict[str, Any]] = []
        self.rewards[:], self.terminals[:], self.masks[:] = 0, False, True
        self.truncations[:] = self.max_steps > 0 and self.t >= self.max_steps
        if self.truncations[0]:
            self._observe(self.final_observations)
            infos.append({"score": 0.0, "perf": 0.0})
            self._begin_episode()
        self._observe(self.observations)
        return self.observations, self.rewards, self.terminals, self.truncations, infos

    def _begin_episode(self) -> None:
        self.t = self.last = 0

    def _observe(self, rows: Array) -> None:
        rows[:] = 0
        rows[0, 0] = self.last * 2.0**-32


class Pcg32:
    """The random numbers of `puffer_env.h`: PCG32 (O'Neill 2014), seeded by two SplitMix64 outputs."""

    def __init__(self, seed: int) -> None:
        outputs = []
        for k in (1, 2):
            z = (seed + k * 0x9E3779B97F4A7C15) & MASK64
            z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK64
            z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK64
            outputs.append(z ^ z >> 31)
        self.state, self.increment = outputs[0], outputs[1] | 1

    def u32(self) -> int:
        old = self.state
        self.state = (old * 6364136223846793005 + self.increment) & MASK64
        shifted, turn = ((old >> 18 ^ old) >> 27) & 0xFFFFFFFF, old >> 59
        return (shifted >> turn | shifted << (32 - turn & 31)) & 0xFFFFFFFF

    def uniform(self) -> np.float32:
        return np.float32((self.u32() >> 8) * 2.0**-24)
