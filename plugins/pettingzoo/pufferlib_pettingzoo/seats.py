"""Seats: rows for agents that are not known beforehand. Each takes the lowest free seat when it comes, until its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pufferlib.errors import EnvError


class Seats:
    """The parallel API with the agents seat_0 .. seat_{n - 1}. Infos keep the agents' own names."""

    def __init__(self, env: Any, count: int) -> None:
        self.env = env
        self.metadata, self.render_mode = env.metadata, env.render_mode
        self.action_mask_size = env.action_mask_size
        self.possible_agents = tuple(f"seat_{number}" for number in range(count))
        self._seats: dict[Any, str] = {}
        """Who sits where."""

    @property
    def agents(self) -> list[str]:
        """The seats that are taken."""
        return [self._seats[agent] for agent in self.env.agents if agent in self._seats]

    @property
    def action_masks(self) -> dict[str, Any]:
        return self._by_seat(self.env.action_masks)

    def observation_space(self, seat: Any) -> Any:
        return self.env.joint_observation_space

    def action_space(self, seat: Any) -> Any:
        return self.env.joint_action_space

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        observations, infos = self.env.reset(seed=seed, options=options)
        self._seats = {}
        self._admit(observations)
        return self._by_seat(observations), infos

    def step(self, actions: Mapping[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """Seats of agents that end are free from the next step on."""
        moves = {agent: actions[seat] for agent, seat in self._seats.items() if seat in actions}
        observations, rewards, terminals, truncations, infos = self.env.step(moves)
        self._seats = {agent: self._seats[agent] for agent in moves}
        ended = {agent for flags in (terminals, truncations) for agent, flag in flags.items() if flag}
        self._admit([agent for agent in observations if agent not in ended])
        by_seat = self._by_seat
        return by_seat(observations), by_seat(rewards), by_seat(terminals), by_seat(truncations), infos

    def render(self) -> Any:
        return self.env.render()

    def close(self) -> None:
        self.env.close()

    def _admit(self, agents: Any) -> None:
        for agent in agents:
            if agent not in self._seats:
                taken = set(self._seats.values())
                free = next((seat for seat in self.possible_agents if seat not in taken), None)
                if free is None:
                    raise EnvError(f"has no row left for {agent!r}: all of max_agents={len(taken)} are taken; give more")
                self._seats[agent] = free

    def _by_seat(self, values: Mapping[Any, Any]) -> dict[str, Any]:
        return {self._seats[agent]: value for agent, value in values.items() if agent in self._seats}
