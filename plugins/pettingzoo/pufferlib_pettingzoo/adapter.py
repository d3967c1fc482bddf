"""PettingZoo envs as MultiAgentBatches: an adapter gives all agents of an env one space and tells their action masks.

The batch itself, in `pufferlib.emulation.multi`, knows rows, deaths, births, masks and resets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pufferlib.buffers import Buffers
from pufferlib.emulation.multi import MultiAgentBatch
from pufferlib.errors import ConfigError, SpaceError
from pufferlib_pettingzoo.masks import MaskRows
from pufferlib_pettingzoo.seats import Seats
from pufferlib_pettingzoo.spaces import MASK, AgentSpaces, head_sizes, joint_space, without_mask
from pufferlib_pettingzoo.turns import Turns, as_parallel


def pettingzoo_batch(
    factory: Callable[[], Any],
    num_envs: int = 1,
    buf: Buffers | None = None,
    *,
    pad: bool = False,
    action_masks: bool = True,
    max_agents: int | None = None,
    joint_observation_space: Any = None,
    joint_action_space: Any = None,
) -> MultiAgentBatch:
    """A batch of `num_envs` envs, ParallelEnv or AECEnv: one row per env and possible agent.

    pad: agents with smaller spaces than others get zeros behind their observations, and masks over the actions they lack
    action_masks: False leaves masks where the env puts them, and gives none
    max_agents: rows per env, for envs that do not know their possible agents: agents take a row each as they come
    joint_observation_space, joint_action_space: for these, what holds every agent's space (action masks left out)
    Raises SpaceError if the agents' spaces differ, naming two of them.
    """
    if max_agents is not None and (not isinstance(max_agents, int) or max_agents < 1):
        raise ConfigError(f"max_agents must be a whole number of at least 1, got {max_agents!r}")

    def adapted() -> Any:
        env = as_parallel(factory())
        try:
            adapter = Adapter(env, pad, action_masks, max_agents is not None, joint_observation_space, joint_action_space)
            return adapter if max_agents is None else Seats(adapter, max_agents)
        except BaseException:
            env.close()
            raise

    return MultiAgentBatch(adapted, num_envs, buf)


class Adapter:
    """PettingZoo's parallel API with one space for all agents.

    `action_masks` holds, after reset and step, the mask rows of the agents that are to act: from `observation["action_mask"]`,
    else from `info["action_mask"]`, both of which are taken out. `action_mask_size` is 0 where actions are Boxes.
    """

    def __init__(
        self, env: Any, pad: bool, masked: bool, probe: bool, joint_observation_space: Any = None, joint_action_space: Any = None
    ) -> None:
        self.env = env
        self.metadata = env.metadata
        self.render_mode = getattr(env, "render_mode", None)
        self._is_dynamic, self._is_turns = probe, isinstance(env, Turns)
        if probe:
            env.reset()
        elif not getattr(env, "possible_agents", None):
            raise SpaceError(
                f"{type(getattr(env, 'unwrapped', env)).__name__} has no possible_agents, so it is not known who may come; give "
                f"max_agents, the number of rows for those who are there at one time"
            )
        self.possible_agents = tuple(env.agents if probe else env.possible_agents)
        self._masked = masked
        self._has_mask: dict[Any, bool] = {}
        observation_spaces = {agent: self._own_observation_space(agent) for agent in self.possible_agents}
        action_spaces = {agent: env.action_space(agent) for agent in self.possible_agents}
        if joint_observation_space is not None:
            observation_spaces["joint_observation_space"] = joint_observation_space
        if joint_action_space is not None:
            action_spaces["joint_action_space"] = joint_action_space
        self.joint_observation_space = joint_space(observation_spaces, "observation_space", pad)
        self.joint_action_space = joint_space(action_spaces, "action_space", pad)
        self._heads = head_sizes(self.joint_action_space) if masked else []
        self.action_mask_size = sum(self._heads)
        self.agents: list[Any] = []
        """Who is in the game."""
        self.action_masks: dict[Any, Any] = {}
        self._agents: dict[Any, tuple[AgentSpaces, MaskRows | None]] = {}
        for agent in self.possible_agents:
            self._agent(agent)

    def observation_space(self, agent: Any) -> Any:
        return self.joint_observation_space

    def action_space(self, agent: Any) -> Any:
        return self.joint_action_space

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        result = self.env.reset(seed=seed) if options is None else self.env.reset(seed=seed, options=options)
        if not isinstance(result, tuple) or len(result) != 2:
            return result  # the batch refuses it
        if self._is_dynamic:
            self._agents.clear()  # another agent may have an old one's name
        return self._translated(*result)

    def step(self, actions: Mapping[Any, Any]) -> Any:
        result = self.env.step({agent: self._agent(agent)[0].own_action(action) for agent, action in actions.items()})
        if not isinstance(result, tuple) or len(result) != 5:
            return result
        observations, infos = self._translated(result[0], result[4])
        return observations, *result[1:4], infos

    def render(self) -> Any:
        return self.env.render()

    def close(self) -> None:
        self.env.close()

    def _translated(self, observations: Any, infos: Any) -> tuple[Any, Any]:
        """Observations in the joint space, and those infos that say something; the action masks are kept."""
        self.agents = list(self.env.agents)
        if not isinstance(observations, Mapping) or not isinstance(infos, Mapping):
            return observations, infos
        self.action_masks = {}
        playing, mover = set(self.agents), self.env.mover if self._is_turns else None
        seen, agents = {}, self._agents
        for agent, observation in observations.items():
            if agent not in playing and agent not in agents:
                seen[agent] = observation  # the batch refuses it
                continue
            spaces, rows = agents[agent] if agent in agents else self._agent(agent)
            mask = None
            if self._has_mask[agent] and isinstance(observation, Mapping):
                mask, observation = _split(observation)
            seen[agent] = spaces.fit(observation)
            if rows is not None and agent in playing:
                info = infos.get(agent)
                if mask is None and isinstance(info, Mapping):
                    mask = info.get(MASK)
                if mover is not None and agent != mover:
                    self.action_masks[agent] = rows.first_only
                else:
                    self.action_masks[agent] = rows.all if mask is None else rows.row(mask)
        return seen, {agent: said for agent, info in infos.items() if (said := self._without_mask(info)) or said is None}

    def _without_mask(self, info: Any) -> Any:
        if self._heads and isinstance(info, Mapping) and MASK in info:
            return {key: value for key, value in info.items() if key != MASK}
        return info

    def _agent(self, agent: Any) -> tuple[AgentSpaces, MaskRows | None]:
        if agent not in self._agents:
            observation_space, action_space = self._own_observation_space(agent), self.env.action_space(agent)
            spaces = AgentSpaces(agent, observation_space, action_space, self.joint_observation_space, self.joint_action_space)
            rows = MaskRows(agent, head_sizes(action_space), self._heads) if self._heads else None
            self._agents[agent] = spaces, rows
        return self._agents[agent]

    def _own_observation_space(self, agent: Any) -> Any:
        space, self._has_mask[agent] = self.env.observation_space(agent), False
        if self._masked:
            space, self._has_mask[agent] = without_mask(space, self.env.action_space(agent), agent)
        return space


def _split(observation: Mapping[Any, Any]) -> tuple[Any, Any]:
    """The mask, None where it is missing, and the rest."""
    if len(observation) == 2 and MASK in observation and "observation" in observation:
        return observation[MASK], observation["observation"]
    rest = {key: value for key, value in observation.items() if key != MASK}
    return observation.get(MASK), rest["observation"] if set(rest) == {"observation"} else rest
