"""check_vec_env: does a back end keep the VecEnv contract?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from pufferlib.buffers import Array
from pufferlib.errors import CheckError, ClosedError
from pufferlib.vector import VecEnv


def check_vec_env(
    make: Callable[[], VecEnv], *, reference: Callable[[], VecEnv] | None = None, steps: int = 50, seed: int = 0
) -> None:
    """Run a VecEnv synchronously and asynchronously and raise CheckError where it breaks the contract.

    make: makes the VecEnv, several times; reference: another back end with the same envs, which must give the same bits.
    """
    vec = make()
    if not isinstance(vec, gymnasium.vector.VectorEnv):
        raise CheckError(f"{type(vec).__name__} is no gymnasium.vector.VectorEnv")
    vec.action_space.seed(seed)
    actions = [np.asarray(vec.action_space.sample()) for _ in range(steps)]
    vec.close()
    trace = _synchronous(make, actions, seed)
    _compare(trace, _synchronous(make, actions, seed), "a second VecEnv with the same seed and actions")
    _compare(trace, _asynchronous(make, actions, seed), "recv and send")
    if reference is not None:
        _compare(trace, _synchronous(reference, actions, seed), "the reference")
    _check_closing(make)


def _synchronous(make: Callable[[], VecEnv], actions: list[Array], seed: int) -> list[list[Array]]:
    vec = make()
    try:
        observations, _ = vec.reset(seed=seed)
        if not vec.observation_space.contains(observations):
            raise CheckError(
                f"reset() returned observations of {observations.shape} {observations.dtype}, not in the observation_space"
            )
        none = np.zeros(vec.num_agents, bool)
        trace = [[observations.copy(), np.zeros(vec.num_agents, np.float32), none, none]]
        for step, chosen in enumerate(actions, 1):
            *results, infos = vec.step(chosen)
            for name, part in zip(("rewards", "terminations", "truncations"), results[1:], strict=True):
                if part.shape != (vec.num_agents,):
                    raise CheckError(f"step {step}: {name} have shape {part.shape}, expected {(vec.num_agents,)}")
            ended = results[2] | results[3]
            said = infos.get("_final_obs", np.zeros_like(ended))
            if not np.array_equal(said, ended):
                raise CheckError(
                    f"step {step}: episodes ended in rows {np.flatnonzero(ended)}, final_obs is given for {np.flatnonzero(said)}"
                )
            trace.append([part.copy() for part in results])
        return trace
    finally:
        vec.close()


def _asynchronous(make: Callable[[], VecEnv], actions: list[Array], seed: int) -> list[list[Array]]:
    """The same trajectories by recv and send, put together from the batches by their rows, in slots that change."""
    vec = make()
    try:
        vec.allocate(3)
        vec.async_reset(seed=seed)
        trace: list[list[Array]] = []
        taken = np.zeros(vec.num_agents, int)
        while taken.min() <= len(actions):
            batch = vec.recv()
            if len(batch.observations) != vec.agents_per_batch or batch.rows.stop - batch.rows.start != vec.agents_per_batch:
                raise CheckError(
                    f"recv() handed over {len(batch.observations)} rows for {batch.rows}, expected {vec.agents_per_batch}"
                )
            step = int(taken[batch.rows][0])
            if (taken[batch.rows] != step).any():
                raise CheckError(f"recv() handed over {batch.rows}, whose rows have not all been handed over equally often")
            taken[batch.rows] += 1
            if step <= len(actions):
                _place(trace, step, vec, batch.rows, batch[:4])
            # A batch that is through goes on, unseen: kept back, it would get the actions meant for a slower one.
            vec.send(actions[min(step, len(actions) - 1)][batch.rows], slot=(step + 1) % 3)
        return trace
    finally:
        vec.close()


def _place(trace: list[list[Array]], step: int, vec: VecEnv, rows: slice, parts: Any) -> None:
    while len(trace) <= step:
        trace.append([np.zeros((vec.num_agents, *part.shape[1:]), part.dtype) for part in parts])
    for whole, part in zip(trace[step], parts, strict=True):
        whole[rows] = part


def _compare(one: list[list[Array]], other: list[list[Array]], what: str) -> None:
    for step, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        for name, a, b in zip(("observations", "rewards", "terminals", "truncations"), mine, theirs, strict=True):
            if a.tobytes() != b.tobytes():
                row = next(row for row in range(len(a)) if a[row].tobytes() != b[row].tobytes())
                raise CheckError(f"{what} gave other {name} in step {step}, row {row}: {a[row]} and {b[row]}")


def _check_closing(make: Callable[[], VecEnv]) -> None:
    vec = make()
    vec.async_reset(seed=0)
    vec.close()
    vec.close()
    try:
        vec.reset(seed=0)
    except ClosedError:
        return
    except Exception as error:
        raise CheckError(f"reset() after close() must raise ClosedError, it raised {error!r}") from error
    raise CheckError("reset() after close() must raise ClosedError")
