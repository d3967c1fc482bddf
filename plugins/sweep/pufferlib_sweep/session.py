"""A sweep in its directory: begun, or gone on with.

    runs/ocean-breakout/20260101-120000-sweep/
      sweep.toml     what is searched, and how; `--sweep.resume DIR` reads it
      study.db       Optuna's study of all trials, as `optuna-dashboard sqlite:///.../study.db` shows it
      trials/0007/   the run of a trial, as any run's directory
      logs/0007.log  what that run printed; 0007.toml: the settings that it was given
      best.toml, index.html, *.png, parallel.html   the report

Two processes may be at work in one directory; whoever comes second joins the study.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pufferlib.atomic import replacing
from pufferlib.config.files import dump_toml, read_toml
from pufferlib.errors import ConfigError
from pufferlib.train.run_dir import free_path
from pufferlib_sweep.launch import TRIALS, Launcher, LocalLauncher
from pufferlib_sweep.outcome import Outcome
from pufferlib_sweep.plan import Plan
from pufferlib_sweep.runner import AtWork, Sweep, directory_name
from pufferlib_sweep.samplers import make_sampler
from pufferlib_sweep.settings import SweepConfig
from pufferlib_sweep.space import SearchSpace
from pufferlib_sweep.study import open_storage, open_study, quiet
from pufferlib_sweep.tasks import FunctionTask, IsolatedTask, Objective, Task, TrainTask

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial, Trial

SWEEP_FILE = "sweep.toml"
PLAN = "plan"
"""The study's attribute that holds the plan, so that every process of it can compare its own."""


@dataclass
class Session:
    """A study with its space, ready to run trials."""

    directory: Path | None
    config: SweepConfig
    space: SearchSpace
    study: Study
    start: Callable[[int, dict[str, Any], str, int], Task]
    launcher: Launcher | None = None
    stop_signal: int = 0
    """The number of the signal that interrupted `run`."""

    def run(
        self,
        on_end: Callable[[FrozenTrial], None] = lambda trial: None,
        on_look: Callable[[list[AtWork]], None] = lambda at_work: None,
    ) -> str:
        """Run trials until the sweep is over, and say why it is: one of the words in `runner`."""
        should_stop = stopper(self.config, self.space) if self.config.early_stop else None
        sweep = Sweep(self.study, self.space, self.config, self.start, should_stop=should_stop, on_end=on_end, on_look=on_look)
        try:
            with quiet():
                return sweep.run()
        finally:
            self.stop_signal = sweep.stop_signal
            if self.launcher is not None:
                self.launcher.close()


def train_session(plan: Plan, run_dir: str | Path = "", tag: str = "") -> Session:
    """The session of a plan, in a new directory, or on in one that holds a sweep of the same.

    Raises ConfigError if the directory holds anything else, or the study is of another plan.
    """
    directory = Path(run_dir).expanduser() if run_dir else free_path(plan.env_name, tag or "sweep")
    taken = directory.exists() and (not directory.is_dir() or any(directory.iterdir()))
    if taken and not (directory / SWEEP_FILE).is_file():
        raise ConfigError(f"--run-dir {directory}: exists, is not empty, and holds no sweep; name another directory")
    before = SweepConfig()
    if taken:
        earlier = read_plan(directory)
        plan.check_same(earlier, str(directory))
        before = earlier.sweep
    config = replace(
        plan.sweep,
        name=plan.sweep.name or before.name or directory.resolve().name,
        storage=plan.sweep.storage or before.storage,
    )
    plan = replace(plan, sweep=config)
    space = SearchSpace.from_tables(plan.space)
    study, is_new = start_study(config, space, directory, config.name)
    if PLAN in study.user_attrs:
        plan.check_same(Plan.from_record(study.user_attrs[PLAN]), f"study {study.study_name!r}")
    else:
        study.set_user_attr(PLAN, replace(plan, sweep=replace(config, storage="")).as_record())  # its URL may hold a password
    with replacing(directory / SWEEP_FILE, "w") as file:
        file.write(dump_toml(plan.as_record()))
    if is_new:
        own = Own(plan)
        study.enqueue_trial(space.to_params({p.name: own.value(p.name, space) for p in space.values()}))
    launcher = make_launcher(config, directory)

    def start(number: int, values: dict[str, Any], metric: str, slot: int) -> Task:
        return TrainTask(plan, directory_name(number, directory / TRIALS), values, metric, launcher, slot)

    return Session(directory, config, space, study, start, launcher)


