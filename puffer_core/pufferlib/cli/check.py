"""`puffer check NAME`: does an environment, or a whole plugin, keep the contract?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pufferlib.cli.flags import scan
from pufferlib.config.env_arguments import env_arguments
from pufferlib.config.run_config import Schema, Setting
from pufferlib.config.values import Kind
from pufferlib.errors import CheckError, ConfigError, PufferError
from pufferlib.plugins import EnvSpec, Plugin, registry

HELP = """\
usage: puffer check NAME [flags]

Play an environment with random actions and check that it keeps the contract: spaces, finite rewards, flags, last observations,
no writes outside of its own rows, the same bits for the same seed alone and among others, on every back end. NAME is an
environment, or a plugin as `puffer plugins` names it: then everything it registers is checked. The exit code is 1 where
something was found.

  --steps N            random steps (300; of each environment of a plugin: 50)
  --num-envs N         worlds (4)
  --seed N             of worlds and actions (0)
  --env.NAME VALUE     a setting of the environment

  puffer check ocean-breakout
  puffer check my_module:my-env --steps 1000
"""
OPTIONS = {"steps": Kind("int", low=1, high=10**7), "num_envs": Kind("int", low=2, high=4096), "seed": Kind("int", low=0)}
VEC_STEPS = 50
WORKERS = 2


def run(argv: list[str]) -> int:
    """The command. Returns the exit code: 0, or 1 where a contract is broken."""
    arguments = scan(argv)
    if arguments.wants_help:
        print(HELP, end="")
        return 0
    arguments.at_most(1, "puffer check")
    if not arguments.positional:
        raise ConfigError("which environment or plugin? as in `puffer check ocean-breakout`")
    name = arguments.positional[0]
    own = {key: Setting(kind) for key, kind in OPTIONS.items()}
    plugin = next((plugin for plugin in registry().plugins() if plugin.name == name), None)
    if plugin is not None:
        schema = Schema({"steps": own["steps"]}, frozenset())
        return check_records(plugin, {given.key: schema.convert(given) for given in arguments.flags})
    spec = registry().find_env(name)
    found = env_arguments(spec)
    schema = Schema({**own, **found.settings}, frozenset({"env"} if found.is_open else ()))
    values = {given.key: schema.convert(given) for given in arguments.flags}
    env = {key.partition(".")[2]: value for key, value in values.items() if key.startswith("env.")}
    options = {key: value for key, value in values.items() if key in OPTIONS}
    return check_name(spec, options, {**spec.kwargs, **found.resolve(spec.name, env, spec.kwargs)})


def check_name(spec: EnvSpec, options: dict[str, Any], kwargs: dict[str, Any]) -> int:
    """Check one env: alone, then on every back end that takes it."""
    from pufferlib.testing import check_env

    target = registry().resolve(spec.target, spec)
    steps, num_envs, seed = options.get("steps", 300), options.get("num_envs", 4), options.get("seed", 0)
    print(f"{spec.name}: {num_envs} worlds, {steps} random steps, seed {seed}")
    failed = report("the env's own contract", lambda: check_env(target, num_envs=num_envs, steps=steps, seed=seed, **kwargs))
    for backend in backends(target, kwargs):
        check = back_end_check(target, kwargs, backend, num_envs, min(steps, VEC_STEPS), seed)
        failed += report(f"on back end {backend}", check)
    print("keeps the contract" if not failed else f"{failed} of the checks failed")
    return 1 if failed else 0


def check_records(plugin: Plugin, options: dict[str, Any]) -> int:
    """Check everything that a plugin registers."""
    from pufferlib.testing import check_plugin

    names: list[str] = []
    failed = report(f"plugin {plugin.label}", lambda: names.extend(check_plugin(plugin.name, **options)))
    if not failed:
        print(f"{len(names)} records: {', '.join(names)}")
    return failed


def report(what: str, check: Callable[[], None]) -> int:
    """Run a check and print what came of it. Returns 1 if it failed."""
    try:
        check()
    except (CheckError, PufferError) as error:
        print(f"  FAILED  {what}:\n          {str(error).strip()}")
        return 1
    except Exception as error:  # of the env's own code
        print(f"  FAILED  {what}:\n          it raised {type(error).__name__}: {error}")
        return 1
    print(f"  ok      {what}")
    return 0


def backends(target: Any, kwargs: dict[str, Any]) -> list[str]:
    """The core's back ends that take the env."""
    from pufferlib.makers import env_maker
    from pufferlib.vector import is_native

    wanted = ("serial", "threads", "processes") if is_native(env_maker(target, kwargs)) else ("serial", "processes")
    known = {backend.name for backend in registry().backends()}
    return [name for name in wanted if name in known]


def back_end_check(target: Any, kwargs: dict[str, Any], backend: str, num_envs: int, steps: int, seed: int) -> Callable[[], None]:
    """check_vec_env on a back end with two workers and batches, against serial with one."""
    from pufferlib.makers import env_maker
    from pufferlib.testing import check_vec_env
    from pufferlib.vector import VecEnv, make_vec

    maker = env_maker(target, kwargs)
    workers = WORKERS if num_envs % WORKERS == 0 else 1

    def one() -> VecEnv:
        return make_vec(maker, num_envs=num_envs, num_workers=1, backend="serial")

    def many() -> VecEnv:
        return make_vec(maker, num_envs=num_envs, num_workers=workers, batch_size=num_envs // workers, backend=backend)

    return lambda: check_vec_env(many, reference=one, steps=steps, seed=seed)
