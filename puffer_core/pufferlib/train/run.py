"""One training run from its settings: env, policy and trainer, the run's directory, Ctrl-C, resume."""

from __future__ import annotations

import inspect
import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pufferlib.config.run_config import RunConfig
from pufferlib.errors import CheckpointError, ConfigError, EnvError, NonFiniteError, RankError, WorkerError
from pufferlib.train.best import Ranking
from pufferlib.train.curves import draw_curves
from pufferlib.train.dashboard import QUIT, SAVE, VIDEO, Dashboard, make_dashboard
from pufferlib.train.interrupt import Interrupt, StepBrokenOff
from pufferlib.train.launch import launch
from pufferlib.train.loggers import Loggers, Status, check_loggers
from pufferlib.train.progress import number
from pufferlib.train.run_dir import RunDirectory, describe_run, free_path
from pufferlib.train.snapshots import Recorder, check_recorder

if TYPE_CHECKING:
    from pufferlib.train.puffe_rl import PuffeRL

log = logging.getLogger(__name__)
SHOWN_AT_THE_END = ("score", "perf", "episode_return", "episode_length")


def train_run(config: RunConfig, command_line: list[str], resume: RunDirectory | None = None) -> int:
    """Train as `config` says, in a new run directory or on from the newest good checkpoint of `resume`.

    command_line: recorded in config.toml
    Returns the exit code: 0, also after the key q, or 130 after Ctrl-C (143 after SIGTERM). Raises the library's errors, with
    nothing left open.
    """
    is_main = launch().rank == 0
    check_loggers(config.logger)
    if config.train.video_interval:
        check_recorder()
    if resume is None and is_main:
        free_path(config.env_name, config.tag, config.run_dir)  # refused before anything heavy is imported
    trainer = build_trainer(config)
    try:
        if not is_main:
            return follow(config, trainer, resume)
        run = resume or RunDirectory.create(config.env_name, config.tag, config.run_dir)
        trainer.callbacks.set_run_dir(run.path)
        with run.locked():
            started_from = start(config, command_line, trainer, run, is_new=resume is None)
            if trainer.global_step >= config.train.total_timesteps:
                print(f"{run.path}: already finished, at {trainer.global_step:,} of {config.train.total_timesteps:,} steps")
                if not run.curve_file.exists():
                    draw(config, run)
                return 0
            return Session(config, trainer, run, started_from).run()
    finally:
        trainer.close()
        trainer.env.close()


def follow(config: RunConfig, trainer: PuffeRL, resume: RunDirectory | None) -> int:
    """What ranks other than 0 do: train along, and write nothing. Returns the exit code."""
    if resume is not None:
        load_newest(trainer, resume)
    return Follower(config, trainer).run() if trainer.global_step < config.train.total_timesteps else 0


def start(config: RunConfig, command_line: list[str], trainer: PuffeRL, run: RunDirectory, *, is_new: bool) -> Path | None:
    """Bring trainer and directory to one state: settings written, the newest checkpoint loaded, rows after it dropped.

    Returns that checkpoint. A finished run is left as it is. Raises CheckpointError or ConfigError.
    """
    if is_new:
        free_path(config.env_name, config.tag, run.path)  # another process may have been faster
        record = describe_run(command_line)
        newest = None
    else:
        newest = load_newest(trainer, run)
        if trainer.global_step >= config.train.total_timesteps:
            return newest
        record = run.record()
        again = {"step": trainer.global_step, **describe_run(command_line)}
        record["resumed"] = [*record.get("resumed", []), again]
        run.cut_metrics(trainer.global_step)
    run.write_config(config.tables(), record)
    run.clear_leftovers(trainer.global_step)
    return newest


