"""Several processes, started by torchrun, learn one policy together.

Each rank steps envs of its own and holds the same weights. Together they do what one process with the envs of all ranks would
do: a rank's envs have the seeds that they would have there, and a minibatch is the union of the ranks' minibatches, whose
advantages are normalised, losses averaged and gradient clipped as a whole (pooling.py). torch's DistributedDataParallel does
not serve here: it weighs ranks alike however many real steps each has, and hangs where one has a minibatch less.

A rank that fails leaves the reason in the launcher's key-value store and closes its connections, which breaks the others out of
what they wait for: they raise RankError with that reason. A rank that was killed is found by a roll call.
"""

from __future__ import annotations

import contextlib
import functools
import json
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.rendezvous import rendezvous

from pufferlib.config.train_config import spell
from pufferlib.errors import ConfigError, RankError
from pufferlib.train.launch import launch

T = TypeVar("T")
ROLL_CALL_S = 2.0
"""How long the others may take to answer before they are told missing."""
STORE_TIMEOUT_S = 10.0
LAUNCH_TIMEOUT_S = 300.0
"""Until rank 0's store can be reached: machines of a cluster do not start at once."""
REASON_LENGTH = 2000
_joined = 0
"""Groups that this process has joined so far: each has its own keys in the store."""


@functools.cache
def _launcher_store() -> Any:
    """(store, rank, number of ranks): kept as long as the process, since rank 0 may be the one that serves it."""
    return next(rendezvous("env://", timeout=timedelta(seconds=LAUNCH_TIMEOUT_S)))


