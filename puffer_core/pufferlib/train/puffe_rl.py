"""PuffeRL: proximal policy optimisation on a VecEnv.

    trainer = PuffeRL(env=env, policy=policy, learning_rate=3e-4)
    for logs in trainer:
        print(logs["global_step"], logs.get("environment/episode_return"))

One iteration is `evaluate()`, which collects a rollout (rollout.py), `train()`, which learns from it (learner.py), and
`mean_and_log()`, which reports.
"""

from __future__ import annotations

import contextlib
import sys
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from pufferlib.config.schedules import Schedule, check_changeable, make_schedules, scheduled
from pufferlib.config.train_config import TrainConfig
from pufferlib.errors import ClosedError, ConfigError
from pufferlib.policies.distributions import distribution_of
from pufferlib.train.callbacks import Callback, Callbacks
from pufferlib.train.device import choose_device
from pufferlib.train.distributed import Ranks
from pufferlib.train.learner import Learner
from pufferlib.train.metrics import Metrics
from pufferlib.train.minibatches import check_minibatch_size
from pufferlib.train.native import native_network
from pufferlib.train.network import LOSS_SETTINGS, Network
from pufferlib.train.optim import Optimizer, scheduled_rate
from pufferlib.train.pooling import Pool
from pufferlib.train.rollout import Rollout

if TYPE_CHECKING:
    from pufferlib.train.loggers import Logger, Loggers


