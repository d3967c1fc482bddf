"""VecEnv: many envs as one, synchronous by Gymnasium's vector API, asynchronous by recv and send.

All results live in one set of arrays, the storage, with leading axes [slots, num_agents]. The back end writes step
results straight into a slot of it, so `step` and `recv` return views: copy what you keep beyond the next call. A learner
asks for `horizon + 1` slots and finds a whole rollout there afterwards.

A batch is `batch_size` envs (a whole number of workers' shares), a contiguous block of rows. The groups of rows take
turns: while a policy works on one batch, the others step.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from pufferlib.buffers import Array, Buffers
from pufferlib.errors import ClosedError, ConfigError, OrderError, ShapeError
from pufferlib.native._emulation import any_ended
from pufferlib.structure import Structure, structure_of
from pufferlib.vector.infos import vector_infos
from pufferlib.vector.seeding import spread_seed
from pufferlib.vector.shape import VecShape, whole

Info = dict[str, Any]


class Batch(NamedTuple):
    """The rows that one `recv` hands over: views into the storage, true until these rows are sent again.

    observations: [rows, *shape]; rewards: float32[rows]; terminals, truncations, masks: bool[rows]
    infos: one dict for each env that had something to say, with its `"env_index"`; mostly empty
    rows: which rows of the VecEnv these are
    """

    observations: Array
    rewards: Array
    terminals: Array
    truncations: Array
    masks: Array
    infos: list[Info]
    rows: slice


@dataclass(frozen=True)
class EnvFacts:
    """What a back end knows about its envs once one batch of them is built."""

    observation_space: spaces.Box
    action_space: spaces.Space[Any]
    agents_per_env: int
    action_mask_size: int = 0
    native: bool = False
    render_mode: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    """The env's own, such as `render_fps`."""
    require_valid_actions: Callable[[Array, int], None] | None = None
    """Raises for an action outside of the space: (actions, number of the first row). Native envs with `check_actions`."""


class VecEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """The contract of every back end. A back end subclasses it and implements the methods of the last part."""

    storage: Buffers
    """The arrays, [slots, num_agents, ...]."""
    name = ""
    """The registered name it was made by, if any; a checkpoint remembers it."""
    is_closed = True  # until __init__ has run: one that failed has nothing to close

    def __init__(self, facts: EnvFacts, shape: VecShape, *, seed: Any = None, in_order: bool = False) -> None:
        self.num_envs = shape.num_envs
        self.num_workers = shape.num_workers
        self.envs_per_worker = shape.envs_per_worker
        self.num_batches = shape.num_batches
        self.agents_per_env = facts.agents_per_env
        self.num_agents = shape.num_envs * facts.agents_per_env
        self.agents_per_batch = shape.batch_size * facts.agents_per_env
        self.action_mask_size = facts.action_mask_size
        self.single_observation_space: spaces.Box = facts.observation_space
        self.single_action_space = facts.action_space
        self.observation_space = batch_space(facts.observation_space, self.num_agents)
        self.action_space = batch_space(facts.action_space, self.num_agents)
        self.metadata = {**facts.metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.render_mode = facts.render_mode
        self.is_closed = False
        self.in_order = in_order
        self._native = facts.native
        self._require_valid_actions = facts.require_valid_actions
        self._shape = shape
        self.changed_arguments: Info = {}
        """What `set_env_arguments` has set so far."""
        self._seed, self._rebuilds = seed, 0
        self._first_seed: Any = spread_seed(seed, shape.num_envs)
        """Used by the first reset that is given no seed."""
        self._float_actions = isinstance(facts.action_space, spaces.Box)
        self._rows = [slice(g * self.agents_per_batch, (g + 1) * self.agents_per_batch) for g in range(self.num_batches)]
        self._slots = [0] * self.num_batches
        """The slot that holds each group's newest results."""
        self._running: list[int] = []
        """Groups that step or reset now, oldest first."""
        self._held: list[int] = []
        """Groups whose results were handed over and that wait for actions, oldest first."""
        self.allocate(1)

    @property
    def observation_structure(self) -> Structure:
        """How a row holds the env's own observation (`.space`): `pufferlib.unflatten(observations, this)` gives it back."""
        return structure_of(self.single_observation_space)

    # ------------------------------------------------------------ storage

    def allocate(self, slots: int) -> Buffers:
        """Replace the storage by zeroed arrays [slots, num_agents, ...]; results go there from the next reset or send on."""
        self._check_open()
        self._finish_running()
        self._slots = [0] * self.num_batches
        self.storage = self._new_storage(whole("slots", slots))
        self._slot_views: list[Buffers] = [self.storage[slot] for slot in range(slots)]
        self._views = [[view[rows] for rows in self._rows] for view in self._slot_views]
        """[slot][group]: the arrays of one batch."""
        return self.storage

    # ------------------------------------------------------------ asynchronous

    def async_reset(self, seed: Any = None, options: Info | None = None) -> None:
        """Start a reset of all envs; `recv` hands the first observations over, in slot 0.

        seed: one whole number for all envs, or one per env; None goes on with the running generators.
        """
        self._check_open()
        if options is not None and self._native:
            raise ConfigError(f"options={options!r}: native envs take their settings as keyword arguments when they are made")
        self._finish_running()
        self._held.clear()
        seeds = spread_seed(seed, self.num_envs) if seed is not None else self._first_seed
        self._first_seed = None
        size = self._shape.batch_size
        for group in range(self.num_batches):
            self._slots[group] = 0
            self._start_reset(group, 0, seeds and seeds[group * size : (group + 1) * size], options)
            self._running.append(group)

    def recv(self) -> Batch:
        """Wait for a batch and hand it over: the first that is finished, or with `in_order` the first that was sent."""
        if self.is_closed or not self._running:
            self._refuse_recv()
        group = self._collect(self._running[:1] if self.in_order else self._running)
        view = self._views[self._slots[group]][group]
        infos = self._take_infos(group)
        return Batch(view.observations, view.rewards, view.terminals, view.truncations, view.masks, infos, self._rows[group])

    def send(self, actions: Any, slot: int = 0, rows: slice | None = None) -> None:
        """Let a received batch take one step; its results go to `slot`.

        actions: [agents_per_batch, ...], whole numbers for Discrete and MultiDiscrete, floats for Box. They are copied to
        `storage.actions` of the slot that holds the observations they answer.
        rows: the `Batch.rows` that they answer; None: of the batches that wait for actions, the one received first.
        """
        if self.is_closed or not self._held:
            self._refuse_send()
        if not 0 <= slot < len(self._views):
            raise ConfigError(f"slot must be in [0, {len(self._views) - 1}] (allocate({len(self._views)})), got {slot!r}")
        group = self._held[0] if rows is None else self._held_group(rows)
        source = self._slots[group]
        self._put_actions(actions, self._views[source][group].actions, self._rows[group].start)
        self._held.remove(group)
        self._slots[group] = slot
        self._start_step(group, source, slot)
        self._running.append(group)

    # ------------------------------------------------------------ synchronous: gymnasium.vector.VectorEnv

    def reset(self, *, seed: Any = None, options: Info | None = None) -> tuple[Array, Info]:
        """Gymnasium's: reset all envs. Returns views of (observations [num_agents, ...], infos)."""
        self.async_reset(seed, options)
        infos = self._collect_all()
        return self._slot_views[0].observations, vector_infos(infos, self.num_envs) if infos else {}

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, Info]:
        """Gymnasium's: one step of all envs with same-step autoreset.

        actions: [num_agents, ...]. Returns views, true until the next step, of (observations, rewards float32, terminations
        bool, truncations bool) and infos as a dict of arrays with `_key` masks; in a step where an episode ended it holds
        `final_obs` [num_agents, ...], valid where `_final_obs`, and what envs said in their last step as `final_info`.
        """
        if self.is_closed or len(self._held) != self.num_batches:
            self._refuse_step()
        slots = self._slots
        source = slots[0]
        if self.num_batches == 1:
            self._put_actions(actions, self._slot_views[source].actions)
            self._held.clear()
            slots[0] = 0
            self._start_step(0, source, 0)
            self._running.append(0)
            self._collect(self._running)
            infos = self._take_infos(0)
        else:
            self._put_actions(actions, self._slot_views[0].actions)
            infos = self._step_groups()
        view = self._slot_views[0]
        merged = vector_infos(infos, self.num_envs) if infos else {}
        if any_ended(view.terminals, view.truncations):
            merged["final_obs"], merged["_final_obs"] = view.final_observations, view.terminals | view.truncations
        return view.observations, view.rewards, view.terminals, view.truncations, merged

    def set_env_arguments(self, **arguments: Any) -> None:
        """Make all envs anew with these keyword arguments over those that they had; the next call must be a reset.

        Spaces, rows, storage and workers stay. Episodes that were running are dropped, as by any reset, and so is what
        `drain_log` was not asked for. The first reset without a seed takes one made of the VecEnv's own, if it has one.
        Raises, and leaves the old envs in place, if the envs refuse an argument (their own error, a ConfigError in worker
        processes), if it changes a space or the number of agents (SpaceError), or if they take none (ConfigError).
        """
        self._check_open()
        self._finish_running()
        wanted = {**self.changed_arguments, **arguments}
        self._rebuild(wanted)
        self.changed_arguments = wanted
        self._held.clear()
        self._rebuilds += 1
        if self._seed is not None:
            entropy = [*spread_seed(self._seed, self.num_envs), self._rebuilds]
            self._first_seed = spread_seed(int(np.random.SeedSequence(entropy).generate_state(1)[0]), self.num_envs)

    def close(self, **kwargs: Any) -> None:
        """Stop the workers and free what they hold. May be called any number of times."""
        if self.is_closed:
            return
        self.is_closed = True
        self.closed = True
        self._running.clear()
        self._held.clear()
        self._close()

    def render(self) -> Any:
        """The first env's frame, uint8[height, width, 3], or None without a render_mode."""
        self._check_open()
        return self._render()

    # ------------------------------------------------------------ helpers

    def _step_groups(self) -> list[Info]:
        self._held.clear()
        for group, source in enumerate(self._slots):
            if source:
                self._views[source][group].actions[:] = self._views[0][group].actions
            self._slots[group] = 0
            self._start_step(group, source, 0)
            self._running.append(group)
        return self._collect_all()

    def _collect_all(self) -> list[Info]:
        """Wait for every group. Infos in the order of the envs."""
        self._finish_running()
        self._held.sort()
        return [info for group in range(self.num_batches) for info in self._take_infos(group)]

    def _finish_running(self) -> None:
        while self._running:
            self._collect(self._running)

    def _collect(self, groups: Sequence[int]) -> int:
        try:
            group = self._wait(groups)
        except BaseException:
            self._running.clear()  # nothing can be received any more; reset() starts anew
            self._held.clear()
            raise
        self._running.remove(group)
        self._held.append(group)
        return group

    def _put_actions(self, actions: Any, place: Array, first_row: int = 0) -> None:
        """Before anything starts, so that refused actions leave everything as it was."""
        self._copy_actions(actions, place)
        if self._require_valid_actions is not None:
            self._require_valid_actions(place, first_row)

    def _copy_actions(self, actions: Any, place: Array) -> None:
        """Copy checked actions to `place`; a cast must not change a whole number."""
        if actions is place:
            return
        given = actions if type(actions) is np.ndarray else np.asarray(actions)
        if given.shape != place.shape:
            raise ShapeError(
                f"actions have shape {given.shape}, expected {place.shape}: one row for each of {len(place)} agents, each an "
                f"action of {self.single_action_space}"
            )
        if given.dtype is place.dtype:
            place[...] = given
            return
        if given.dtype.kind not in ("fiu" if self._float_actions else "iu"):
            raise ShapeError(f"actions have dtype {given.dtype}, expected {place.dtype} for {self.single_action_space}")
        place[...] = given
        if not self._float_actions and np.count_nonzero(place != given):
            raise ShapeError(f"actions do not fit {place.dtype}: they range from {given.min()} to {given.max()}")

    def _held_group(self, rows: slice) -> int:
        for group in self._held:
            if self._rows[group] == rows:
                return group
        waiting = ", ".join(f"slice({self._rows[group].start}, {self._rows[group].stop})" for group in self._held)
        raise OrderError(f"send() for rows={rows}, but the batches that wait for actions are: {waiting}")

    def _check_open(self) -> None:
        if self.is_closed:
            raise ClosedError(f"this {type(self).__name__} is closed; make a new one")

    def _refuse_send(self) -> NoReturn:
        self._check_open()
        raise OrderError("send() without a batch: call recv() first; each send() answers one recv()")

    def _refuse_recv(self) -> NoReturn:
        self._check_open()
        if self._held:
            raise OrderError("recv() with no batch on its way: every batch was received; send() actions first")
        raise OrderError("recv() before a reset: call async_reset() first")

    def _refuse_step(self) -> NoReturn:
        self._check_open()
        if self._running:
            raise OrderError(f"step() while {len(self._running)} batches are on their way: recv() them first, or call reset()")
        raise OrderError("step() before a reset: call reset() first")

    # ------------------------------------------------------------ what a back end implements
    # Wrappers call these of the env inside without its send and recv: what a back end needs to know comes as arguments.

    def _new_storage(self, slots: int) -> Buffers:
        """Zeroed arrays [slots, num_agents, ...]."""
        return Buffers.allocate(
            self.single_observation_space,
            self.single_action_space,
            slots,
            self.num_agents,
            action_mask_size=self.action_mask_size,
        )

    @abstractmethod
    def _start_reset(self, group: int, slot: int, seeds: list[int] | None, options: Info | None) -> None:
        """Begin to reset a group's envs, one seed per env or none; results go to `self._views[slot][group]`."""

    @abstractmethod
    def _start_step(self, group: int, source: int, target: int) -> None:
        """Begin to step a group with `self._views[source][group].actions`; results go to `self._views[target][group]`."""

    @abstractmethod
    def _wait(self, groups: Sequence[int]) -> int:
        """Block until one of these started groups is finished; return it."""

    def _take_infos(self, group: int) -> list[Info]:
        """The infos of the group's last reset or step, each with its `"env_index"`."""
        return []

    def _rebuild(self, arguments: Info) -> None:
        """Make the envs anew with `arguments` over those of the maker. Nothing is running. On an error the old ones stay."""
        raise ConfigError(f"{type(self).__name__} cannot give its envs other arguments ({', '.join(arguments)})")

    @abstractmethod
    def drain_log(self) -> dict[str, float]:
        """Means over the row-episodes that ended since the last drain, and their number `"n"`; {} if there were none."""

    def _render(self) -> Any:
        return None

    @abstractmethod
    def _close(self) -> None:
        """Runs once. Work under way must be waited for or stopped."""
