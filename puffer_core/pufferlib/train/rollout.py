"""Collecting a rollout: the envs write into the arrays that the learner reads.

The storage has horizon + 1 slots. Slot t holds observation t and action t; what action t caused (reward, terminal, truncation,
mask, final observation) stands in slot t + 1. The last slot's observation is not acted on here: it is carried to slot 0 of
the next rollout, so that every action comes from the policy that learns from it.

The mask that counts for the sample (observation t, action t) is the one in slot t + 1: it says whether the step was real. So a
row that dies in a step still counts that step, and a row that an env wakes up again counts from its first action on.

A recurrent state is kept per row from rollout to rollout and cleared before the first step of an episode, that is after a
terminal, a truncation or a step that was not real.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pufferlib.buffers import forget
from pufferlib.policies.distributions import Distribution
from pufferlib.policies.recurrent import map_state, reset_state
from pufferlib.train.device import copy_to_host, reads_host_memory, release_views, to_device_views

BOOTSTRAP_ROWS = 8192
"""Final observations valued in one forward pass."""
LEARNER_READS = ("observations", "rewards", "terminals", "truncations", "masks", "action_masks")


class Rollout:
    """The arrays of one rollout, and the loop that fills them.

    On a CPU the tensors are views of the envs' arrays. On another device they are copies: one asynchronous copy per slot.
    Attributes, with T the horizon: observations [T + 1, rows, *shape]; actions [T, rows, ...], as they were sampled;
    log_probs [T, rows]; values [T + 1, rows]; action_masks [T + 1, rows, n] or None; rewards, terminals, truncations, masks,
    bootstrap [T, rows], of what the action at that step caused; starts bool[T + 1, rows]; segment_state: the recurrent state
    before the first step.
    """

    def __init__(
        self,
        env: Any,
        policy: Any,
        distribution: Distribution,
        horizon: int,
        device: torch.device,
        generator: torch.Generator,
    ) -> None:
        self.env, self.policy, self.distribution = env, policy, distribution
        self.horizon, self.device, self.generator = horizon, device, generator
        self.recurrent = hasattr(policy, "initial_state")
        self.times = {"env": 0.0, "forward": 0.0, "copy": 0.0}
        """Seconds spent since the trainer last asked."""
        rows = env.num_agents
        storage = env.allocate(horizon + 1)
        self.storage = storage
        self.host = to_device_views(storage, device)
        """Tensors over the envs' own arrays."""
        self.on_host = reads_host_memory(device)
        near = {name: self.host[name] for name in LEARNER_READS if name in self.host}
        if not self.on_host:
            near = {name: torch.zeros_like(tensor, device=device) for name, tensor in near.items()}
        self.observations: Tensor = near["observations"]
        self.action_masks: Tensor | None = near.get("action_masks")
        self.rewards, self.terminals, self.truncations, self.masks = (
            near[name][1:] for name in ("rewards", "terminals", "truncations", "masks")
        )
        sent = self.host["actions"]
        self.raw_actions = sent.is_floating_point() or not self.on_host
        """Whether sampled actions are kept apart from the sent ones: a Box's are clipped on their way."""
        self.actions = torch.zeros(sent[:horizon].shape, dtype=sent.dtype, device=device) if self.raw_actions else sent[:horizon]
        self.log_probs = torch.zeros(horizon, rows, device=device)
        self.values = torch.zeros(horizon + 1, rows, device=device)
        self.bootstrap = torch.zeros(horizon, rows, device=device)
        self._starts = np.zeros((horizon + 1, rows), np.bool_)
        starts = torch.from_numpy(self._starts)
        self.starts = starts if self.on_host else torch.zeros_like(starts, device=device)
        if self.recurrent:
            with torch.no_grad():
                self.initial: Any = policy.initial_state(rows)
            self.state = map_state(torch.clone, self.initial)
            self.segment_state = map_state(torch.clone, self.initial)
        self._cut: list[tuple[int, np.ndarray[Any, Any], Any]] = []
        """(step, rows, their state) of truncated episodes whose last observation is still to be valued."""
        self._ready: list[slice] | None = None
        """Groups that wait for actions at the last slot, oldest first. None: the envs are to be reset."""

    def restart(self) -> None:
        """Have the next `collect` reset the envs."""
        self._ready = None

    def collect(self, seed: int | list[int]) -> None:
        """Fill all slots. `seed`, for all envs or one for each, is for the reset that the first call does."""
        self._cut.clear()
        self.bootstrap.zero_()
        if self.on_host:  # elsewhere it is page-locked
            forget(self.storage.final_observations)
        groups = self._first_groups(seed) if self._ready is None else self._carry_over(self._ready)
        reached = {rows.start: 0 for rows in groups}
        self._ready = []
        try:
            with torch.inference_mode():
                for rows in groups:
                    self._act(0, rows)
                for _ in range(len(groups) * self.horizon):
                    start = time.perf_counter()
                    rows = self.env.recv().rows
                    self.times["env"] += time.perf_counter() - start
                    slot = reached[rows.start] = reached[rows.start] + 1
                    self._receive(slot, rows)
                    if slot < self.horizon:
                        self._act(slot, rows)
                    else:
                        self._ready.append(rows)
                self._finish()
        except BaseException:
            self._ready = None  # interrupted between two slots: only a reset leads back to a known state
            raise

    def _first_groups(self, seed: int | list[int]) -> list[slice]:
        start = time.perf_counter()
        self.env.async_reset(seed)
        groups = [self.env.recv().rows for _ in range(self.env.num_batches)]
        self.times["env"] += time.perf_counter() - start
        self._starts[0] = True
        if self.recurrent:
            map_state(lambda state, initial: state.copy_(initial), self.state, self.initial)
        for rows in groups:
            self._copy_in(0, rows)
        return groups

    def _carry_over(self, groups: list[slice]) -> list[slice]:
        for array in (self.storage.observations, self.storage.action_masks, self._starts):
            if array is not None:
                array[0] = array[-1]
        if not self.on_host:
            self.observations[0].copy_(self.observations[-1])
            if self.action_masks is not None:
                self.action_masks[0].copy_(self.action_masks[-1])
        return groups

    def _act(self, slot: int, rows: slice) -> None:
        start = time.perf_counter()
        parameters, value = self._forward(slot, rows)
        mask = None if self.action_masks is None else self.action_masks[slot, rows]
        actions, log_probs = self.distribution.sample(parameters, self.generator, mask)
        sent = self.host["actions"][slot, rows]
        if self.on_host:
            sent.copy_(self.distribution.to_env(actions))
        else:
            arrival = copy_to_host(actions, sent)
        self.values[slot, rows] = value.reshape(-1)
        self.log_probs[slot, rows] = log_probs
        if self.raw_actions:
            self.actions[slot, rows] = actions.to(self.actions.dtype)
        if not self.on_host:  # meanwhile the device stored what the learner reads
            arrival.wait()
            sent.copy_(self.distribution.to_env(sent))
        middle = time.perf_counter()
        self.env.send(self.storage.actions[slot, rows], slot + 1, rows)  # batches ahead wait at the last slot, unanswered
        self.times["forward"] += middle - start
        self.times["env"] += time.perf_counter() - middle

    def _forward(self, slot: int, rows: slice) -> tuple[Any, Tensor]:
        """Action parameters and values; a recurrent state moves on."""
        observations = self.observations[slot, rows]
        if not self.recurrent:
            return self.policy(observations)  # type: ignore[no-any-return]
        state = self._rows_state(rows)
        if self._starts[slot, rows].any():
            starts = torch.from_numpy(self._starts[slot, rows]).to(self.device)
            state = reset_state(state, starts, map_state(lambda part: part[rows], self.initial))
        if slot == 0:
            map_state(lambda kept, now: kept[rows].copy_(now), self.segment_state, state)
        parameters, value, state = self.policy(observations, state)
        if slot < self.horizon:
            map_state(lambda kept, now: kept[rows].copy_(now), self.state, state)
        return parameters, value

    def _rows_state(self, rows: Any) -> Any:
        return map_state(lambda part: part[rows], self.state)

    def _receive(self, slot: int, rows: slice) -> None:
        """Results of the actions at `slot - 1` have come."""
        start = time.perf_counter()
        storage = self.storage
        truncations = storage.truncations[slot, rows]
        if self.recurrent:
            np.logical_or(storage.terminals[slot, rows], truncations, out=self._starts[slot, rows])
            self._starts[slot, rows] |= ~storage.masks[slot, rows]
        if truncations.any():
            which = truncations.nonzero()[0] + rows.start
            state = self._rows_state(torch.from_numpy(which)) if self.recurrent else None
            self._cut.append((slot - 1, which, state))
        self._copy_in(slot, rows)
        middle = time.perf_counter()
        self.times["copy"] += middle - start
        if slot == self.horizon:
            self.values[slot, rows] = self._forward(slot, rows)[1].reshape(-1)
            self.times["forward"] += time.perf_counter() - middle

    def _copy_in(self, slot: int, rows: slice) -> None:
        if self.on_host:
            return
        self.observations[slot, rows].copy_(self.host["observations"][slot, rows], non_blocking=True)
        if self.action_masks is not None:
            self.action_masks[slot, rows].copy_(self.host["action_masks"][slot, rows], non_blocking=True)

    def _finish(self) -> None:
        start = time.perf_counter()
        if not self.on_host:
            for name in ("rewards", "terminals", "truncations", "masks"):
                getattr(self, name).copy_(self.host[name][1:], non_blocking=True)
            self.starts.copy_(torch.from_numpy(self._starts))
        middle = time.perf_counter()
        self.times["copy"] += middle - start
        if self._cut:
            self._value_final_observations()
        self.times["forward"] += time.perf_counter() - middle

    def _value_final_observations(self) -> None:
        """V(true last observation) of every truncated episode: one pass over all of them."""
        steps = torch.from_numpy(np.concatenate([np.full(len(which), step) for step, which, _ in self._cut]))
        rows = torch.from_numpy(np.concatenate([which for _, which, _ in self._cut]))
        state = map_state(lambda *parts: torch.cat(parts), *[state for _, _, state in self._cut]) if self.recurrent else None
        finals = self.host["final_observations"]
        for first in range(0, len(rows), BOOTSTRAP_ROWS):
            part = slice(first, first + BOOTSTRAP_ROWS)
            at, row = steps[part], rows[part]
            observations = finals[at + 1, row].to(self.device)
            if self.recurrent:
                value = self.policy(observations, map_state(lambda whole, part=part: whole[part], state))[1]
            else:
                value = self.policy(observations)[1]
            self.bootstrap[at.to(self.device), row.to(self.device)] = value.reshape(-1)

    def forget(self, rows: Tensor) -> None:
        """Set the recurrent state of `rows` (bool[rows]) back to the initial one and clear what NaN may hide in."""
        if self.recurrent:
            self.state = map_state(torch.clone, reset_state(self.state, rows, self.initial))
        for tensor in (self.values, self.log_probs, self.bootstrap):
            tensor[:, rows] = 0.0

    def close(self) -> None:
        """Give page-locked memory back."""
        release_views(self.host, self.device)
