"""`puffer eval RUN_OR_ENV`: measure returns, or record a video. In a window it is `puffer play`."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pufferlib.cli.flags import Arguments, scan
from pufferlib.config.run_config import Given, Schema, Setting
from pufferlib.config.values import Kind
from pufferlib.errors import CheckpointError, ConfigError, EnvNotFoundError

if TYPE_CHECKING:
    from pufferlib.config.run_config import RunConfig
    from pufferlib.config.wrappers_config import WrappersConfig
    from pufferlib.eval import Episode

HELP = """\
usage: puffer eval RUN_OR_ENV [flags]

Play episodes and print their returns. RUN_OR_ENV is a run directory, a checkpoint file in one, or the name of an environment.

  --episodes N          how many episodes (10; in a window: until it is closed)
  --max-steps N         cut an episode that has not ended after so many; its agent plays no more (100000)
  --render MODE         none; rgb_array: frames for --video; human: a window, as `puffer play` opens it (none)
  --video FILE          record the first world: .mp4, .webm, .mkv or .gif
  --fps N               steps per second of a video or window (as the game suggests)
  --policy WHAT         random, or a run directory or checkpoint (the run's own; for an environment: random)
  --checkpoint WHICH    of a run directory: latest, best, or a file (latest)
  --num-envs N          worlds that play side by side (1)
  --seed S              makes the evaluation repeatable (random)
  --deterministic       take the likeliest action instead of sampling
  --device DEVICE       of the policy: auto, cpu, cuda, cuda:N, mps (cpu)
  --env.NAME VALUE      a setting of the environment, over the run's own

  puffer eval runs/ocean-breakout/... --episodes 100
  puffer eval runs/ocean-breakout/... --episodes 1 --video out.mp4
"""
SETTINGS = {
    "episodes": Setting(Kind("int", low=1, high=10**9)),
    "max_steps": Setting(Kind("int", low=1, high=10**9)),
    "render": Setting(Kind("text", choices=("none", "rgb_array", "human")), "none"),
    "video": Setting(Kind("text"), ""),
    "fps": Setting(Kind("float", low=0.5, high=960)),
    "policy": Setting(Kind("text"), ""),
    "checkpoint": Setting(Kind("text"), "latest"),
    "num_envs": Setting(Kind("int", low=1, high=1 << 20), 1),
    "seed": Setting(Kind("int", low=0, high=2**63 - 1)),
    "deterministic": Setting(Kind("bool"), False),
    "device": Setting(Kind("text"), "cpu"),
}
SCHEMA = Schema(SETTINGS, frozenset({"env"}))
RANDOM = "random"
EPISODES = 10
MAX_STEPS = 100_000
"""Longer than whole episodes usually are; one that never ends is over in a minute or so."""
FPS = 30.0
"""Where neither the env nor the user says how fast it goes."""
TICKS_PER_SECOND = 60
"""Of games with a frameskip."""


@dataclass
class Request:
    """What is asked for."""

    env_name: str
    env_kwargs: dict[str, Any]
    wrappers: WrappersConfig
    policy: str
    """`random`, or a run directory or checkpoint."""
    options: dict[str, Any]

    @property
    def is_human(self) -> bool:
        """In a window."""
        return bool(self.options["render"] == "human")


def run(argv: list[str]) -> int:
    """The command. Returns the exit code."""
    arguments = scan(argv, switches=("deterministic",))
    if arguments.wants_help:
        print(HELP, end="")
        return 0
    request = read_request(arguments)
    if request.is_human:
        from pufferlib.cli.play import play

        return play(request)
    return measure(request)


# ---------------------------------------------------------------- what is asked for


def read_request(arguments: Arguments, command: str = "puffer eval") -> Request:
    """Check everything that can be checked before an env is made. Raises ConfigError, EnvNotFoundError or CheckpointError."""
    arguments.at_most(1, command)
    if not arguments.positional:
        raise ConfigError(f"what? `{command} RUN_OR_ENV`: a run directory, or an environment such as ocean-breakout; see --help")
    options = {key: setting.default for key, setting in SETTINGS.items()}
    options.update({given.key: SCHEMA.convert(given) for given in arguments.flags if not given.key.startswith("env.")})
    check_options(options)
    own = [given for given in arguments.flags if given.key.startswith("env.")]
    config, is_run = find_config(arguments.positional[0], own)
    policy = options["policy"] or (arguments.positional[0] if is_run else RANDOM)
    if policy != RANDOM and not Path(policy).exists():
        raise CheckpointError(f"--policy {policy}: there is no such run directory or checkpoint; `random` plays at random")
    return Request(config.env_name, config.env, wrappers_of(policy) or config.wrappers, policy, options)


def wrappers_of(policy: str) -> WrappersConfig | None:
    """Those that a policy was trained with; None for random play, and for a checkpoint that lies in no run."""
    if policy == RANDOM:
        return None
    try:
        return find_config(policy, [])[0].wrappers
    except ConfigError:
        return None


def check_options(options: dict[str, Any]) -> None:
    """Raise ConfigError where options contradict each other."""
    if options["render"] == "human" and options["video"]:
        raise ConfigError("--video records with --render rgb_array, not with --render human")
    if options["render"] == "human" and options["num_envs"] != 1:
        raise ConfigError(f"--render human shows one world, got --num-envs {options['num_envs']}")
    if options["render"] == "human" and options["max_steps"]:
        raise ConfigError("--max-steps is for evaluations without a window, not for --render human, which you can close")
    if options["video"]:
        from pufferlib.render.video import check_path

        check_path(options["video"])


def find_config(target: str, own: list[Given]) -> tuple[RunConfig, bool]:
    """The settings of a run, or of an env by its name, under the given ones, and whether it is a run."""
    from pufferlib.config.resolve import resolve
    from pufferlib.train.run_dir import RunDirectory

    if Path(target).exists():
        found = RunDirectory.containing(target)
        tables = found.tables()
        name = tables.get("env_name")
        if not isinstance(name, str):
            raise ConfigError(f"{found.config_file}: no env_name")
        return resolve(name, own, base=tables), True
    try:
        return resolve(target, own), False
    except EnvNotFoundError as error:
        if "/" in target or "\\" in target:
            raise ConfigError(f"{target}: no such run directory or checkpoint") from None
        raise error


def steps_per_second(request: Request, env: Any) -> float:
    """As the user says, else the env's metadata, else by its frameskip."""
    frameskip = request.env_kwargs.get("frameskip")
    usual = TICKS_PER_SECOND / frameskip if isinstance(frameskip, int) and frameskip > 0 else FPS
    return float(request.options["fps"] or getattr(env, "metadata", {}).get("render_fps") or usual)


def find_target(env_name: str) -> tuple[Any, Any]:
    """An env's record, and the class or function behind it."""
    from pufferlib.plugins import registry

    spec = registry().find_env(env_name)
    return spec, registry().resolve(spec.target, spec)


def frames_mode(target: Any) -> str | None:
    """`rgb_array` for envs that take a render_mode. Others may have a render() all the same."""
    try:
        parameters = inspect.signature(target).parameters
    except (TypeError, ValueError):  # a callable written in C
        return None
    takes_it = "render_mode" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return "rgb_array" if takes_it else None


def build_policy(request: Request, env: Any) -> Any:
    """The policy, or None for random play."""
    if request.policy == RANDOM:
        return None
    from pufferlib.loading import load_policy
    from pufferlib.train.device import choose_device

    request.options["device"] = str(choose_device(request.options["device"]))
    return load_policy(request.policy, request.options["checkpoint"], env, device=request.options["device"])


# ---------------------------------------------------------------- measuring


def measure(request: Request) -> int:
    """Play the episodes, record them if asked, print the table."""
    import pufferlib
    from pufferlib.eval import evaluate
    from pufferlib.render.video import VideoWriter

    options = request.options
    count, most = options["episodes"] or EPISODES, options["max_steps"] or MAX_STEPS
    wants_frames = bool(options["video"] or options["render"] == "rgb_array")
    mode = frames_mode(find_target(request.env_name)[1]) if wants_frames else None
    env = pufferlib.make(
        request.env_name, num_envs=options["num_envs"], backend="serial" if wants_frames else "auto",
        render_mode=mode, seed=options["seed"], **request.env_kwargs,
    )  # fmt: skip
    try:
        env = request.wrappers.around_observations(env)
        policy = build_policy(request, env)
        play_all = functools.partial(
            evaluate, env, policy, count, deterministic=options["deterministic"], seed=options["seed"],
            device=options["device"], max_steps=most,
        )  # fmt: skip
        if not options["video"]:
            episodes = play_all()
        else:
            with VideoWriter(options["video"], steps_per_second(request, env)) as video:
                episodes = play_all(on_step=functools.partial(record, env, video, count))
        print_table(episodes)
        print_cut(episodes, count, most)
        if options["video"]:
            print(f"video   {options['video']}: {video.frames} frames")
    finally:
        env.close()
    return 0


def record(env: Any, video: Any, episodes: int, finished: list[Episode]) -> None:
    """A frame of world 0, while its first row still has episodes to play."""
    from pufferlib.errors import RenderError

    share = -(-episodes // env.num_agents)
    own = [episode for episode in finished if episode.row == 0]
    if len(own) >= share or any(episode.is_cut for episode in own):
        return
    try:
        frame = env.render()
    except Exception as error:  # of any type: it comes from the environment
        raise RenderError(f"this environment's render() failed: {type(error).__name__}: {error}") from error
    if frame is None:
        raise RenderError("this environment gives no frames (its render() returned None)")
    video.add(np.asarray(frame))


def print_table(episodes: list[Episode]) -> None:
    """One line per episode, then mean, standard deviation, least and most."""
    whole = [e for e in episodes if not e.is_cut]
    scores = [e.score for e in whole if e.score is not None]
    columns: dict[str, list[float]] = {
        "return": [e.episode_return for e in episodes],
        "length": [float(e.length) for e in episodes],
        "score": scores if len(scores) == len(whole) else [],
    }
    columns = {name: values for name, values in columns.items() if values}
    print("episode" + "".join(f"{name:>12}" for name in columns))
    for i, e in enumerate(episodes, 1):
        cells = {"return": show(e.episode_return), "length": show(e.length), "score": "-" if e.score is None else show(e.score)}
        print(f"{i:>7}" + "".join(f"{cells[name]:>12}" for name in columns) + "  cut" * e.is_cut)
    shared = "score" in columns and any(e.sharing > 1 for e in episodes)
    for word, function in (("mean", np.mean), ("std", np.std), ("min", np.min), ("max", np.max)):
        known = {name: values for name, values in columns.items() if word == "mean" or name != "score" or not shared}
        print(f"{word:>7}" + "".join(f"{show(float(function(values))):>12}" for values in known.values()))
    if shared:
        print("score   of episodes that ended in the same step: their mean")


def print_cut(episodes: list[Episode], count: int, most: int) -> None:
    """A line where episodes had to be cut: how many, and how many of the wanted ones were not played for it."""
    cut, missing = sum(e.is_cut for e in episodes), count - len(episodes)
    if cut:
        what = "1 episode was" if cut == 1 else f"{cut} episodes were"
        print(f"cut     {what} cut after {most:,} steps (--max-steps): return and length are so far")
    if missing:
        print(f"missing {missing} of {count} episodes were not played: only the end of an episode begins another")


def show(value: float) -> str:
    """Whole numbers whole, others to three decimals."""
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e12 else f"{value:.3f}"
