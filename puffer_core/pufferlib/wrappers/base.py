"""VecWrapper: a VecEnv around a VecEnv, whole in itself: sync and async, slots, final observations, logs.

A wrapper shares every array of the inner storage that it does not change, and has its own for those that it does (`owned`).
It drives the inner env through the methods that every back end implements, so an order of calls is checked once, outside.
Once wrapped, use the outermost env only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Array, Buffers, zeroed
from pufferlib.errors import ConfigError, SpaceError
from pufferlib.structure import StructuredBox
from pufferlib.vector import EnvFacts, VecEnv
from pufferlib.vector.vec_env import Info


class Step(NamedTuple):
    """One finished step (or reset) of a group of rows."""

    group: int
    rows: slice
    source: int
    """The slot of the observations that were acted on."""
    target: int
    """The slot of the results."""
    is_reset: bool
    inner: Buffers
    """The inner env's arrays of these rows and this slot."""
    outer: Buffers
    """The wrapper's."""


class VecWrapper(VecEnv):
    """Override `receive`, and `deliver` for actions; name the arrays of your own in `owned`.

    env: the VecEnv to wrap; observation_space, action_space: of one row, where they change.
    """

    owned: ClassVar[tuple[str, ...]] = ()
    """Fields of Buffers that differ from the inner env's."""

    def __init__(
        self, env: VecEnv, *, observation_space: spaces.Box | None = None, action_space: spaces.Space[Any] | None = None
    ) -> None:
        self.env = env
        facts = EnvFacts(
            observation_space or env.single_observation_space,
            action_space or env.single_action_space,
            env.agents_per_env,
            env.action_mask_size,
            env._native,
            env.render_mode,
            env.metadata,
            None if "actions" in self.owned else env._require_valid_actions,
        )
        self._moves = [(0, 0, False)] * env.num_batches
        super().__init__(facts, env._shape, seed=0, in_order=env.in_order)
        self._first_seed, self.metadata = env._first_seed, env.metadata
        self.name = env.name

    # ------------------------------------------------------------ what a wrapper does

    def receive(self, step: Step) -> None:
        """Fill `step.outer`'s owned arrays from `step.inner`'s."""

    def deliver(self, actions: Array, inner: Array) -> None:
        """Write the inner env's actions for these outer ones. Called only where "actions" are owned."""

    def own_state(self) -> dict[str, Any]:
        """What this wrapper has learnt: arrays and numbers, by name."""
        return {}

    def load_own_state(self, state: Mapping[str, Any]) -> None:
        """Undo `own_state`."""

    # ------------------------------------------------------------ state, for checkpoints

    @property
    def depth(self) -> int:
        """How many wrappers are inside."""
        return self.env.depth + 1 if isinstance(self.env, VecWrapper) else 0

    @property
    def key(self) -> str:
        """`<depth>/<class>`, the wrapper's name in a checkpoint."""
        return f"{self.depth}/{type(self).__name__}"

    def state_dict(self) -> dict[str, Any]:
        """Statistics of this wrapper and those inside, by `<depth>/<class>`. A trainer's checkpoint holds it."""
        inner = getattr(self.env, "state_dict", None)
        state: dict[str, Any] = dict(inner()) if inner else {}
        own = self.own_state()
        return {**state, self.key: own} if own else state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Undo `state_dict`. Raises ConfigError, before anything is changed, if it is of other wrappers."""
        if set(state) != set(self.state_dict()):
            raise ConfigError(f"the state is of the wrappers {sorted(state)}, this env has {sorted(self.state_dict())}")
        if self.key in state:
            self.load_own_state(state[self.key])
        rest = {name: part for name, part in state.items() if name != self.key}
        if rest:
            self.env.load_state_dict(rest)  # type: ignore[attr-defined]

    # ------------------------------------------------------------ what VecEnv asks of a back end

    def _new_storage(self, slots: int) -> Buffers:
        inner = self.env.allocate(slots)
        layout = Buffers.layout(self.single_observation_space, self.single_action_space, slots, self.num_agents)
        own: dict[str, Any] = {name: zeroed(name, *layout[name]) for name in self.owned}
        return replace(inner, **own)

    def _start_reset(self, group: int, slot: int, seeds: list[int] | None, options: Info | None) -> None:
        self._moves[group] = (slot, slot, True)
        self.env._start_reset(group, slot, seeds, options)

    def _start_step(self, group: int, source: int, target: int) -> None:
        self._moves[group] = (source, target, False)
        if "actions" in self.owned:
            inner = self.env._views[source][group].actions
            self.deliver(self._views[source][group].actions, inner)
            if self.env._require_valid_actions is not None:
                self.env._require_valid_actions(inner, self._rows[group].start)
        self.env._start_step(group, source, target)

    def _wait(self, groups: Sequence[int]) -> int:
        group = self.env._wait(groups)
        source, target, is_reset = self._moves[group]
        inner, outer = self.env._views[target][group], self._views[target][group]
        self.receive(Step(group, self._rows[group], source, target, is_reset, inner, outer))
        return group

    def _rebuild(self, arguments: Info) -> None:
        self.env.set_env_arguments(**arguments)

    def _take_infos(self, group: int) -> list[Info]:
        return self.env._take_infos(group)

    def drain_log(self) -> dict[str, float]:
        """The inner env's: of its own rewards, as they are before any wrapper changes them."""
        return self.env.drain_log()

    def _render(self) -> Any:
        return self.env.render()

    def _check_open(self) -> None:
        super()._check_open()
        self.env._check_open()

    def _close(self) -> None:
        self.env.close()


class ObservationWrapper(VecWrapper):
    """A wrapper that turns observations into others, row by row and without a memory: override `convert`."""

    owned = ("observations", "final_observations")

    def convert(self, observations: Array) -> Array:
        """[rows, *inner shape] to [rows, *outer shape]."""
        raise NotImplementedError

    def receive(self, step: Step) -> None:
        step.outer.observations[...] = self.convert(step.inner.observations)
        ended = np.flatnonzero(step.inner.terminals | step.inner.truncations)
        if len(ended) and not step.is_reset:
            step.outer.final_observations[ended] = self.convert(step.inner.final_observations[ended])


def plain_box(env: VecEnv, wrapper: str) -> spaces.Box:
    """The env's observation space. Raises SpaceError if its rows hold a Dict, a Tuple or codes instead of one plain array."""
    space = env.single_observation_space
    if isinstance(space, StructuredBox):
        raise SpaceError(f"{wrapper} works on a Box, this env observes {space.structure.space}; wrap each env before batching it")
    return space
