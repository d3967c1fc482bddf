"""PuffeRL: proximal policy optimisation on a VecEnv.

    trainer = PuffeRL(env=env, policy=policy, learning_rate=3e-4)
    for logs in trainer:
        print(logs["global_step"], logs.get("environment/episode_return"))

One iteration is `evaluate()`, which collects a rollout (rollout.py), `train()`, which learns from it (advantage.py,
minibatches.py, losses.py, optim.py), and `mean_and_log()`, which reports.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pufferlib.config.schedules import Schedule, check_changeable, make_schedules, scheduled
from pufferlib.config.train_config import TrainConfig
from pufferlib.errors import ClosedError, ConfigError
from pufferlib.policies.distributions import distribution_of
from pufferlib.policies.recurrent import unroll
from pufferlib.train.advantage import advantages
from pufferlib.train.callbacks import Callback, Callbacks
from pufferlib.train.device import choose_device
from pufferlib.train.fused import fused_losses
from pufferlib.train.losses import Losses, explained_variance, ppo_losses
from pufferlib.train.metrics import Metrics
from pufferlib.train.minibatches import Minibatch, Minibatches, check_minibatch_size
from pufferlib.train.native import native_mlp
from pufferlib.train.nonfinite import find_bad_rows, rollout_error, update_error
from pufferlib.train.optim import Optimizer, clip_gradients, scheduled_rate
from pufferlib.train.rollout import Rollout

STATISTICS_SAMPLES = 4096
"""About how many observations of each rollout a policy is shown for standardising its inputs."""


class PuffeRL:
    """Trains `policy` on `env`.

    env: a VecEnv. policy: an nn.Module, see `pufferlib.pytorch`; it is moved to the device.
    config: a TrainConfig; `settings` override single fields of it, by their names. Raises ConfigError for a setting that does not
    exist or does not fit the env.
    callbacks: see pufferlib.train.callbacks. schedules: setting name -> text, number or function of the progress, see
    pufferlib.config.schedules; they win over the fields of config.

    global_step: agent-steps collected so far, num_agents * horizon for each rollout. epoch: rollouts learnt from.
    config: the settings in use, with batch_size and horizon worked out. last_log: what mean_and_log() returned last.
    """

    def __init__(
        self,
        env: Any,
        policy: nn.Module,
        config: TrainConfig | None = None,
        *,
        callbacks: Sequence[Callback] = (),
        schedules: Mapping[str, Schedule | str | float] | None = None,
        **settings: Any,
    ) -> None:
        self.config = _with_settings(config or TrainConfig(), settings).resolve(env.num_agents)
        config = self.config
        self.env = env
        self.device = choose_device(config.device)
        if config.torch_threads:
            torch.set_num_threads(config.torch_threads)
        if config.deterministic:
            torch.use_deterministic_algorithms(True)
        self.policy = policy.to(self.device)
        self.distribution = distribution_of(self.policy, env.single_action_space)
        self.generator = torch.Generator(self.device).manual_seed(config.seed)
        self.optimizer = Optimizer(self.policy, self.distribution.parameter_sizes, config)
        self.native = native_mlp(self.policy, self.distribution, self.device) if config.learner == "auto" else None
        """Runs the policy where it is one that the kernels can run; else torch does."""
        forward = self.native.forward if self.native else None
        self.rollout = Rollout(env, self.policy, self.distribution, config.horizon, self.device, self.generator, forward)
        check_minibatch_size(config, env.num_agents, self.rollout.recurrent or config.prio_alpha > 0)
        self.global_step = 0
        self.epoch = 0
        self.last_log: dict[str, float] = {}
        self.rate_factor = 1.0
        """What setting `learning_rate` multiplied the schedule by."""
        self.schedules = make_schedules(schedules or {}, config)
        self.changed_settings: dict[str, float] = {}
        """What `set_settings` changed."""
        self.callbacks = Callbacks(callbacks)
        self.recent_episodes: dict[str, float] = {}
        """Means over the episodes that ended in the last rollout in which any did, and their number `n`."""
        self.is_stopped = False
        """Whether `stop` was called."""
        self.metrics = Metrics(self.device)
        self._collected = False
        self._closed = False

    # ------------------------------------------------------------ one iteration

    def evaluate(self) -> None:
        """Collect one rollout: horizon steps of every row with the policy as it is now."""
        self._check_open()
        self.callbacks.start(self)
        self.rollout.collect(self._reset_seed())
        self.global_step += self.config.batch_size
        self._collected = True
        episodes = self.env.drain_log()
        self.metrics.add_episodes(episodes)
        self.recent_episodes = episodes or self.recent_episodes
        self.callbacks.call("on_rollout", self)

    def train(self) -> None:
        """Learn from the rollout that evaluate() collected; it can be learnt from once.

        Raises NonFiniteError, before any weight is touched, where NaN or infinity turns up (unless nonfinite="skip").
        """
        self._check_open()
        if not self._collected:
            raise ConfigError("train() without a rollout: call evaluate() before each train()")
        start = time.perf_counter()
        if self.schedules:
            self.config = scheduled(self.config, self.schedules, self._progress(self.global_step - self.config.batch_size))
        rollout, config = self.rollout, self.config
        valid = self._valid_samples()
        self._collected = False
        # the rate of the rollout's first step: the first update uses the full rate and the last one not yet zero
        self.optimizer.set_learning_rate(self._rate_at(self.global_step - config.batch_size))
        rewards = self._scaled_rewards()
        minibatches = Minibatches(rollout, valid, config, self.generator, gather_observations=self.native is None)
        ratios, values = None, rollout.values
        if config.update_epochs > 1:
            ratios, values = torch.ones_like(rollout.log_probs), values.clone()
        for epoch in range(config.update_epochs):
            advantage, target = advantages(
                rewards, values, rollout.bootstrap, rollout.terminals, rollout.truncations, valid, ratios if epoch else None,
                gamma=config.gamma, lam=config.gae_lambda, rho_clip=config.rho_clip, c_clip=config.c_clip,
            )  # fmt: skip
            if epoch == 0:
                self.metrics.explained_variance = explained_variance(values[:-1], target, valid)
            if not self._learn(minibatches.epoch(advantage, target, self._prio_beta()), ratios, values):
                break
        self._update_statistics(valid)
        self.epoch += 1
        self.metrics.add_trained(valid, minibatches.all_valid)
        self.metrics.times["learn"] += time.perf_counter() - start
        self.callbacks.call("on_epoch", self)

    def mean_and_log(self) -> dict[str, float]:
        """Metrics since the last call: means of losses and of the episodes that ended, speed, and where the time went."""
        self.metrics.add_times(self.rollout.times)
        self.last_log = self.metrics.drain(self.global_step, self.epoch, self.learning_rate)
        self.last_log.update({f"schedule/{name}": float(getattr(self.config, name)) for name in self.schedules})
        self.callbacks.call("on_log", self, self.last_log)
        return self.last_log

    # ------------------------------------------------------------ whole runs

    def __iter__(self) -> Iterator[dict[str, float]]:
        """One iteration at a time until total_timesteps are done; yields the metrics of each."""
        while self.global_step < self.config.total_timesteps and not self.is_stopped:
            self.evaluate()
            self.train()
            yield self.mean_and_log()

    def fit(self, total_timesteps: int | None = None) -> dict[str, float]:
        """Train until `global_step` reaches total_timesteps (default: the setting); returns the last metrics."""
        if total_timesteps is not None:
            self.config = replace(self.config, total_timesteps=total_timesteps)
        for _ in self:
            pass
        return self.last_log

    @property
    def learning_rate(self) -> float:
        """The rate that the schedule gives at `global_step`. Setting it scales the rest of the schedule."""
        return self._rate_at(self.global_step)

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        replace(self.config, learning_rate=value, min_learning_rate=0.0)  # checks the value
        planned = self._rate_at(self.global_step) / self.rate_factor if self.rate_factor else 0.0
        if planned <= 0:
            raise ConfigError("learning_rate cannot be set where annealing has reached 0; train with anneal_lr=False")
        self.rate_factor = value / planned

    def set_settings(self, **settings: float) -> None:
        """Change settings from the next rollout on, as in `set_settings(ent_coef=0.001)`; checkpoints remember it.

        Raises ConfigError, and changes nothing, for a setting that cannot change, has a schedule, or is out of range.
        """
        for name in settings:
            check_changeable(name)
            if name in self.schedules:
                raise ConfigError(f"{name} has a schedule, which would overwrite it")
        rest = {name: value for name, value in settings.items() if name != "learning_rate"}
        changed = replace(self.config, **rest)  # type: ignore[arg-type]
        if "learning_rate" in settings:
            self.learning_rate = settings["learning_rate"]
        self.config = changed
        self.changed_settings.update(rest)

    def set_env_arguments(self, **arguments: Any) -> None:
        """Give the envs other arguments, see `VecEnv.set_env_arguments`; the next rollout begins with a reset of all of them.

        The learner takes episodes that were running for truncated ones: it values the last observation of their rollout.
        """
        self.env.set_env_arguments(**arguments)
        self.rollout.restart()

    def stop(self) -> None:
        """End training after this iteration, as if total_timesteps were done."""
        self.is_stopped = True

    def save_checkpoint(self, path: str | PathLike[str]) -> None:
        """Write policy, optimizer, schedule, counters and random states to `path`, atomically."""
        from pufferlib.train.checkpoint import save_checkpoint

        save_checkpoint(self, path)

    def load_checkpoint(self, path: str | PathLike[str]) -> None:
        """Go on from `path`. The envs are not part of it: they are reset with a seed made of `seed` and `global_step`.

        Raises CheckpointError, before anything is changed, if the file is damaged or made for another policy or env.
        """
        from pufferlib.train.checkpoint import load_checkpoint

        load_checkpoint(self, path)
        self._collected = False
        self.rollout.restart()

    def close(self) -> None:
        """Close the env. May be called any number of times."""
        if not self._closed:
            self._closed = True
            try:
                self.callbacks.end(self)
            finally:
                self.rollout.close()
                self.env.close()

    # ------------------------------------------------------------ parts of train()

    def _learn(self, minibatches: Iterator[Minibatch], ratios: Tensor | None, values: Tensor) -> bool:
        """One epoch. Notes ratios and values as they were seen. Returns False once target_kl is exceeded."""
        config = self.config
        for batch in minibatches:
            losses, ratio, value = self._gradients(batch)
            self._update(losses)
            if ratios is not None:
                ratios.view(-1)[batch.samples] = ratio
                values.view(-1)[batch.samples] = value
            if config.target_kl and float(losses.approx_kl) > config.target_kl:
                return False
        return True

    def _gradients(self, batch: Minibatch) -> tuple[Losses, Tensor, Tensor]:
        """Leave the gradients of a minibatch's loss in the parameters. Returns its losses, ratios and values [samples]."""
        if self.native:
            return self.native.learn(batch, self.config)
        losses, ratio, value = self._losses(batch)
        self.optimizer.zero_grad()
        losses.total.backward()  # type: ignore[no-untyped-call]
        return losses, ratio, value

    def _losses(self, batch: Minibatch) -> tuple[Losses, Tensor, Tensor]:
        """The losses of a minibatch; its ratios and values [samples], without gradient."""
        if batch.state is not None and batch.starts is not None:
            parameters, value, _ = unroll(self.policy, batch.observations, batch.state, batch.starts)
            parameters = _flatten_steps(parameters)
        else:
            parameters, value = self.policy(batch.observations)
        value = value.reshape(-1)
        fused = fused_losses(self.distribution, parameters, value, batch, self.config)
        if fused is not None:
            return *fused, value.detach()
        log_prob, entropy = self.distribution.evaluate(parameters, batch.actions, batch.action_masks)
        losses = ppo_losses(
            log_prob, entropy, value, old_log_prob=batch.old_log_prob, old_value=batch.old_value, advantage=batch.advantage,
            target=batch.target, weights=batch.weights, config=self.config,
        )  # fmt: skip
        return losses, (log_prob.detach() - batch.old_log_prob).exp(), value.detach()

    def _update(self, losses: Losses) -> None:
        """One step of the optimizer, unless a loss or a gradient is not finite."""
        norm = clip_gradients(self.optimizer.parameters, self.config.max_grad_norm)
        if not torch.isfinite(norm + losses.total.detach()):
            if self.config.nonfinite == "raise":
                error = update_error(self.rollout, self.policy, losses._asdict())
                self.optimizer.zero_grad()
                raise error
            self.metrics.skipped_updates += 1
            return
        self.optimizer.step()
        self.metrics.add_losses(losses, norm)
        if self.callbacks.listens_to_updates:
            self.callbacks.call("on_update", self, losses)

    def _valid_samples(self) -> Tensor:
        """bool[horizon, rows]: real steps, without rows that hold NaN or infinity if those are to be skipped."""
        bad = find_bad_rows(self.rollout)
        if bad is None:
            return self.rollout.masks
        if self.config.nonfinite == "raise":
            raise rollout_error(self.rollout)
        self.metrics.skipped_rows += int(bad.sum())
        self.rollout.forget(bad)
        return self.rollout.masks & ~bad

    def _update_statistics(self, valid: Tensor) -> None:
        """Show a policy that standardises its inputs some real observations of this rollout, after it was learnt from."""
        update = getattr(self.policy, "update_statistics", None)
        if update is None:
            return
        every = min(len(valid), max(1, valid.numel() // STATISTICS_SAMPLES))  # steps, for an even share of all rows
        update(self.rollout.observations[:-1][::every][valid[::every]])

    def _scaled_rewards(self) -> Tensor:
        rewards, config = self.rollout.rewards, self.config
        if config.reward_scale != 1.0:
            rewards = rewards * config.reward_scale
        if config.reward_clip:
            rewards = rewards.clamp(-config.reward_clip, config.reward_clip)
        return rewards

    def _rate_at(self, step: int) -> float:
        if "learning_rate" in self.schedules:
            return self.rate_factor * float(self.schedules["learning_rate"](self._progress(step)))
        return self.rate_factor * scheduled_rate(self.config, step)

    def _progress(self, step: int) -> float:
        """The share of total_timesteps done at that step."""
        return min(1.0, step / self.config.total_timesteps)

    def _prio_beta(self) -> float:
        start = self.config.prio_beta0
        return start + (1 - start) * min(1.0, self.global_step / self.config.total_timesteps)

    def _reset_seed(self) -> int:
        """Of the envs' first reset: the setting itself at the start, another one for every step count resumed at."""
        if not self.global_step:
            return self.config.seed
        return int(np.random.SeedSequence([self.config.seed, self.global_step]).generate_state(1)[0] >> 1)

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("this trainer is closed; make a new one")


def _with_settings(config: TrainConfig, settings: dict[str, Any]) -> TrainConfig:
    known = TrainConfig.__dataclass_fields__
    for name in settings:
        if name not in known:
            import difflib

            near = difflib.get_close_matches(name, known, n=1)
            raise ConfigError(f"PuffeRL has no setting {name!r}; {f'did you mean {near[0]}?' if near else 'see TrainConfig'}")
    return replace(config, **settings)


def _flatten_steps(parameters: Any) -> Any:
    """[horizon, rows, ...] to [horizon * rows, ...] in every part of action parameters."""
    if isinstance(parameters, Tensor):
        return parameters.flatten(0, 1)
    return tuple(part.flatten(0, 1) for part in parameters)