class PuffeRL:
    """Trains `policy` on `env`.

    env: a VecEnv. policy: an nn.Module, see `pufferlib.pytorch`; it is moved to the device.
    config: a TrainConfig; `settings` override single fields of it, by their names. Raises ConfigError for a setting that does not
    exist or does not fit the env.
    callbacks: see pufferlib.train.callbacks. schedules: setting name -> text, number or function of the progress, see
    pufferlib.config.schedules; they win over the fields of config.
    logger: a pufferlib.Logger such as `WandbLogger(project="x")`, or several: on rank 0 they get each row of mean_and_log and the
    checkpoints, in threads of their own; `close` waits for them. run_dir: where they keep their files; None: a new folder below
    runs/. With the folder of an earlier trainer they go on with its runs.

    Under torchrun every process makes its own env, policy and trainer, and calls the same methods in the same order; together
    they learn what one process with all their envs would, see pufferlib.train.distributed. rank, world_size: this process's
    number, and how many there are. Only rank 0 writes checkpoints.

    global_step: agent-steps collected so far, num_agents * horizon for each rollout, of all ranks. epoch: rollouts learnt from.
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
        logger: Logger | Sequence[Logger] = (),
        run_dir: str | PathLike[str] | None = None,
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
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        self.policy = policy.to(self.device)
        self.distribution = distribution_of(self.policy, env.single_action_space)
        self.generator = torch.Generator(self.device).manual_seed(config.seed)
        self.optimizer = Optimizer(self.policy, self.distribution.parameter_sizes, config)
        by_kernels = config.learner == "auto" and config.precision == "float32" and not config.compile
        self.native = native_network(self.policy, self.distribution, self.device) if by_kernels else None
        """Runs the policy where it is one that the kernels can run; else torch does."""
        self.network = Network(
            self.policy, self.distribution, config, self.device, acting=env.agents_per_batch,
            learning=min(config.minibatch_size, config.batch_size), fixed_losses=not LOSS_SETTINGS & set(schedules or {}),
        )  # fmt: skip
        self.rollout = Rollout(env, self.native or self.network, self.distribution, config.horizon, self.device, self.generator)
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
        """Means over the episodes that ended in the last rollout, and their number `n`; {} if none did."""
        self.is_stopped = False
        """Whether `stop` was called."""
        self.metrics = Metrics(self.device)
        self.learner = Learner(self)
        self._collected = False
        self._closed = False
        self.global_batch = config.batch_size
        """Agent-steps of one rollout, of all ranks."""
        self.rank, self.world_size = 0, 1
        self.ranks = Ranks.join(self.device, config.rank_timeout_s)
        """The processes of this job, this one among them; None where it is the only one."""
        if self.ranks is not None:
            self.rank, self.world_size = self.ranks.rank, self.ranks.size
            try:
                self.pool = Pool(self.ranks, self)
            except BaseException as error:
                self.ranks.close(error)
                raise
            self.global_batch = self.pool.global_batch
            if self.rank:
                self.seed_draws()
        self.loggers = self._open_loggers(logger, run_dir) if logger and self.rank == 0 else None

    # ------------------------------------------------------------ one iteration

    def evaluate(self) -> None:
        """Collect one rollout: horizon steps of every row with the policy as it is now."""
        self._check_open()
        with self._guard():
            self.callbacks.start(self)
            if self.native:
                self.native.expect_changes()
            with self.network.autocast():
                self.rollout.collect(self._reset_seed())
            self.global_step += self.global_batch
            self._collected = True
            episodes = self.env.drain_log()
            if self.ranks:
                episodes = self.pool.episodes(episodes)
            self.metrics.add_episodes(episodes)
            self.recent_episodes = episodes
            self.callbacks.call("on_rollout", self)

    def train(self) -> None:
        """Learn from the rollout that evaluate() collected; it can be learnt from once.

        Raises NonFiniteError, before any weight is touched, where NaN or infinity turns up (unless nonfinite="skip").
        """
        self._check_open()
        if not self._collected:
            raise ConfigError("train() without a rollout: call evaluate() before each train()")
        with self._guard():
            start = time.perf_counter()
            before = self.global_step - self.global_batch
            if self.schedules:
                self.config = scheduled(self.config, self.schedules, self._progress(before))
            valid = self.learner.valid_samples()
            self._collected = False
            # the rate of the rollout's first step: the first update uses the full rate and the last one not yet zero
            self.optimizer.set_learning_rate(self._rate_at(before))
            self.learner.learn(valid)
            self.epoch += 1
            self.metrics.times["learn"] += time.perf_counter() - start
            self.callbacks.call("on_epoch", self)

    def mean_and_log(self) -> dict[str, float]:
        """Metrics since the last call: means of losses and of the episodes that ended, speed, and where the time went."""
        self.metrics.add_times(self.rollout.times)
        self.metrics.take_out(self.network.compile_s)
        self.last_log = self.metrics.drain(self.global_step, self.epoch, self.learning_rate)
        self.last_log.update({f"schedule/{name}": float(getattr(self.config, name)) for name in self.schedules})
        self.callbacks.call("on_log", self, self.last_log)
        if self.loggers:
            self.loggers.log(self.last_log, self.global_step)
        return self.last_log

    # ------------------------------------------------------------ whole runs

    def __iter__(self) -> Iterator[dict[str, float]]:
        """One iteration at a time until total_timesteps are done; yields the metrics of each."""
        while self.global_step < self.config.total_timesteps and not self._is_stopped_anywhere():
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
        """Write policy, optimizer, schedule, counters and random states to `path`, atomically. Ranks other than 0: nothing."""
        from pufferlib.train.checkpoint import save_checkpoint

        if self.rank == 0:
            save_checkpoint(self, path)
            if self.loggers:
                self.loggers.log_checkpoint(Path(path), self.global_step)

    def load_checkpoint(self, path: str | PathLike[str]) -> None:
        """Go on from `path`. The envs are not part of it: they are reset with a seed made of `seed` and `global_step`.

        With several ranks all must call it; rank 0 alone reads the file.
        Raises CheckpointError, before anything is changed, if the file is damaged or made for another policy or env.
        """
        from pufferlib.train.checkpoint import load_checkpoint

        with self._guard():
            load_checkpoint(self, path)
        if self.ranks:
            self.pool.remember_env_state()
        self._collected = False
        self.rollout.restart()

    def close(self) -> None:
        """Close the env and the loggers. May be called any number of times. Other ranks are told of an exception on its way."""
        if not self._closed:
            self._closed = True
            error = sys.exc_info()[1]
            try:
                if self.ranks:
                    self.ranks.close(error)
                self.callbacks.end(self)
            finally:
                self.rollout.close()
                self.env.close()
                if self.loggers:
                    is_asked_to = isinstance(error, KeyboardInterrupt)
                    self.loggers.close("finished" if error is None else "interrupted" if is_asked_to else "failed")

    # ------------------------------------------------------------ parts

    def _open_loggers(self, logger: Logger | Sequence[Logger], run_dir: str | PathLike[str] | None) -> Loggers:
        from pufferlib.train.loggers import open_loggers

        train = {name: "auto" if value is None else value for name, value in vars(self.config).items()}
        tables = {"env_name": self.env.name, "vec": {"num_envs": self.env.num_envs}, "train": train}
        tables["policy"] = {"name": type(self.policy).__name__}
        try:
            loggers = open_loggers(logger, run_dir, tables, self.env.name)
        except BaseException as error:
            if self.ranks:
                self.ranks.close(error)
            raise
        self.metrics.restart_clock()
        weakref.finalize(self, loggers.close)  # for scripts that end without close()
        return loggers

    def seed_draws(self) -> None:
        """Let a rank other than 0 draw its actions and minibatches by a seed of its own."""
        seed = np.random.SeedSequence([self.config.seed, self.global_step, self.rank])
        self.generator.manual_seed(int(seed.generate_state(1)[0]))

    def _rate_at(self, step: int) -> float:
        if "learning_rate" in self.schedules:
            return self.rate_factor * float(self.schedules["learning_rate"](self._progress(step)))
        return self.rate_factor * scheduled_rate(self.config, step)

    def _progress(self, step: int) -> float:
        """The share of total_timesteps done at that step."""
        return min(1.0, step / self.config.total_timesteps)

    def _reset_seed(self) -> int | list[int]:
        """Of the envs' first reset: the setting itself at the start, another one for every step count resumed at."""
        seed = self.config.seed
        if self.global_step:
            seed = int(np.random.SeedSequence([seed, self.global_step]).generate_state(1)[0] >> 1)
        return self.pool.env_seeds(seed) if self.ranks else seed

    def _is_stopped_anywhere(self) -> bool:
        if self.ranks:
            self.is_stopped = any(self.ranks.exchange(self.is_stopped))
        return self.is_stopped

    def _guard(self) -> contextlib.AbstractContextManager[None]:
        """Other ranks are told of what is raised inside."""
        return self.ranks.guard() if self.ranks else contextlib.nullcontext()

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
