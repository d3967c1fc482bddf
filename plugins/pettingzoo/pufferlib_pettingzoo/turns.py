"""Turns: PettingZoo's AEC API, in which agents move one after the other, as its parallel API.

One step is one move: the action of the agent whose turn it is reaches the env, the others' are ignored. All agents observe
after every move, and a reward counts in the step in which it arises, so that the loser of a game learns of it as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pufferlib.errors import EnvValueError


def as_parallel(env: Any) -> Any:
    """The env with the parallel API. PettingZoo's own conversion is used where the env says that it is exact."""
    from pettingzoo.utils.conversions import aec_to_parallel
    from pettingzoo.utils.env import AECEnv

    if not isinstance(env, AECEnv):
        return env
    return aec_to_parallel(env) if env.metadata.get("is_parallelizable") else Turns(env)


class Turns:
    """`mover` is the agent whose turn it is, `agents` are those in the game.

    Attributes of the env are read as seldom as can be: PettingZoo's wrappers pass each on from one to the next.
    """

    def __init__(self, env: Any) -> None:
        self.env = env
        self.metadata = env.metadata
        self.render_mode = getattr(env, "render_mode", None)
        self.mover: Any = None
        self.agents: list[Any] = []
        if hasattr(env, "possible_agents"):
            self.possible_agents = env.possible_agents

    def observation_space(self, agent: Any) -> Any:
        return self.env.observation_space(agent)

    def action_space(self, agent: Any) -> Any:
        return self.env.action_space(agent)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        self.env.reset(seed=seed, options=options)
        self._go_on()
        return self._observe(), dict(self.env.infos)

    def step(self, actions: Mapping[Any, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """Move the agent whose turn it is."""
        env = self.env
        if self.mover not in actions:
            raise EnvValueError(f"selected {self.mover!r} to move, which is none of its living agents {list(actions)}")
        env.step(actions[self.mover])
        agents = list(env.agents)
        rewards, terminals, truncations, infos = (
            {agent: values[agent] for agent in agents} for values in (env.rewards, env.terminations, env.truncations, env.infos)
        )
        last = {agent: env.observe(agent) for agent in agents if terminals[agent] or truncations[agent]}
        self._go_on()
        # The living observe after that: PettingZoo checks a move against the mask that its agent saw last.
        return {**last, **self._observe()}, rewards, terminals, truncations, infos

    def render(self) -> Any:
        return self.env.render()

    def close(self) -> None:
        self.env.close()

    def _observe(self) -> dict[Any, Any]:
        observe = self.env.observe
        return {agent: observe(agent) for agent in self.agents}

    def _go_on(self) -> None:
        """Take the dead out of the game, as AEC asks for: each steps once more, with None."""
        env, self.mover = self.env, None
        while True:
            self.agents = list(env.agents)
            if not self.agents:
                return
            agent = env.agent_selection
            if not (env.terminations[agent] or env.truncations[agent]):
                self.mover = agent
                return
            env.step(None)
            if len(env.agents) >= len(self.agents):
                raise EnvValueError(f"kept {agent!r} among its agents after that had ended and was stepped with None")
