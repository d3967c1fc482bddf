"""One minibatch, one gradient, one set of statistics out of those of all ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from pufferlib.train.checkpoint import describe_env, env_state
from pufferlib.train.distributed import Ranks
from pufferlib.train.losses import EPSILON, Losses
from pufferlib.train.minibatches import Minibatch, Minibatches
from pufferlib.vector.logs import merge_logs
from pufferlib.vector.seeding import env_seeds

if TYPE_CHECKING:
    from pufferlib.train.puffe_rl import PuffeRL

MOMENTS = {"mean", "var", "count"}
"""What a wrapper's running moments consist of."""


class Pool:
    """What the ranks share of one trainer's work. global_batch: agent-steps of one rollout of all ranks."""

    def __init__(self, ranks: Ranks, trainer: PuffeRL) -> None:
        self.ranks, self.trainer = ranks, trainer
        ranks.same(describe(trainer))
        ranks.copy_from_main([*trainer.policy.parameters(), *trainer.policy.buffers()])
        sizes = ranks.exchange((trainer.env.num_envs, trainer.config.batch_size))
        self.envs = [envs for envs, _ in sizes]
        self.global_batch = sum(batch for _, batch in sizes)
        self.number = 0
        """Minibatches of an epoch, on the rank that has most of them."""
        self.skipped_before = 0
        self.before: dict[str, Any] = {}
        self.remember_env_state()

    def env_seeds(self, seed: int) -> list[int]:
        """The seeds that this rank's envs would have in one process with the envs of all ranks, rank 0's first."""
        first = sum(self.envs[: self.ranks.rank])
        return env_seeds(seed, sum(self.envs))[first : first + self.envs[self.ranks.rank]]

    def episodes(self, log: dict[str, float]) -> dict[str, float]:
        """The means over the episodes of all ranks."""
        return merge_logs(self.ranks.exchange(log))

    def begin(self, minibatches: Minibatches) -> int:
        """A rollout is learnt from. Returns the steps that count, of all ranks."""
        metrics = self.trainer.metrics
        work = self.ranks.exchange((minibatches.count, minibatches.steps, metrics.skipped_rows - self.skipped_before))
        self.number = max(number for number, _, _ in work)
        self.skipped_before = metrics.skipped_rows = self.skipped_before + sum(skipped for _, _, skipped in work)
        return sum(steps for _, steps, _ in work)

    def in_step(self, minibatches: Iterator[Minibatch]) -> Iterator[Minibatch | None]:
        """As many minibatches as every other rank has, None where this one has no more."""
        for _ in range(self.number):
            yield next(minibatches, None)

    def gradients(
        self, batch: Minibatch | None, own: Callable[[Minibatch], tuple[Losses, Tensor, Tensor]]
    ) -> tuple[Losses, Tensor | None, Tensor | None]:
        """As `own` does it for this rank's minibatch, for the union of all; ratios and values are of this rank's samples."""
        trainer = self.trainer
        batch, share = pool_minibatch(self.ranks, batch, trainer.device, trainer.config.normalize_advantages)
        losses = ratio = value = None
        if batch is None:
            trainer.optimizer.zero_grad()
        else:
            losses, ratio, value = own(batch)
        return pool_update(self.ranks, trainer.optimizer.parameters, losses, share), ratio, value

    def explained_variance(self, values: Tensor, targets: Tensor, masks: Tensor) -> Tensor:
        """`losses.explained_variance` over the samples of all ranks."""
        return pooled_explained_variance(self.ranks, values, targets, masks)

    def remember_env_state(self) -> None:
        """From here on the ranks' envs gather their own statistics again; all have those of rank 0 now."""
        self.skipped_before = self.trainer.metrics.skipped_rows
        self.before = self.ranks.from_main(lambda: env_state(self.trainer.env))
        if self.before:
            self.trainer.env.load_state_dict(self.before)

    def env_statistics(self) -> None:
        """Let every rank's wrappers know what the others' have seen in this rollout."""
        if self.before:
            self.before = pool_statistics(self.before, self.ranks.exchange(env_state(self.trainer.env)))
            self.trainer.env.load_state_dict(self.before)


def describe(trainer: PuffeRL) -> dict[str, Any]:
    """What all ranks must have in common, by name."""
    own = ("device", "torch_threads", "batch_size")  # the envs may be shared out unevenly
    facts = {name: value for name, value in asdict(trainer.config).items() if name not in own}
    facts |= {f"the env's {name}": value for name, value in describe_env(trainer.env).items() if name != "num_agents"}
    return facts | {f"the shape of {name}": tuple(value.shape) for name, value in trainer.policy.state_dict().items()}


def pool_minibatch(ranks: Ranks, batch: Minibatch | None, device: torch.device, normalize: bool) -> tuple[Any, Tensor]:
    """This rank's part of the global minibatch, and its share of the global weight.

    batch: None on a rank that has no minibatch left. normalize: advantages get mean 0 and deviation 1 over all ranks' samples of
    positive weight, as `losses.normalise` does it for one process.
    The losses are means over the weights. So the global loss is the sum of the ranks' losses times their shares.
    """
    own = torch.zeros(4, dtype=torch.float64, device=device)
    if batch is not None:
        counted = batch.advantage if batch.weights is None else batch.advantage[batch.weights > 0]
        own[0] = len(batch.advantage) if batch.weights is None else batch.weights.double().sum()
        own[1:] = moments(counted)
    everyone = ranks.gather(own)
    share = (own[0] / everyone[:, 0].sum().clamp(min=1e-8)).float()
    if batch is not None and normalize:
        number, mean, square = merge_moments(everyone[:, 1:])
        deviation = (square / number.clamp(min=1)).sqrt()
        batch = batch._replace(advantage=(batch.advantage - mean.float()) / (deviation.float() + EPSILON))
    return batch, share


