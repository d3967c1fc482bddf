"""check_env: does an env keep the PufferEnv contract?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from gymnasium.vector.utils import batch_space

from pufferlib.buffers import Array, Buffers
from pufferlib.env import PufferEnv
from pufferlib.errors import CheckError
from pufferlib.makers import env_maker
from pufferlib.vector.seeding import env_seeds

GUARD = 0x5A
"""The byte of the rows around a batch, which nobody may write."""
RESULTS = ("observations", "rewards", "terminals", "truncations", "masks")


def check_env(target: Any, *, num_envs: int = 3, steps: int = 300, seed: int = 0, **kwargs: Any) -> None:
    """Play `steps` random steps of `num_envs` envs and raise CheckError where the contract is broken.

    target: what `pufferlib.emulate` or an EnvSpec's target takes; kwargs go to the env. Checked are: observations inside the
    space; finite rewards; terminal and truncation never both; `final_observations` written exactly in rows whose episode
    ended; no write outside of the batch's own rows, also after the arrays moved; the same seed gives the same bits, for an
    env among others as for one alone; `close` twice.
    """
    maker = env_maker(target, kwargs)
    seeds = env_seeds(seed, num_envs)
    actions = _sample_actions(maker, num_envs, steps, seed)
    first = _play(maker, seeds, actions)
    _compare(first, _play(maker, seeds, actions), "a second run with the same seed and actions")
    rows = actions.shape[1] // num_envs
    alone = _play(maker, seeds[-1:], actions[:, -rows:])
    _compare([{name: part[-rows:] for name, part in step.items()} for step in first], alone, "the last env alone")


def _sample_actions(maker: Callable[..., PufferEnv], num_envs: int, steps: int, seed: int) -> Array:
    env = maker(num_envs=num_envs)
    space = batch_space(env.single_action_space, env.num_agents)
    env.close()
    space.seed(seed)
    return np.stack([space.sample() for _ in range(steps)])


def _play(maker: Callable[..., PufferEnv], seeds: list[int], actions: Array) -> list[dict[str, Array]]:
    """The results of the reset and of every step, checked one by one, in arrays that move at every step."""
    env = maker(num_envs=len(seeds))
    try:
        arenas = [_Arena(env), _Arena(env)]
        env.bind(arenas[0].inner)
        env.reset(list(seeds))
        taken = [arenas[0].results()]
        _check_step(env, arenas[0], 0, None)
        for step, chosen in enumerate(actions, 1):
            arena = arenas[step % 2]
            before = arena.mark_final()
            env.bind(arena.inner)
            env.step(chosen.astype(env.actions.dtype))
            arena.check_guards(step)
            _check_step(env, arena, step, before)
            taken.append(arena.results())
        return taken
    finally:
        env.close()
        env.close()


class _Arena:
    """Arrays with one guard row before and one behind."""

    def __init__(self, env: PufferEnv) -> None:
        rows = env.num_agents
        self.outer = Buffers.allocate(
            env.single_observation_space, env.single_action_space, rows + 2, action_mask_size=env.action_mask_size
        )
        self._arrays = {f.name: getattr(self.outer, f.name) for f in fields(self.outer)}
        for array in self._arrays.values():
            if array is not None:
                for guard in (0, -1):
                    _bytes(array[guard : guard + 1 or None])[:] = GUARD
        self.inner = self.outer[1:-1]

    def results(self) -> dict[str, Array]:
        taken = {name: getattr(self.inner, name).copy() for name in RESULTS}
        ended = self.inner.terminals | self.inner.truncations
        taken["final_observations"] = self.inner.final_observations.copy()
        taken["final_observations"][~ended] = 0
        return taken

    def mark_final(self) -> Array:
        """Fill `final_observations` with a pattern; returns a copy of it."""
        _bytes(self.inner.final_observations)[:] = GUARD
        return self.inner.final_observations.copy()

    def check_guards(self, step: int) -> None:
        for name, array in self._arrays.items():
            if array is not None and not all((_bytes(array[g : g + 1 or None]) == GUARD).all() for g in (0, -1)):
                raise CheckError(f"step {step} wrote outside of the env's own rows of {name}")


def _bytes(array: Array) -> Array:
    return array.view(np.uint8) if array.ndim > 1 and array.shape[-1] else array.reshape(-1).view(np.uint8)


def _check_step(env: PufferEnv, arena: _Arena, step: int, final_before: Array | None) -> None:
    inner = arena.inner
    space = env.single_observation_space
    for row, observation in enumerate(inner.observations):
        if inner.masks[row] and not space.contains(observation):
            raise CheckError(f"step {step}, row {row}: the observation {observation} is not in {space}")
    if not np.isfinite(inner.rewards).all():
        raise CheckError(f"step {step}, row {_first(~np.isfinite(inner.rewards))}: the reward is not finite")
    for name in ("terminals", "truncations", "masks"):
        if (getattr(inner, name).view(np.uint8) > 1).any():
            raise CheckError(f"step {step}: {name} holds bytes that are neither 0 nor 1")
    both = inner.terminals & inner.truncations
    if both.any():
        raise CheckError(f"step {step}, row {_first(both)}: terminal and truncation at once; terminal wins")
    ended = inner.terminals | inner.truncations
    if final_before is None:
        if ended.any() or inner.rewards.any():
            raise CheckError("after reset, rewards and flags must be 0")
        return
    for row in range(len(ended)):
        same = inner.final_observations[row].tobytes() == final_before[row].tobytes()
        if ended[row] and not space.contains(inner.final_observations[row]):
            raise CheckError(f"step {step}, row {row}: the episode ended, but final_observations holds none of {space}")
        if not ended[row] and not same:
            raise CheckError(f"step {step}, row {row}: final_observations was written, but no episode ended")


def _first(rows: Array) -> int:
    return int(np.argmax(rows))


def _compare(one: list[dict[str, Array]], other: list[dict[str, Array]], what: str) -> None:
    for step, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        for name, part in mine.items():
            if part.tobytes() != theirs[name].tobytes():
                differ = [row for row in range(len(part)) if part[row].tobytes() != theirs[name][row].tobytes()]
                raise CheckError(
                    f"{what} gave other {name} in step {step}, row {differ[0]}: {part[differ[0]]} and {theirs[name][differ[0]]}"
                )
