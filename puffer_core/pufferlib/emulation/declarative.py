"""Declarative PufferEnvs: one env in plain Python, given the API that the batches step.

`reset() -> observation` (or `(observation, info)`; it gets the env's seed if it has a parameter `seed`) and
`step(action) -> (observation, reward, done, info)` or Gymnasium's 5-tuple. In the 4-tuple a done is a terminal, or a
truncation where the info says `"TimeLimit.truncated": True`. With several agents each value is a dict keyed by agent.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from gymnasium import spaces

from pufferlib.buffers import Buffers
from pufferlib.emulation.batch import EmulatedBatch, build_envs
from pufferlib.emulation.checks import blame, five_values
from pufferlib.emulation.multi import MultiAgentBatch
from pufferlib.env import PufferEnv
from pufferlib.errors import EnvValueError, SpaceError

Info = dict[str, Any]


def declarative_batch(factory: Callable[[], PufferEnv], num_envs: int = 1, buf: Buffers | None = None) -> PufferEnv:
    """A batch of declarative PufferEnvs: one row per env, or per env and agent where reset returns a dict keyed by agent."""
    waiting = [SingleAgent(env) for env in build_envs(factory, num_envs)]
    try:
        agents = waiting[0].find_agents()
        if not agents:
            return EmulatedBatch(_one_by_one(waiting), num_envs, buf)
        return MultiAgentBatch(_one_by_one([ManyAgents(single, agents) for single in waiting]), num_envs, buf)
    except BaseException:
        for env in waiting:
            env.close()
        raise


def _one_by_one(envs: list[Any]) -> Callable[[], Any]:
    left = iter(envs)
    return lambda: next(left)


class SingleAgent:
    """Gymnasium's API over a declarative env of one agent."""

    def __init__(self, env: PufferEnv) -> None:
        for name in ("observation_space", "action_space"):
            if not isinstance(getattr(env, name, None), (spaces.Space, dict)):
                raise SpaceError(
                    f"{type(env).__name__} must set {name} in __init__ after super().__init__(buf), with a make_ helper or any "
                    f"gymnasium space; it has {getattr(env, name, None)!r}"
                )
        self.env = env
        self.observation_space: Any = env.observation_space  # type: ignore[attr-defined]
        self.action_space: Any = env.action_space  # type: ignore[attr-defined]
        self.render_mode = env.render_mode
        self._takes_seed = "seed" in inspect.signature(env.reset).parameters
        self._tuples = isinstance(self.observation_space, spaces.Tuple)

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        result = self.env.reset(seed=seed) if self._takes_seed else self.env.reset()
        if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict) and not self._tuples:
            return result[0], result[1]
        return result, {}

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        return five_values(self.env.step(action))

    def render(self) -> Any:
        return self.env.render()

    def close(self) -> None:
        self.env.close()

    def find_agents(self) -> tuple[Any, ...]:
        """The agents in a fixed order: `possible_agents` where the env has it, else as its first observation names them.

        () for an env of one agent.
        """
        if possible := getattr(self.env, "possible_agents", None):
            return tuple(possible)
        if isinstance(self.observation_space, dict):
            return tuple(self.observation_space)
        if isinstance(self.observation_space, spaces.Dict):
            return ()  # a structured observation, not one per agent
        try:
            observation = self.reset(seed=0)[0]
        except Exception as error:
            blame(error, 0, "reset")
        return tuple(observation) if isinstance(observation, dict) else ()


class ManyAgents:
    """PettingZoo's parallel API over a declarative env whose values are dicts keyed by agent."""

    def __init__(self, single: SingleAgent, agents: tuple[Any, ...]) -> None:
        self._single = single
        self.possible_agents = agents
        self.agents = list(agents)
        self.render_mode = single.render_mode

    def observation_space(self, agent: Any) -> Any:
        space = self._single.observation_space
        return space[agent] if isinstance(space, dict) else space

    def action_space(self, agent: Any) -> Any:
        space = self._single.action_space
        return space[agent] if isinstance(space, dict) else space

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Any]:
        observations, infos = self._single.reset(seed=seed, options=options)
        self.agents = [agent for agent in self.possible_agents if agent in observations]
        return observations, infos

    def step(self, actions: dict[Any, Any]) -> tuple[Any, Any, Any, Any, Any]:
        result = self._single.env.step(actions)
        if len(result) == 4:
            observations, rewards, dones, infos = result
            terminals, truncations = self._by_agent(dones, observations), dict.fromkeys(observations, False)
        elif len(result) == 5:
            observations, rewards, terminals, truncations, infos = result
            terminals, truncations = self._by_agent(terminals, observations), self._by_agent(truncations, observations)
        else:
            raise EnvValueError(f"must return (observation, reward, done, info) or 5 values from step(), not {len(result)}")
        self.agents = [agent for agent in self.agents if not terminals.get(agent) and not truncations.get(agent)]
        return observations, rewards, terminals, truncations, infos

    def render(self) -> Any:
        return self._single.render()

    def close(self) -> None:
        self._single.close()

    def _by_agent(self, flags: Any, observations: Any) -> dict[Any, Any]:
        """One flag for all, or a dict that may say `__all__`."""
        if not isinstance(flags, dict):
            return dict.fromkeys(observations, flags)
        if flags.get("__all__"):
            return dict.fromkeys(observations, True)
        return {agent: flag for agent, flag in flags.items() if agent != "__all__"}
