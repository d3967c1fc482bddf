"""`puffer train ENV`: train a policy, in a new run directory or on from an old one."""

from __future__ import annotations

from pufferlib.cli.flags import Arguments, scan
from pufferlib.config.files import read_toml
from pufferlib.config.run_config import RunConfig
from pufferlib.errors import ConfigError
from pufferlib.train.interrupt import StartUp

HELP = """\
Train a policy. Settings: defaults < the env's preset < --config FILE < flags.
ENV may be left out where --config names it (env_name = "...") and with --resume.

  puffer train ocean-breakout
  puffer train ocean-squared --train.total-timesteps 1e6 --env.radius 7 --policy.name lstm
  puffer train --resume runs/ocean-breakout/20260101-120000-a1b2c3
"""
EXTRA = {
    "config": "A TOML file with tables [vec] [train] [policy] [wrappers] [env]; a run's config.toml is one.",
    "resume": "Go on from the newest good checkpoint of that run directory, up to its total_timesteps.",
}


def run(argv: list[str]) -> int:
    """The command. Returns the exit code."""
    arguments = scan(argv)
    if arguments.wants_help:
        from pufferlib.cli.help import print_run_settings

        print_run_settings(arguments, "puffer train", HELP, EXTRA)
        return 0
    arguments.at_most(1, "puffer train")
    resume = arguments.take("resume")
    with StartUp():
        config, command_line = read_settings(arguments, resume), ["puffer", "train", *argv]
        from pufferlib.train.run import train_run
        from pufferlib.train.run_dir import RunDirectory

        return train_run(config, command_line, RunDirectory.open(resume) if resume else None)


def read_settings(arguments: Arguments, resume: str | None) -> RunConfig:
    """The run's settings from the command line. Raises ConfigError or EnvNotFoundError."""
    file = arguments.take("config")
    named = arguments.positional[0] if arguments.positional else None
    if resume is None:
        env_name = named or (read_toml(file).get("env_name") if file else None)
        if not isinstance(env_name, str):
            raise ConfigError("which environment? as in `puffer train ocean-breakout`; `puffer list` shows all")
        from pufferlib.config.resolve import resolve

        return resolve(env_name, arguments.flags, file)
    return resumed_settings(arguments, resume, file, named)


def resumed_settings(arguments: Arguments, resume: str, file: str | None, named: str | None) -> RunConfig:
    """The run's own settings under the given ones. Raises ConfigError where these would make another env or network of it."""
    from pufferlib.config.resolve import resolve
    from pufferlib.plugins import registry
    from pufferlib.train.run_dir import RunDirectory

    if any(given.key == "run_dir" for given in arguments.flags):
        raise ConfigError(f"--run-dir and --resume exclude each other: a resumed run goes on in {resume}")
    tables = RunDirectory.open(resume).tables()
    env_name = tables.get("env_name")
    if not isinstance(env_name, str):
        raise ConfigError(f"{resume}/config.toml: no env_name")
    if named is not None and registry().find_env(named).name != registry().find_env(env_name).name:
        raise ConfigError(f"--resume {resume}: the run is of {env_name}, not of {named}")
    after = resolve(env_name, arguments.flags, file, tables)
    before, wanted = resolve(env_name, base=tables).tables(), after.tables()
    for table in ("policy", "wrappers", "env"):
        for key in sorted({*before[table], *wanted[table]}):
            old, new = before[table].get(key, "nothing"), wanted[table].get(key, "nothing")
            if old != new:
                raise ConfigError(f"--resume {resume}: [{table}] {key} cannot change within a run: it has {old!r}, not {new!r}")
    return after