def build_trainer(config: RunConfig) -> PuffeRL:
    """The env, the policy and the trainer of these settings. `config.policy` is filled up with the policy's defaults."""
    import pufferlib
    from pufferlib.policies import build_policy
    from pufferlib.train.callbacks import load_callbacks
    from pufferlib.train.puffe_rl import PuffeRL

    vec, callbacks = config.vec, load_callbacks(config.callback)
    try:
        env = pufferlib.make(
            config.env_name, num_envs=vec.num_envs, num_workers=vec.num_workers, batch_size=vec.batch_size,
            envs_per_worker=vec.envs_per_worker, backend=vec.backend, seed=config.train.seed, in_order=vec.in_order,
            backend_options=vec.backend_options, **config.env,
        )  # fmt: skip
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise ConfigError(f"[env] {', '.join(config.env)}: {config.env_name} refuses: {error}") from error
    try:
        env = config.wrappers.around_observations(env)
        if config.self_play.enabled:
            from pufferlib.self_play import SelfPlay, SelfPlayVec

            play = config.self_play
            env = SelfPlayVec(env, share=play.share, draw_margin=play.draw_margin, seed=config.train.seed)
            callbacks = [SelfPlay(env, play), *callbacks]
        env = config.wrappers.around_rewards(env, config.train.gamma)
        spaces = env.single_observation_space, env.single_action_space
        policy = build_policy(config.policy.name, *spaces, seed=config.train.seed, **config.policy.kwargs)
        config.policy.kwargs = {**own_defaults(type(policy)), **config.policy.kwargs}
        return PuffeRL(env, policy, config.train, callbacks=callbacks, schedules=config.schedule)
    except BaseException:
        env.close()
        raise


def own_defaults(policy: type) -> dict[str, Any]:
    """The defaults in a policy's signature, those that TOML can hold, so that config.toml records them."""
    parameters = inspect.signature(policy).parameters.values()
    return {p.name: p.default for p in parameters if isinstance(p.default, (bool, int, float, str))}


def load_newest(trainer: PuffeRL, run: RunDirectory) -> Path | None:
    """Load the newest checkpoint that can be read; a damaged one is skipped with a warning. Without any, nothing changes.

    Returns which it was. Raises CheckpointError if a readable one belongs to another policy or env, or if all are damaged.
    """
    from pufferlib.train.checkpoint import latest_checkpoint

    def find() -> Path | None:
        newest = latest_checkpoint(run.checkpoint_folder)
        if newest is None and (damaged := run.checkpoints()):
            raise CheckpointError(f"{run.path}: none of its {len(damaged)} checkpoints can be read")
        return newest

    newest = trainer.ranks.from_main(find) if trainer.ranks else find()
    if newest is not None:
        trainer.load_checkpoint(newest)
    return newest


class Loop:
    """The training loop of one process, in step with those of other ranks: when to write rows and checkpoints, and to stop."""

    def __init__(self, config: RunConfig, trainer: PuffeRL) -> None:
        self.config, self.trainer = config, trainer
        self.total = config.train.total_timesteps
        self.logged_at = self.began = time.monotonic()
        self.logged_step = self.first_step = trainer.global_step
        self.stop_signal = 0
        """The signal that asked some rank to stop."""

    def loop(self, interrupt: Interrupt) -> bool:
        """Rollouts and updates. True when total_timesteps are done, False when a signal or a key asked to stop."""
        train, trainer = self.config.train, self.trainer
        row_is_due = False
        while not self.is_over(interrupt, row_is_due):
            trainer.evaluate()
            trainer.train()
            if train.checkpoint_interval and trainer.epoch % train.checkpoint_interval == 0:
                self.save()
            row_is_due = trainer.global_step > self.logged_step and time.monotonic() - self.logged_at >= train.log_interval_s
        interrupt.finished_step()
        self.save()
        return trainer.global_step >= self.total or trainer.is_stopped

    def is_over(self, interrupt: Interrupt, row_is_due: bool) -> bool:
        """Whether to stop before the next rollout, the same on all ranks. Writes what rank 0's clock or its user asks for."""
        trainer = self.trainer
        said = [(row_is_due, interrupt.requested, trainer.is_stopped, self.keys())]
        if trainer.ranks:
            said = trainer.ranks.exchange(said[0])
        self.stop_signal = max(number for _, number, _, _ in said)
        trainer.is_stopped = any(stopped for _, _, stopped, _ in said)
        keys = said[0][3]
        if SAVE in keys:
            self.save()
        elif said[0][0]:
            self.log_row()
        return trainer.global_step >= self.total or bool(self.stop_signal) or trainer.is_stopped or QUIT in keys

    @property
    def exit_code(self) -> int:
        """The shell's code for a program that the signal ended; 0 after the key that quits."""
        return 128 + self.stop_signal if self.stop_signal else 0

    def keys(self) -> str:
        """What rank 0's user has pressed."""
        return ""

    def log_row(self) -> dict[str, float]:
        """One row of metrics."""
        row = self.trainer.mean_and_log()
        self.logged_at, self.logged_step = time.monotonic(), self.trainer.global_step
        return row

    def save(self) -> None:
        """A row of this step, unless it has one."""
        if self.trainer.global_step > self.logged_step:
            self.log_row()