class Ranks:
    """This process among those of the job. All ranks must call each method in the same order, but `fail`, `guard` and `close`."""

    def __init__(self, rank: int, size: int, timeout_s: float, store: Any = None) -> None:
        self.rank, self.size, self.timeout_s, self.store = rank, size, timeout_s, store
        self.owns_group = store is not None
        self._agreed: BaseException | None = None

    @classmethod
    def join(cls, device: torch.device, timeout_s: float) -> Ranks | None:
        """Meet the other ranks; None for a process that is alone.

        A process group that the script has set up itself is used as it is. timeout_s: how long a rank waits for another one.
        Raises RankError if the others do not come.
        """
        if dist.is_available() and dist.is_initialized():
            return cls(dist.get_rank(), dist.get_world_size(), timeout_s) if dist.get_world_size() > 1 else None
        if launch().world_size == 1:
            return None
        if device.type not in ("cpu", "cuda"):
            raise ConfigError(f"{spell('device')}: several ranks train on cpu or cuda, not on {device.type}")
        global _joined
        _joined += 1
        wait = timedelta(seconds=timeout_s)
        try:
            shared, rank, size = _launcher_store()
            store = torch.distributed.distributed_c10d.PrefixStore(f"pufferlib/{_joined}", shared)
            backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
            dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=wait)
        except RuntimeError as error:
            raise RankError(f"not all of {launch().world_size} ranks came within {timeout_s:g} s: {error}") from error
        return cls(rank, size, timeout_s, store)

    # ------------------------------------------------------------ talking

    def exchange(self, value: Any) -> list[Any]:
        """Every rank's value, in the order of ranks. Anything that pickles; for small things."""
        values: list[Any] = [None] * self.size
        with self._watched():
            dist.all_gather_object(values, value)
        return values

    def gather(self, tensor: Tensor) -> Tensor:
        """Every rank's tensor of one shape, [size, *shape], on its device."""
        parts = [torch.empty_like(tensor) for _ in range(self.size)]
        with self._watched():
            dist.all_gather(parts, tensor)
        return torch.stack(parts)

    def gather_rows(self, tensor: Tensor) -> Tensor:
        """[n, *shape] of every rank, one below the other; n may differ."""
        counts = [int(count) for count in self.exchange(len(tensor))]
        padded = tensor.new_zeros((max(counts), *tensor.shape[1:]))
        padded[: len(tensor)] = tensor
        if not padded.numel():
            return padded[:0]
        sent = padded.reshape(-1).view(torch.uint8)  # bytes: the back ends do not know every dtype
        whole = self.gather(sent).reshape(-1).view(tensor.dtype).reshape(self.size, *padded.shape)
        return torch.cat([part[:count] for part, count in zip(whole, counts, strict=True)])

    def add_up(self, tensor: Tensor) -> None:
        """Replace `tensor` by its sum over the ranks, the same bits on each."""
        with self._watched():
            dist.all_reduce(tensor)

    def copy_from_main(self, tensors: list[Tensor]) -> None:
        """Overwrite `tensors` by rank 0's."""
        with self._watched(), torch.no_grad():
            for tensor in tensors:
                sent = tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1)
                dist.broadcast(sent.view(torch.uint8), 0)
                tensor.copy_(sent.view(tensor.shape))

    def from_main(self, function: Callable[[], T]) -> T:
        """What `function` returns on rank 0, the only one that calls it; what it raises there is raised by all."""
        answer: Any = None
        error: Exception | None = None
        if self.rank == 0:
            try:
                answer = function()
            except Exception as caught:
                error = caught
        answer, error = self.exchange((answer, error) if self.rank == 0 else None)[0]
        if error is not None:
            raise self.agreed(error)
        return answer  # type: ignore[no-any-return]

    def same(self, facts: dict[str, Any]) -> None:
        """Raise ConfigError on all ranks where one's `facts` (name -> value) differ from rank 0's."""
        all_facts = self.exchange(facts)
        for rank, theirs in enumerate(all_facts):
            for name, value in all_facts[0].items():
                if theirs[name] != value:
                    raise self.agreed(ConfigError(
                        f"{name} is {value!r} on rank 0 and {theirs[name]!r} on rank {rank}: start all ranks alike"
                    ))  # fmt: skip

    def raise_first(self, error: Exception | None) -> None:
        """Raise on all ranks what any of them brings, with its rank before the message."""
        for rank, theirs in enumerate(self.exchange(error)):
            if theirs is not None:
                raise self.agreed(type(theirs)(f"on rank {rank}: {theirs}"))

    # ------------------------------------------------------------ failing

    def agreed(self, error: BaseException) -> BaseException:
        """Marks an error that every rank raises, so that nobody has to be told of it."""
        self._agreed = error
        return error

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """What is raised inside reaches the other ranks, unless they know."""
        try:
            yield
        except BaseException as error:
            if error is not self._agreed:
                self.fail(error)
            raise

    def fail(self, error: BaseException) -> None:
        """Leave, and let the others know why."""
        if isinstance(error, RankError):
            self._leave()
            return
        reason = "was interrupted" if isinstance(error, KeyboardInterrupt) else f"{type(error).__name__}: {error}"
        self._post(self.rank, reason[:REASON_LENGTH])
        self._leave()

    def close(self, error: BaseException | None = None) -> None:
        """Leave the group. `error`: why, if it is no good reason. May be called any number of times."""
        if error is not None and error is not self._agreed:
            self.fail(error)
        self._leave()

    def _leave(self) -> None:
        if self.owns_group and dist.is_initialized():
            dist.destroy_process_group()
        self.owns_group = False

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, ValueError) as error:  # ValueError: the group is gone
            raise self._lost(error) from error

    def _lost(self, error: Exception) -> RankError:
        """The error that names the rank which broke a collective operation."""
        known = self.store is not None
        self._leave()  # the others wait for this rank, and so learn at once
        if not known:
            return RankError(f"rank {self.rank} lost the others: {error}")
        with contextlib.suppress(RuntimeError):
            self.store.set_timeout(timedelta(seconds=STORE_TIMEOUT_S))
            self.store.set(f"here/{self.rank}", "1")
            deadline = time.monotonic() + ROLL_CALL_S
            while time.monotonic() < deadline:
                if self.store.check(["failure"]):
                    return self._failure()
                time.sleep(0.05)
            missing = [rank for rank in range(self.size) if not self.store.check([f"here/{rank}"])]
            for rank in missing[:1]:
                self._post(rank, f"does not answer: it was killed, or hangs ({spell('rank_timeout_s')} is {self.timeout_s:g})")
                return self._failure()
            return RankError(f"rank {self.rank} lost the connection to another rank, though all are there: {error}")
        return RankError("rank 0's machine or the launcher is gone, with the store that says which rank failed first")

    def _post(self, rank: int, reason: str) -> None:
        """Note a failure; the first one stays."""
        if self.store is not None:
            with contextlib.suppress(RuntimeError):
                self.store.set_timeout(timedelta(seconds=STORE_TIMEOUT_S))
                self.store.compare_set("failure", "", json.dumps([rank, reason]))

    def _failure(self) -> RankError:
        rank, reason = json.loads(self.store.get("failure"))
        return RankError(f"rank {rank} {reason}" if reason.startswith(("does", "was")) else f"rank {rank} failed: {reason}")
