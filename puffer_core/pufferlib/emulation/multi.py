"""MultiAgentBatch: envs with PettingZoo's parallel API (dicts keyed by agent) as one PufferEnv batch.

An env has one row per possible agent, in a fixed order. The row of an agent that has left the game is zero and masked until
the agent joins again or the env is reset, which happens in the step in which its last agent leaves. A row is masked in the
step in which its agent joins, too: what stands there is a first observation, not what an action led to.

An env that has `action_mask_size` says after every reset and step in `action_masks`, a dict, what its agents may do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pufferlib.buffers import Array, Buffers
from pufferlib.emulation.actions import ActionCodec
from pufferlib.emulation.batch import build_envs
from pufferlib.emulation.checks import (
    blame,
    check_rewards,
    flag_value,
    info_value,
    reset_values,
    reward_value,
)
from pufferlib.emulation.codec import ObservationCodec
from pufferlib.emulation.episodes import EpisodeLog
from pufferlib.emulation.observation_check import ObservationCheck
from pufferlib.env import PufferEnv
from pufferlib.errors import EnvValueError, SpaceError

Info = dict[str, Any]


class MultiAgentBatch(PufferEnv):
    """Rows [i * agents, (i + 1) * agents) are env i's. Infos are one dict per env, keyed by agent."""

    def __init__(self, factory: Callable[[], Any], num_envs: int = 1, buf: Buffers | None = None) -> None:
        self.envs = build_envs(factory, num_envs)
        try:
            self.agents = tuple(self.envs[0].possible_agents)
            self._numbers = {agent: number for number, agent in enumerate(self.agents)}
            for index, env in enumerate(self.envs):
                self._check_agents(index, env)
            first = self.envs[0]
            self._observation_codec = ObservationCodec(first.observation_space(self.agents[0]))
            self._action_codec = ActionCodec(first.action_space(self.agents[0]))
        except BaseException:
            self.close()
            raise
        self.num_envs, self.num_agents = num_envs, num_envs * len(self.agents)
        self.single_observation_space = self._observation_codec.box
        self.single_action_space = self._action_codec.space
        self.action_mask_size = int(getattr(first, "action_mask_size", 0))
        self.render_mode = getattr(first, "render_mode", None)
        self.metadata = dict(getattr(first, "metadata", None) or {})
        self._living = np.ones(self.num_agents, np.bool_)
        self._returns = np.zeros(self.num_agents)
        self._lengths = np.zeros(self.num_agents, np.int64)
        self.check = ObservationCheck(self._observation_codec.structure)
        self._log = EpisodeLog()
        super().__init__(buf)

    def unflatten(self, row: Array) -> Any:
        """An agent's own observation, from a row."""
        return self._observation_codec.decode(row)

    def reset(self, seed: Sequence[int] | None = None, options: Info | None = None) -> tuple[Array, list[Info]]:
        """Reset every env, env i with seed[i] where seeds are given."""
        self._clear()
        infos = []
        for index in range(self.num_envs):
            info = self._reset_env(index, None if seed is None else seed[index], options)
            if info:
                infos.append({**info, "env_index": self.first_env + index})
        self.masks[:] = self._living
        self.check(self.observations, len(self.agents), self.first_env, self._living)
        return self.observations, infos

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, list[Info]]:
        """Step every env with the actions of its living agents."""
        choices = self._action_codec.decode(actions, self.first_env * len(self.agents))
        self._clear()
        self.masks[:] = self._living
        if not self._living.all():
            self.observations[~self._living] = 0
        infos = []
        for index in range(self.num_envs):
            info = self._step_env(index, choices)
            if info:
                infos.append({**info, "env_index": self.first_env + index})
        self.check(self.observations, len(self.agents), self.first_env, self._living)
        check_rewards(self.rewards, len(self.agents), self.first_env)
        return self.observations, self.rewards, self.terminals, self.truncations, infos

    def drain_log(self) -> dict[str, float]:
        """Means over the rows' episodes that ended since the last call, and over every number in the infos."""
        return self._log.drain()

    def render(self) -> Any:
        return self.envs[0].render()

    def close(self) -> None:
        """Close every env; one that raises does not keep the others open. What was raised is raised again at the end."""
        envs, self.envs = self.envs, []
        failed: tuple[Exception, int] | None = None
        for index, env in enumerate(envs):
            try:
                env.close()
            except Exception as error:
                failed = failed or (error, index)
        if failed:
            blame(failed[0], self.first_env + failed[1], "close")

    def _clear(self) -> None:
        self.rewards[:] = 0
        self.terminals[:] = self.truncations[:] = False

    def _step_env(self, index: int, choices: Any) -> Info:
        base = index * len(self.agents)
        alive = self._living[base : base + len(self.agents)].tolist()
        rows = {agent: row for row, (agent, lives) in enumerate(zip(self.agents, alive, strict=True), base) if lives}
        try:
            env = self.envs[index]
            result = env.step({agent: choices[row] for agent, row in rows.items()})
            if not isinstance(result, tuple) or len(result) != 5:
                raise EnvValueError("must return five dicts keyed by agent from step()")
            observations, rewards, terminals, truncations, info = result
            self._check_agents_of(observations)
            self._log.add_info(info_value(info))
            playing = dict.fromkeys(env.agents)
            self._lengths[base : base + len(self.agents)] += 1  # of those who do not live it is set when they join
            earned = [reward_value(_of(rewards, agent, "reward")) for agent in rows]
            places = list(rows.values())
            self.rewards[places] = earned
            self._returns[places] += earned
            encode, rows_of_all = self._observation_codec.encode, self.observations
            for agent, row in rows.items():
                terminal, truncation = terminals.get(agent, False), truncations.get(agent, False)
                if terminal is not False or truncation is not False:
                    terminal, truncation = flag_value(terminal, "terminated"), flag_value(truncation, "truncated")
                    truncation = truncation and not terminal
                if agent not in observations and not (terminal or truncation):
                    raise EnvValueError(f"returned no observation for the living agent {agent!r}, only for {list(observations)}")
                rows_of_all[row] = encode(observations[agent]) if agent in observations else 0
                if terminal or truncation:
                    self._end_row(row, terminal, truncation)
                elif agent not in playing:
                    raise EnvValueError(f"took {agent!r} from its agents without terminating or truncating it")
            if len(rows) < len(self.agents):
                ended = {agent for flags in (terminals, truncations) for agent, flag in flags.items() if flag}
                self._add_agents(base, [agent for agent in playing if agent not in rows and agent not in ended], observations)
            return self._after_step(index, info)
        except Exception as error:
            blame(error, self.first_env + index, "step")

    def _end_row(self, row: int, terminal: bool, truncation: bool) -> None:
        self.terminals[row], self.truncations[row] = terminal, truncation
        self.final_observations[row] = self.observations[row]
        self._living[row] = False
        self._log.add_episode(float(self._returns[row]), int(self._lengths[row]))

    def _add_agents(self, base: int, agents: list[Any], observations: dict[Any, Any]) -> None:
        """Those that join, once they observe something."""
        for agent in agents:
            if agent in observations:
                row = base + self._numbers[agent]
                self.observations[row] = self._observation_codec.encode(observations[agent])
                self._living[row] = True
                self._returns[row] = self._lengths[row] = 0

    def _after_step(self, index: int, info: Info) -> Info:
        """Reset the env once no agent is left."""
        base = index * len(self.agents)
        if self._living[base : base + len(self.agents)].any():
            self._write_action_masks(index)
            return info
        begun = self._reset_env(index, None, None)
        return {**begun, "final_info": dict(info)}

    def _reset_env(self, index: int, seed: int | None, options: Info | None) -> Info:
        base = index * len(self.agents)
        env = self.envs[index]
        try:
            observations, info = reset_values(env.reset(seed=seed) if options is None else env.reset(seed=seed, options=options))
            self._check_agents_of(observations)
            if not observations:
                raise EnvValueError("returned no agent's observation from reset()")
            for k, agent in enumerate(self.agents):
                living = agent in observations
                self.observations[base + k] = self._observation_codec.encode(observations[agent]) if living else 0
                self._living[base + k] = living
            self._write_action_masks(index)
        except Exception as error:
            blame(error, self.first_env + index, "reset")
        rows = slice(base, base + len(self.agents))
        self._returns[rows] = self._lengths[rows] = 0
        return info

    def _write_action_masks(self, index: int) -> None:
        """All ones in the rows of agents of whom nothing is said."""
        if self.action_masks is None:
            return
        base, masks = index * len(self.agents), self.envs[index].action_masks
        for row, agent in enumerate(self.agents, base):
            self.action_masks[row] = masks.get(agent, 1)

    def _check_agents_of(self, observations: Any) -> None:
        if not isinstance(observations, dict):
            raise EnvValueError(f"returned a {type(observations).__name__} as observations, expected a dict keyed by agent")
        unknown = [agent for agent in observations if agent not in self._numbers]
        if unknown:
            raise EnvValueError(f"returned an observation for {unknown[0]!r}, which is none of its agents {list(self.agents)}")

    def _check_agents(self, index: int, env: Any) -> None:
        if tuple(env.possible_agents) != self.agents:
            raise SpaceError(f"env {index} has agents {list(env.possible_agents)}, unlike env 0 with {list(self.agents)}")
        for name in ("observation_space", "action_space"):
            wanted = getattr(self.envs[0], name)(self.agents[0])
            for agent in self.agents:
                space = getattr(env, name)(agent)
                if space != wanted:
                    raise SpaceError(
                        f"agents {self.agents[0]!r} and {agent!r} of env {index} differ in {name}: {wanted} and {space}; "
                        f"all agents must have one space: pad the smaller ones in the env"
                    )


def _of(values: Any, agent: Any, what: str) -> Any:
    if agent not in values:
        raise EnvValueError(f"returned no {what} for the living agent {agent!r}; it returned {list(values)}")
    return values[agent]