class Follower(Loop):
    """The loop of ranks other than 0."""

    def run(self) -> int:
        """Train to the end, or until some rank is asked to stop. Returns the exit code."""
        with Interrupt() as interrupt:
            try:
                return 0 if self.loop(interrupt) else self.exit_code
            except StepBrokenOff:
                return interrupt.exit_code


class Session(Loop):
    """The loop of rank 0, or of the only process: rows, checkpoints, messages and the end.

    saved: the checkpoint that the trainer goes on from, if any
    """

    def __init__(self, config: RunConfig, trainer: PuffeRL, run: RunDirectory, saved: Path | None = None) -> None:
        super().__init__(config, trainer)
        self.run_dir, self.saved = run, saved
        self.ranking = Ranking(config.train.best_metric, run.rows())
        self.loggers = Loggers(
            config.logger, run.path, config.tables(), settings=config.loggers, env_name=config.env_name, rows=run.rows()
        )
        self.logged_at = self.began = trainer.metrics.restart_clock()
        self.recorder = Recorder(run.path / "videos", trainer.save_checkpoint)
        self.dashboard: Dashboard = make_dashboard(f"{config.env_name}  {run.path}", self.total, trainer.global_step)
        self.episodes: dict[str, Any] = {}

    def run(self) -> int:
        """Train to the end, or until Ctrl-C. Returns the exit code."""
        status: Status = "failed"
        with Interrupt(self.dashboard.stopping) as interrupt:
            try:
                finished = self.loop(interrupt)
                status = "finished" if finished else "interrupted"
                if not finished:
                    self.dashboard.say(f"stopped at step {self.trainer.global_step:,}; saved {self.newest()}")
            except StepBrokenOff:
                status = "interrupted"
                self.dashboard.say(f"broke off the step at {self.trainer.global_step:,}; last checkpoint: {self.newest()}")
                return interrupt.exit_code
            except (EnvError, WorkerError):
                self.dashboard.say(f"an env failed at step {self.trainer.global_step:,}; last checkpoint: {self.newest()}")
                raise
            except (NonFiniteError, RankError) as error:
                raise type(error)(f"{error}; last good checkpoint: {self.newest()}") from error
            finally:
                interrupt.finished_step()
                self.dashboard.close()
                self.recorder.close()
                self.loggers.close(status, self.best())
        if finished:
            self.finish()
            return 0
        print(f"go on with: puffer train --resume {self.run_dir.path}")
        return self.exit_code

    def keys(self) -> str:
        """As the dashboard heard them. Videos are begun here, and told of when they end."""
        keys, trainer, interval = self.dashboard.keys(), self.trainer, self.config.train.video_interval
        if ended := self.recorder.ended():
            self.dashboard.note(ended)
        is_due = interval and trainer.epoch and trainer.epoch % interval == 0 and not self.recorder.is_busy
        if (is_due or VIDEO in keys) and trainer.global_step < self.total and QUIT not in keys:
            self.dashboard.note(self.recorder.begin(trainer.global_step))
        return keys

    def log_row(self) -> dict[str, float]:
        """One row of metrics to every logger and the dashboard."""
        row = super().log_row()
        self.loggers.log(row, self.logged_step)
        self.ranking.add(row)
        if "time/compile" in row:
            self.dashboard.say(f"compiled the policy in {row['time/compile']:.1f} s")
        self.dashboard.update(row)
        is_first = not self.episodes
        self.episodes.update({k.partition("/")[2]: v for k, v in row.items() if k.startswith("environment/")})
        if is_first and self.episodes and self.ranking.name is None:
            metric, known = self.config.train.best_metric, ", ".join(self.episodes)
            log.warning("best_metric=%r: the episodes log no such number, so no checkpoint is best (they log %s)", metric, known)
        return row

    def save(self) -> None:
        """A row and then a checkpoint of this step, unless it has them, and no more checkpoints than the settings keep."""
        path, train = self.run_dir.checkpoint_path(self.trainer.global_step), self.config.train
        name = path.relative_to(self.run_dir.path).as_posix()
        if path == self.saved:
            self.dashboard.saved(name)
            return
        super().save()
        self.loggers.sync()
        self.trainer.save_checkpoint(path)
        self.saved = path
        self.loggers.log_checkpoint(path, self.trainer.global_step)
        self.run_dir.prune(train.keep_checkpoints, train.keep_best, self.ranking)
        self.dashboard.saved(name)

    def newest(self) -> str:
        """The newest checkpoint, for messages."""
        found = self.run_dir.checkpoints()
        return relative(found[0]) if found else "none yet"

    def best(self) -> Path | None:
        """The best checkpoint by this run's ranking, if any."""
        steps = self.ranking.best(int(path.stem) for path in self.run_dir.checkpoints())
        return self.run_dir.checkpoint_path(steps[0]) if steps else None

    def finish(self) -> None:
        """Draw the curve; print where the run is, how it ended and how to watch it."""
        seconds = max(time.monotonic() - self.began, 1e-9)
        speed = (self.trainer.global_step - self.first_step) / seconds
        drawn = draw(self.config, self.run_dir)
        print(f"run       {relative(self.run_dir.path)}")
        print(f"steps     {self.trainer.global_step:,} in {seconds:,.1f} s, {speed:,.0f} steps/s")
        shown = [f"{name} {number(self.episodes[name])}" for name in SHOWN_AT_THE_END if name in self.episodes]
        print(f"episodes  {', '.join(shown) or 'none ended'}")
        for best in self.run_dir.best_checkpoints()[:1]:
            print(f"best      {relative(best)}, {self.ranking.name} {number(self.ranking.value(int(best.stem)))}")
        if drawn:
            print(f"curve     {relative(self.run_dir.curve_file)}")
        for name, place in self.loggers.places:
            print(f"{name:<8}  {place}")
        print(f"watch     puffer play {relative(self.run_dir.path)}", flush=True)


def draw(config: RunConfig, run: RunDirectory) -> bool:
    """curve.png; training is over by then, so a failure to draw is only a warning."""
    try:
        return draw_curves(run.rows(), run.curve_file, f"{config.env_name}, {config.policy.name}")
    except Exception as error:
        log.warning("no learning curve: %s: %s", type(error).__name__, error)
        return False


def relative(path: Path) -> str:
    """The shorter of the absolute path and the one from here, for messages that can be pasted back."""
    try:
        near = os.path.relpath(path)
    except ValueError:  # another drive
        return str(path)
    return min(near, str(path), key=len)