def function_session(
    objective: Objective, space: SearchSpace, config: SweepConfig, run_dir: str | Path, *, isolate: bool
) -> Session:
    """The session of a function of the user's own. Without `run_dir` and storage the study lives in memory."""
    directory = Path(run_dir).expanduser() if run_dir else None
    name = config.name or (directory.resolve().name if directory else "sweep")
    study, _ = start_study(config, space, directory, name)

    def start(number: int, values: dict[str, Any], metric: str, slot: int) -> Task:
        if isolate or config.parallel > 1:
            return IsolatedTask(objective, values, config.trial_timeout_s)
        return FunctionTask(objective, values)

    return Session(directory, config, space, study, start)


def start_study(config: SweepConfig, space: SearchSpace, directory: Path | None, name: str) -> tuple[Study, bool]:
    """The study in its storage, and whether it is new. Raises ConfigError."""
    sampler = make_sampler(config.method, space, config.seed, parallel=config.parallel > 1)
    if directory is None and not config.storage:
        import optuna

        with quiet():
            return optuna.create_study(direction=config.goal, sampler=sampler, study_name=name), True
    return open_study(config.storage, directory or Path(), name, config.goal, sampler)


def read_plan(directory: Path) -> Plan:
    """The plan of the sweep in that directory. Raises ConfigError if there is none."""
    path = directory / SWEEP_FILE
    if not path.is_file():
        raise ConfigError(f"{directory}: holds no sweep, there is no {SWEEP_FILE}")
    return Plan.from_record(read_toml(path))


def load_study(plan: Plan, directory: Path) -> Study:
    """The study of the sweep in that directory, for reading. Raises ConfigError if there is none."""
    import optuna

    with quiet():
        try:
            return optuna.load_study(study_name=plan.sweep.name, storage=open_storage(plan.sweep.storage, directory))
        except KeyError:
            raise ConfigError(f"{directory}: its storage holds no study {plan.sweep.name!r}") from None


@dataclass(frozen=True)
class Own:
    """A sweep begins with the settings that the env has anyway, so that its best is never worse than these."""

    plan: Plan

    def value(self, name: str, space: SearchSpace) -> Any:
        """The mean of a number's table, or the middle of its range; the run's own choice, if it is among the choices."""
        parameter, table = space[name], self.plan.space[name]
        if "choices" in table:
            part, _, key = name.partition(".")
            own = self.plan.tables.get(part, {}).get(key)
            return own if own in table["choices"] else table["choices"][0]
        mean = table.get("mean", "auto")
        value = parameter.from_unit(0.5 if mean == "auto" else parameter.to_unit(mean))
        return float(mean) if mean != "auto" and isinstance(value, float) else value


def make_launcher(config: SweepConfig, directory: Path) -> Launcher:
    """Where trials run. Raises PluginError if Ray is wanted and not installed."""
    if config.backend == "local":
        return LocalLauncher(directory, config.parallel)
    from pufferlib_sweep.on_ray import RayLauncher

    return RayLauncher(directory, config)


def stopper(config: SweepConfig, space: SearchSpace) -> Callable[[Study, Trial, Outcome], bool]:
    """Whether a trial at work is hopeless: Protein's own rule, or Optuna's median rule for the other methods."""
    if config.method == "protein":
        from pufferlib_sweep.early_stop import should_stop

        return lambda study, trial, so_far: should_stop(study, trial, space, curve=so_far.curve, curve_steps=so_far.curve_steps)
    import optuna

    pruner = optuna.pruners.MedianPruner(n_startup_trials=5)
    return lambda study, trial, so_far: pruner.prune(study, study.get_trials(deepcopy=False)[trial.number])
