"""The actor of the `ray` back end: it owns one batch of envs and answers each call with what the learner needs.

It never raises: what goes wrong comes back as a `Failure`, in words, since an env's own exception may not be sendable.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Array, Buffers
from pufferlib.env import PufferEnv
from pufferlib.vector import EnvFacts
from pufferlib.vector.shared_memory import Layout, arrays_in, layout_bytes
from pufferlib.vector.workers import (
    Failure,
    Seat,
    build_batch,
    describe,
    env_facts,
    limit_threads,
    pack_infos,
    rebuild,
    seed_generators,
)
from pufferlib_ray.cluster import load_ray

T = TypeVar("T")

SENT_SEPARATELY = ("actions", "final_observations")


class Result(NamedTuple):
    """What a reset or a step gave.

    block: uint8, all arrays of `result_layout` in one piece, so that Ray's object store hands it over without a copy
    ended: int64, the rows (counted from the worker's first) whose episode ended, and their `final_observations`; else None
    infos: pickled, or empty
    """

    block: Array
    ended: Array | None
    final_observations: Array | None
    infos: bytes

    def copy_into(self, rows: Buffers, layout: Layout) -> None:
        """Write everything to these rows of the storage: the only copy on the learner's side."""
        for name, array in arrays_in(self.block, layout).items():
            getattr(rows, name)[...] = array
        if self.ended is not None:
            rows.final_observations[self.ended] = self.final_observations


class Where(NamedTuple):
    """Where an actor runs: its process, its node's id and address."""

    pid: int
    node: str
    address: str

    def __str__(self) -> str:
        return f"{self.pid} on node {self.node[:8]} at {self.address}"


def result_layout(observation_space: spaces.Box, action_space: spaces.Space[Any], rows: int, action_mask_size: int) -> Layout:
    """The arrays of a `Result.block`, in order."""
    layout = Buffers.layout(observation_space, action_space, rows, action_mask_size=action_mask_size)
    return {name: part for name, part in layout.items() if name not in SENT_SEPARATELY}


class EnvWorker:
    """Becomes an actor by `ray.remote`."""

    def __init__(self, seat: Seat, entropy: tuple[int, ...]) -> None:
        self._seat, self._entropy = seat, entropy
        self._env: PufferEnv | None = None

    def where(self) -> Where:
        """Answered as soon as the actor runs: from now on the envs' own time counts."""
        ray = load_ray()
        self._where = Where(os.getpid(), ray.get_runtime_context().get_node_id(), ray.util.get_node_ip_address())
        return self._where

    def build(self, maker: bytes) -> EnvFacts | Failure:
        """Build the envs. maker: pickled."""
        return self._guard("__init__", self._build, maker)

    def reset(self, seeds: list[int] | None, options: Any) -> Result | Failure:
        return self._guard("reset", self._reset, seeds, options)

    def step(self, actions: Array) -> Result | Failure:
        return self._guard("step", self._step, actions)

    def rebuild(self, arguments: dict[str, Any]) -> str | Failure:
        """Envs with other arguments in the place of those here. Returns why not, or nothing; the old ones stay then."""
        return self._guard("rebuild", self._rebuild, arguments)

    def drain(self) -> Any:
        return self._guard("drain", self._built.drain_log)

    def render(self) -> Any:
        return self._guard("render", self._built.render)

    def close(self) -> Failure | None:
        return self._guard("close", self._close)

    @property
    def _built(self) -> PufferEnv:
        assert self._env is not None
        return self._env

    def _guard(self, name: str, work: Callable[..., T], *arguments: Any) -> T | Failure:
        try:
            return work(*arguments)
        except BaseException as error:
            return describe(error, self._seat, str(self._where), name)

    def _build(self, maker: bytes) -> EnvFacts:
        limit_threads()
        seed_generators(self._entropy)
        self._maker = pickle.loads(maker)
        env = build_batch(self._maker, self._seat.num_envs, self._seat.first_env)
        limit_threads()
        return self._adopt(env)

    def _rebuild(self, arguments: dict[str, Any]) -> str:
        made = rebuild(self._maker, arguments, self._seat, self._built)
        if isinstance(made, str):
            return made
        self._built.close()
        self._adopt(made)
        return ""

    def _adopt(self, env: PufferEnv) -> EnvFacts:
        """From now on, step these envs."""
        facts = env_facts(env)
        spaces_of_a_row = facts.observation_space, facts.action_space
        layout = result_layout(*spaces_of_a_row, env.num_agents, facts.action_mask_size)
        rest = Buffers.layout(*spaces_of_a_row, env.num_agents)
        self._block: Array = np.zeros(layout_bytes(layout), np.uint8)
        arrays = arrays_in(self._block, layout)
        for name in SENT_SEPARATELY:
            arrays[name] = np.zeros(*rest[name])
        env.bind(Buffers.filled(arrays))
        self._env = env
        return facts

    def _reset(self, seeds: list[int] | None, options: Any) -> Result:
        env: Any = self._built
        infos = (env.reset(seeds) if options is None else env.reset(seeds, options=options))[1]
        return self._result(infos)

    def _step(self, actions: Array) -> Result:
        env = self._built
        env.actions[...] = actions  # what Ray hands over is read-only
        return self._result(env.step(env.actions)[4])

    def _result(self, infos: Any) -> Result:
        env = self._built
        packed = pack_infos(infos) if infos else b""
        ended = np.flatnonzero(env.terminals | env.truncations)
        if not ended.size:
            return Result(self._block, None, None, packed)
        return Result(self._block, ended, env.final_observations[ended], packed)

    def _close(self) -> None:
        if self._env is not None:
            self._env.close()