def pool_update(ranks: Ranks, parameters: list[nn.Parameter], losses: Losses | None, share: Tensor) -> Losses:
    """Replace the gradients by their sum over the ranks; returns the global losses.

    losses: this rank's means, None if it had no minibatch; the gradients are theirs. All of it travels in one vector.
    A parameter that had a gradient on no rank keeps none, so that its weights do not decay.
    """
    dtype = torch.float32
    for parameter in parameters:
        dtype = torch.promote_types(dtype, parameter.dtype)
    pieces = [torch.zeros_like(p, dtype=dtype) if p.grad is None else p.grad.to(dtype) for p in parameters]
    present = torch.tensor([float(p.grad is not None) for p in parameters], dtype=dtype, device=share.device)
    values = torch.stack(list(losses)).detach() if losses else torch.zeros(len(Losses._fields), device=share.device)
    vector = torch.cat([*(piece.flatten() for piece in pieces), values.to(dtype)]) * share.to(dtype)
    vector = torch.cat([vector, present])
    ranks.add_up(vector)
    *summed, values, present = torch.split(vector, [*(p.numel() for p in parameters), len(values), len(parameters)])
    nowhere: set[int] = set()
    if any(p.grad is None for p in parameters):  # only then is it worth the wait for the device
        nowhere = {index for index, count in enumerate(present.tolist()) if not count}
    for index, (parameter, total) in enumerate(zip(parameters, summed, strict=True)):
        if index not in nowhere:
            parameter.grad = _shaped_like(parameter, total)
    return Losses(*values.float().unbind())


def pooled_explained_variance(ranks: Ranks, values: Tensor, targets: Tensor, masks: Tensor) -> Tensor:
    """`losses.explained_variance` over the samples of all ranks."""
    targets, values = targets[masks], values[masks]
    everyone = ranks.gather(torch.stack([moments(targets), moments(targets - values)]))
    _, _, spread = merge_moments(everyone[:, 0])
    _, _, rest = merge_moments(everyone[:, 1])
    return torch.where(spread > 0, 1 - rest / spread, torch.zeros_like(spread)).float()


def moments(values: Tensor) -> Tensor:
    """float64[3]: the number of `values`, their mean, their sum of squared deviations from it."""
    if not values.numel():
        return torch.zeros(3, dtype=torch.float64, device=values.device)
    wide = values.double()
    mean = wide.mean()
    return torch.stack([torch.full_like(mean, values.numel()), mean, (wide - mean).square().sum()])


def merge_moments(parts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The `moments` of a whole from those of its parts, float64[parts, 3] (Chan et al. 1979)."""
    number, mean, square = parts.unbind(-1)
    total = number.sum()
    centre = (number * mean).sum() / total.clamp(min=1)
    return total, centre, (square + number * (mean - centre).square()).sum()


def pool_statistics(before: Mapping[str, Any], everyone: list[Any]) -> dict[str, Any]:
    """An env's state in which running moments have seen what all ranks have seen since `before`, which was common to them.

    before, everyone[rank]: what the wrappers of an env remember, nested dicts. mean, var and count in one dict are running
    moments; everything else is taken from rank 0.
    """
    pooled = {
        name: pool_statistics(before[name], [state[name] for state in everyone]) if isinstance(value, dict) else value
        for name, value in everyone[0].items()
    }
    return {**pooled, **_pool_moments(before, everyone)} if everyone[0].keys() >= MOMENTS else pooled


def _pool_moments(before: Mapping[str, Any], everyone: list[Any]) -> dict[str, Any]:
    """`before` and what each rank has seen since, taken out of its own state, merged."""
    count, mean = float(before["count"]), np.asarray(before["mean"], np.float64)
    square = np.asarray(before["var"], np.float64) * count
    first_count, first_mean, first_square = count, mean, square
    for own in everyone:
        own_count, own_mean = float(own["count"]), np.asarray(own["mean"], np.float64)
        seen = own_count - first_count
        if seen <= 0:
            continue
        seen_mean = (own_mean * own_count - first_mean * first_count) / seen
        apart = (seen_mean - first_mean) ** 2 * (first_count * seen / own_count)
        seen_square = np.maximum(np.asarray(own["var"], np.float64) * own_count - first_square - apart, 0)
        delta, total = seen_mean - mean, count + seen
        square = square + seen_square + delta**2 * (count * seen / total)
        mean, count = mean + delta * (seen / total), total
    return {"mean": mean, "var": square / count, "count": count}


def _shaped_like(parameter: nn.Parameter, flat: Tensor) -> Tensor:
    """A gradient with the parameter's shape, dtype and memory order; a view where that is enough."""
    gradient = flat.view(parameter.shape).to(parameter.dtype)
    return gradient if parameter.is_contiguous() else torch.empty_like(parameter).copy_(gradient)
