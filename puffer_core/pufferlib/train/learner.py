"""Learning from a rollout: advantages, minibatches, gradients, and steps of the optimizer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from pufferlib.train.advantage import advantages
from pufferlib.train.fused import fused_losses
from pufferlib.train.losses import Losses, explained_variance
from pufferlib.train.minibatches import Minibatch, Minibatches
from pufferlib.train.nonfinite import find_bad_rows, rollout_error, update_error
from pufferlib.train.optim import clip_gradients

if TYPE_CHECKING:
    from pufferlib.train.puffe_rl import PuffeRL

STATISTICS_SAMPLES = 4096
"""About how many observations of each rollout a policy is shown for standardising its inputs."""


class Learner:
    """The half of a trainer that learns; it works on the trainer's rollout, policy, optimizer and metrics.

    With several ranks each of them learns from its own rollout, and `trainer.pool` makes one minibatch, one gradient and one set
    of statistics out of all of theirs.
    """

    def __init__(self, trainer: PuffeRL) -> None:
        self.trainer = trainer
        self.loss_config = trainer.config

    def valid_samples(self) -> Tensor:
        """bool[horizon, rows]: real steps, without rows that hold NaN or infinity if those are to be skipped.

        Raises NonFiniteError if they are not.
        """
        trainer = self.trainer
        rollout = trainer.rollout
        bad = find_bad_rows(rollout)
        error = rollout_error(rollout) if bad is not None and trainer.config.nonfinite == "raise" else None
        if trainer.ranks:
            trainer.ranks.raise_first(error)
        elif error is not None:
            raise error
        if bad is None:
            return rollout.masks
        trainer.metrics.skipped_rows += int(bad.sum())
        rollout.forget(bad)
        return rollout.masks & ~bad

    def learn(self, valid: Tensor) -> None:
        """All epochs over the samples that `valid_samples` gave."""
        trainer = self.trainer
        rollout, config = trainer.rollout, trainer.config
        rewards = self.scaled_rewards()
        minibatches = Minibatches(rollout, valid, config, trainer.generator, gather_observations=trainer.native is None)
        steps, self.loss_config = minibatches.steps, config
        if trainer.ranks:
            steps = trainer.pool.begin(minibatches)
            self.loss_config = replace(config, normalize_advantages=False)  # the pool has done it
        ratios, values = None, rollout.values
        if config.update_epochs > 1:
            ratios, values = torch.ones_like(rollout.log_probs), values.clone()
        for epoch in range(config.update_epochs):
            advantage, target = advantages(
                rewards, values, rollout.bootstrap, rollout.terminals, rollout.truncations, valid, ratios if epoch else None,
                gamma=config.gamma, lam=config.gae_lambda, rho_clip=config.rho_clip, c_clip=config.c_clip,
            )  # fmt: skip
            if epoch == 0:
                explain = trainer.pool.explained_variance if trainer.ranks else explained_variance
                trainer.metrics.explained_variance = explain(values[:-1], target, valid)
            if not self.learn_epoch(minibatches.epoch(advantage, target, self.prio_beta()), ratios, values):
                break
        if trainer.optimizer.skips_on_device:
            self.judge_updates()
        self.update_statistics(valid)
        if trainer.ranks:
            trainer.pool.env_statistics()
        trainer.metrics.agent_steps += steps

    def learn_epoch(self, minibatches: Iterator[Minibatch], ratios: Tensor | None, values: Tensor) -> bool:
        """One epoch. Notes ratios and values as they were seen. Returns False once target_kl is exceeded."""
        trainer = self.trainer
        batches: Iterator[Any] = trainer.pool.in_step(minibatches) if trainer.ranks else minibatches
        for batch in batches:
            losses, ratio, value = trainer.pool.gradients(batch, self.gradients) if trainer.ranks else self.gradients(batch)
            self.update(losses)
            if ratios is not None and ratio is not None and value is not None:
                ratios.view(-1)[batch.samples] = ratio
                values.view(-1)[batch.samples] = value
            if trainer.config.target_kl and float(losses.approx_kl) > trainer.config.target_kl:
                return False
        return True

    def gradients(self, batch: Minibatch) -> tuple[Losses, Tensor, Tensor]:
        """Leave the gradients of a minibatch's loss in the parameters. Returns its losses, ratios and values [samples]."""
        trainer, config = self.trainer, self.loss_config
        if trainer.native:
            return trainer.native.learn(batch, config)
        trainer.optimizer.zero_grad()
        parameters, value = trainer.network.learn(batch)
        fused = fused_losses(trainer.distribution, parameters, value, batch, config)
        losses, ratio = fused or trainer.network.losses(parameters, value, batch, config)
        losses.total.backward()  # type: ignore[no-untyped-call]
        return losses, ratio, value.detach()

    def update(self, losses: Losses) -> None:
        """One step of the optimizer, unless a loss or a gradient is not finite."""
        trainer = self.trainer
        optimizer, metrics, config = trainer.optimizer, trainer.metrics, trainer.config
        norm = clip_gradients(optimizer.parameters, config.max_grad_norm)
        finite = torch.isfinite(norm + losses.total.detach())
        if optimizer.skips_on_device:  # to look at it here would be to wait for the device
            optimizer.step_unless(~finite, for_good=config.nonfinite == "raise")
            metrics.add_losses(losses, norm, finite)
        elif finite:
            optimizer.step()
            metrics.add_losses(losses, norm)
        elif config.nonfinite == "raise":
            raise self.update_error(losses)
        else:
            metrics.skipped_updates += 1
            return
        if trainer.callbacks.listens_to_updates:
            trainer.callbacks.call("on_update", trainer, losses)

    def judge_updates(self) -> None:
        """Look at the updates of this rollout that the device left out."""
        self.trainer.optimizer.start_anew()
        skipped, losses = self.trainer.metrics.updates_left_out()
        if skipped and self.trainer.config.nonfinite == "raise":
            raise self.update_error(losses)

    def update_error(self, losses: Losses) -> BaseException:
        """What is wrong with an update that is not finite."""
        trainer = self.trainer
        error = update_error(trainer.rollout, trainer.policy, losses._asdict())
        trainer.optimizer.zero_grad()
        return trainer.ranks.agreed(error) if trainer.ranks else error  # all ranks see the same losses and gradients

    def update_statistics(self, valid: Tensor) -> None:
        """Show a policy that standardises its inputs some real observations of this rollout, after it was learnt from."""
        trainer = self.trainer
        update = getattr(trainer.policy, "update_statistics", None)
        if update is None:
            return
        every = min(len(valid), max(1, trainer.global_batch // STATISTICS_SAMPLES))  # steps, for an even share of all rows
        shown = trainer.rollout.observations[:-1][::every][valid[::every]]
        update(trainer.ranks.gather_rows(shown) if trainer.ranks else shown)

    def scaled_rewards(self) -> Tensor:
        """The rollout's rewards, scaled and clipped as the settings say."""
        rewards, config = self.trainer.rollout.rewards, self.trainer.config
        if config.reward_scale != 1.0:
            rewards = rewards * config.reward_scale
        if config.reward_clip:
            rewards = rewards.clamp(-config.reward_clip, config.reward_clip)
        return rewards

    def prio_beta(self) -> float:
        """The exponent of the importance weights now."""
        config = self.trainer.config
        return config.prio_beta0 + (1 - config.prio_beta0) * min(1.0, self.trainer.global_step / config.total_timesteps)
