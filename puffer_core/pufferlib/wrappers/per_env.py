"""Wrappers around one env, before it is batched: for what needs the env's own step and reset.

    env = pufferlib.emulate(lambda: ActionRepeat(gymnasium.make("CartPole-v1"), 4), num_envs=64)

They work where Python steps each env anyway. C games have such settings as arguments (`frameskip`, `max_steps`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pufferlib.env import DECLARATIVE, NATIVE, PufferEnv
from pufferlib.errors import ConfigError
from pufferlib.vector.shape import whole


class Wrapper(PufferEnv):
    """Around a Gymnasium env or a PufferEnv of either style, with the API of what is inside; override `reset` and `step`.

    `emulate` treats it as it would treat the innermost env. A wrapper that changes a space sets it after
    `super().__init__(env)`. Around a native-style PufferEnv, `step` and `reset` change the arrays in place: they are shared.
    """

    def __init__(self, env: Any) -> None:
        self.env = env
        names = NATIVE if hasattr(env, NATIVE[0]) else DECLARATIVE
        for name in (*names, "possible_agents", "num_envs", "action_mask_size", "render_mode", "metadata", "spec"):
            if hasattr(env, name):
                setattr(self, name, getattr(env, name))
        super().__init__(getattr(env, "buffers", None))

    @property
    def unwrapped(self) -> Any:
        """The innermost env, also through Gymnasium's wrappers."""
        return getattr(self.env, "unwrapped", self.env)

    def bind(self, buf: Any) -> None:
        self.env.bind(buf)
        super().bind(buf)

    def reset(self, seed: Any = None, **kwargs: Any) -> Any:
        """What the env's own reset returns."""
        if isinstance(self.env, PufferEnv) and not isinstance(self.env, Wrapper):
            return _reset_puffer_env(self.env, seed)
        return self.env.reset(seed=seed, **kwargs)

    def step(self, actions: Any) -> Any:
        """What the env's own step returns."""
        return self.env.step(actions)

    def render(self) -> Any:
        return self.env.render()

    def drain_log(self) -> dict[str, float]:
        return self.env.drain_log() if isinstance(self.env, PufferEnv) else {}

    def close(self) -> None:
        self.env.close()


class ActionRepeat(Wrapper):
    """Takes each action `repeat` times and adds the rewards up; stops at the end of an episode.

    For one env, not for a VecEnv: the rows of a batch that end early would play on in their next episode with the old action.
    """

    def __init__(self, env: Any, repeat: int) -> None:
        super().__init__(env)
        self.repeat = whole("repeat", repeat)
        _refuse_batches(self, "frameskip")

    def step(self, actions: Any) -> Any:
        total: Any = 0.0
        for _ in range(self.repeat):
            result = self.env.step(actions)
            total = _add(total, result[1])
            if any(_over(flag) for flag in result[2:-1]):
                break
        return (result[0], total, *result[2:])


class TimeLimit(Wrapper):
    """Truncates every episode after `max_episode_steps` steps.

    For one env, not for a VecEnv: the env must be reset where it is cut off, and a batch is only ever reset as a whole.
    """

    def __init__(self, env: Any, max_episode_steps: int) -> None:
        super().__init__(env)
        self.max_episode_steps = whole("max_episode_steps", max_episode_steps)
        self._steps = 0
        _refuse_batches(self, "max_steps")

    def reset(self, seed: Any = None, **kwargs: Any) -> Any:
        self._steps = 0
        return super().reset(seed, **kwargs)

    def step(self, actions: Any) -> Any:
        result = self.env.step(actions)
        self._steps += 1
        if self._steps < self.max_episode_steps:
            return result
        if len(result) == 4:  # a declarative env's done: cut off from here on, unless it ended by itself
            observation, reward, done, info = result
            cut = isinstance(info, Mapping) and bool(info.get("TimeLimit.truncated"))
            result = (observation, reward, False if cut else done, False, info)
        observation, reward, terminal, truncation, info = result
        by_agent = isinstance(terminal, Mapping)
        truncation = {**dict.fromkeys(terminal, True), "__all__": True} if by_agent else True
        return observation, reward, terminal, truncation, info


def innermost(env: Any) -> Any:
    """The env inside all of our wrappers, whose kind decides how it is batched."""
    while isinstance(env, Wrapper):
        env = env.env
    return env


def _reset_puffer_env(env: PufferEnv, seed: Any) -> Any:
    """A declarative env's reset may take no seed."""
    import inspect

    return env.reset(seed=seed) if "seed" in inspect.signature(env.reset).parameters else env.reset()


def _refuse_batches(wrapper: Wrapper, argument: str) -> None:
    if hasattr(wrapper.env, NATIVE[0]):
        raise ConfigError(
            f"{type(wrapper).__name__} wraps one env, and {type(innermost(wrapper)).__name__} is a batch that resets its rows "
            f"itself: give it an argument such as {argument}"
        )


def _add(total: Any, reward: Any) -> Any:
    if isinstance(reward, Mapping):
        before = total if isinstance(total, Mapping) else {}
        return {**before, **{agent: before.get(agent, 0.0) + value for agent, value in reward.items()}}
    return total + reward


def _over(flag: Any) -> bool:
    """Whether a flag, or of several agents any, ends an episode."""
    return any(map(bool, flag.values())) if isinstance(flag, Mapping) else bool(flag)
