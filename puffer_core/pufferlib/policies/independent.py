"""Several agents in one env, each with parameters of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.errors import ConfigError
from pufferlib.policies import build_policy
from pufferlib.policies.cores import State
from pufferlib.policies.distributions import Distribution, distribution_of
from pufferlib.policies.layers import check_count, is_exporting
from pufferlib.policies.recurrent import map_state, unroll


class Independent(nn.Module):
    """A network of its own for every agent of an env, of one kind; all other policies share theirs among all agents.

    agents: how many agents each env has. The rows of a vectorised env stand env by env, so row r is played by network r % agents
    base: the registered policy that each network is; `settings` are its own

    Which network a row belongs to is part of the row's recurrent state, so that it stays with the row in batches, segments and
    minibatches of any order. The state is (int64[rows], the base's own state or ()). Inputs are standardised by the
    statistics of all agents together.
    """

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], *, agents: int, base: str = "mlp", **settings: Any
    ) -> None:
        super().__init__()
        check_count("agents", agents)
        if base == "independent":
            raise ConfigError("base='independent' would nest networks for the same agents; name another policy")
        self.members: Any = nn.ModuleList(build_policy(base, observation_space, action_space, **settings) for _ in range(agents))
        self.distribution: Distribution = distribution_of(self.members[0], action_space)
        self.remembers = hasattr(self.members[0], "initial_state")

    def initial_state(self, rows: int) -> State:
        """Of all rows of an env. Raises ConfigError if they are no whole number of envs."""
        agents = len(self.members)
        if rows % agents:
            raise ConfigError(f"agents={agents} does not divide the {rows} rows of this env: how many agents has each env?")
        slots = torch.arange(rows, device=next(self.parameters()).device) % agents
        if not self.remembers:
            return slots, ()
        states = [member.initial_state(rows) for member in self.members]
        return slots, map_state(lambda *parts: _choose(parts, slots, 0), *states)

    def forward(self, observations: Tensor, state: State) -> tuple[Any, Tensor, State]:
        """observations: [rows, *shape]. Returns (action parameters, value [rows], state)."""

        def play(member: nn.Module, seen: Tensor, inner: State) -> Any:
            if self.remembers:
                parameters, value, inner = member(seen, inner)
                return parameters, value.reshape(-1), inner
            parameters, value = member(seen)
            return parameters, value.reshape(-1), ()

        slots, inner = state
        parameters, value, inner = self._each(play, slots, 0, observations, inner)
        return parameters, value, (slots, inner)

    def forward_sequence(self, observations: Tensor, state: State, starts: Tensor) -> tuple[Any, Tensor, State]:
        """observations: [horizon, rows, *shape]; starts: bool[horizon, rows]."""

        def play(member: nn.Module, seen: Tensor, inner: State, starts: Tensor) -> Any:
            if self.remembers:
                return unroll(member, seen, inner, starts)
            parameters, value = member(seen.flatten(0, 1))
            leading = seen.shape[:2]
            return map_state(lambda part: part.unflatten(0, leading), parameters), value.reshape(leading), ()

        slots, inner = state
        parameters, value, inner = self._each(play, slots, 1, observations, inner, starts)
        return parameters, value, (slots, inner)

    def update_statistics(self, observations: Tensor) -> None:
        """Take observations [n, *shape] into what inputs are standardised by, where the base does so."""
        for member in self.members:
            if hasattr(member, "update_statistics"):
                member.update_statistics(observations)

    def _each(self, play: Callable[..., Any], slots: Tensor, axis: int, seen: Tensor, inner: State, *more: Tensor) -> Any:
        """`play(member, its rows of the inputs)` for every member, and the results in the order of the rows again.

        axis: where rows stand in observations, `more`, action parameters and values; in states they stand first
        """
        if is_exporting():  # how many rows each member has would be recorded as a constant: all play all, then one is chosen
            results = [play(member, seen, inner, *more) for member in self.members]
            return tuple(
                map_state(lambda *parts, at=at: _choose(parts, slots, at), *[result[part] for result in results])
                for part, at in ((0, axis), (1, axis), (2, 0))
            )
        order = slots.argsort(stable=True)
        back = order.argsort()
        theirs = torch.split(order, slots.bincount(minlength=len(self.members)).tolist())
        results = [
            play(
                member, seen.index_select(axis, rows), map_state(lambda part, rows=rows: part[rows], inner),
                *(part.index_select(axis, rows) for part in more),
            )
            for member, rows in zip(self.members, theirs, strict=True)
            if len(rows)
        ]  # fmt: skip
        return tuple(
            map_state(lambda *parts, at=at: torch.cat(parts, at).index_select(at, back), *[result[part] for result in results])
            for part, at in ((0, axis), (1, axis), (2, 0))
        )


def _choose(parts: Any, slots: Tensor, axis: int) -> Tensor:
    """Row r of parts[slots[r]], the rows standing at `axis`."""
    stacked = torch.stack(parts)
    index = slots.reshape((1,) * (axis + 1) + (-1,) + (1,) * (stacked.ndim - axis - 2))
    return stacked.gather(0, index.expand(1, *stacked.shape[1:]))[0]
