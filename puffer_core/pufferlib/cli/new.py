"""`puffer new game NAME` and `puffer new plugin NAME`: folders that build, pass their tests and train as they are.

The files come from `pufferlib/templates`: `GAME` and `PACKAGE` in their names, and `${game}`, `${Game}`, `${package}` ... in
their texts, are filled in.
"""

from __future__ import annotations

import importlib.util
import keyword
import os
import re
import shutil
import tempfile
from pathlib import Path
from string import Template

from pufferlib.cli.flags import scan
from pufferlib.config.run_config import Schema, Setting
from pufferlib.config.values import Kind
from pufferlib.errors import ConfigError, PufferError
from pufferlib.plugins import registry
from pufferlib.plugins.games import PACKAGE_PREFIX, class_name, env_prefix

HELP = """\
usage: puffer new game NAME [--into FOLDER]
       puffer new plugin NAME [--env KIND]

`new game` makes a folder with a game in C: the rules (a header), a Python stub, a preset and tests. It goes into the package of
games that this folder or one above it holds, such as plugins/ocean/pufferlib_ocean of a checkout.

`new plugin` makes a package pufferlib-NAME here, that pip installs and `puffer plugins` finds, with tests.

  --into FOLDER         of a game: the package that it goes into
  --env KIND            of a plugin: c or python, the language of a first environment, NAME-catch; without it the plugin's first
                        content is a policy

  puffer new game lander
  puffer new plugin acme --env c
"""
SCHEMA = Schema({"into": Setting(Kind("text")), "env": Setting(Kind("text", choices=("c", "python")))}, frozenset())
TEMPLATES = Path(__file__).parents[1] / "templates"
FIRST_GAME = "catch"
TAKEN_BY_C = {"draw", "puffer"}
"""What names of the headers that games include begin with."""
TAKEN_BY_STUB = {"int", "any", "native_env", "simple_namespace"}
"""Their classes would hide what a stub imports."""
BUILDS = re.compile(r"""game_extensions\(\s*["']([\w/]+)["']""")


def run(argv: list[str]) -> int:
    """The command. Returns the exit code."""
    arguments = scan(argv)
    if arguments.wants_help:
        print(HELP, end="")
        return 0
    arguments.at_most(2, "puffer new")
    if len(arguments.positional) < 2 or arguments.positional[0] not in ("game", "plugin"):
        raise ConfigError("what? `puffer new game NAME` or `puffer new plugin NAME`; see --help")
    what, name = arguments.positional
    options = {given.key: SCHEMA.convert(given) for given in arguments.flags}
    wrong = ({"env"} if what == "game" else {"into"}) & set(options)
    if wrong:
        raise ConfigError(f"--{wrong.pop()} is not a flag of `puffer new {what}`; see --help")
    print(new_game(name, options.get("into")) if what == "game" else new_plugin(name, options.get("env")))
    return 0


# ---------------------------------------------------------------- games


def new_game(name: str, into: str | None = None) -> str:
    """Make a game's folder in a package of games; see `find_package`. Returns what to do next. Raises ConfigError."""
    check_game_name(name)
    package = find_package(into)
    env_name = f"{env_prefix(package.name)}-{name}"
    if (package / name).exists():
        raise ConfigError(f"{name}: {shown(package / name)} exists already")
    if is_env(env_name):
        raise ConfigError(f"{name}: there is an environment {env_name} already; `puffer list` shows the names that are taken")
    files = fill("game", words(package.name, name))
    if not any(package.glob("*/checks.toml")):  # of Ocean's own tests
        del files[f"{name}/checks.toml"]
    write(package, files)
    project = shown(package.parent)
    return f"""\
{shown(package / name)}: {", ".join(sorted(Path(path).name for path in files))}

pip install --no-build-isolation -e {project}
pytest {project} -k {name}
puffer play {env_name}
puffer train {env_name}"""


def check_game_name(name: str) -> None:
    """Raise ConfigError unless it can be a folder, a Python module, a class and the beginning of C names."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ConfigError(f"{name}: a game's name is small letters, digits and _, and begins with a letter, as in tower_climb")
    if keyword.iskeyword(name) or name in TAKEN_BY_C | TAKEN_BY_STUB:
        raise ConfigError(f"{name}: is a word of Python, of C or of the headers; take another name, such as {name}_game")
    again = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_name(name)).lower()  # as NativeEnv.name() has it
    if again != name:
        raise ConfigError(f"{name}: its class would be {class_name(name)}, which reads as {again}; call it {again}")


def find_package(into: str | None) -> Path:
    """The package of games to add to: `into`, or the one that a setup.py builds, in this folder, above it or in their plugins/.

    Raises ConfigError if there is none, or more than one.
    """
    if into is not None:
        package = Path(into).resolve()
        if not (package / "__init__.py").is_file():
            raise ConfigError(f"--into {into}: is no Python package (there is no {into}/__init__.py)")
        return package
    here = Path.cwd()
    for folder in (here, *here.parents):
        setups = [folder / "setup.py", *sorted(folder.glob("plugins/*/setup.py"))]
        found = [package for setup in setups for package in built_by(setup)]
        if len(found) > 1:
            raise ConfigError(f"which? --into {' or --into '.join(map(shown, found))}")
        if found:
            return found[0]
    raise ConfigError(
        "there is no package of games in this folder or above it; go to a checkout of pufferlib or of a plugin with games, "
        "name one with --into FOLDER, or make one: puffer new plugin NAME --env c"
    )


def built_by(setup: Path) -> list[Path]:
    """The packages of games that a setup.py builds, if it is there."""
    if not setup.is_file():
        return []
    packages = [setup.parent / path for path in BUILDS.findall(setup.read_text(encoding="utf-8"))]
    return [package for package in packages if (package / "__init__.py").is_file()]


# ---------------------------------------------------------------- plugins


def new_plugin(name: str, env: str | None = None) -> str:
    """Make a plugin's package in this folder. env: None, "c" or "python". Returns what to do next. Raises ConfigError."""
    if not re.fullmatch(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*", name):
        raise ConfigError(f"{name}: a plugin's name is small letters, digits and -, and begins with a letter, as in acme-games")
    name = name.replace("_", "-")
    package, folder = PACKAGE_PREFIX + name.replace("-", "_"), Path.cwd() / f"pufferlib-{name}"
    if folder.exists():
        raise ConfigError(f"{name}: {shown(folder)} exists already")
    taken = {plugin.name for plugin in registry().plugins()} | {family.prefix for family in registry().families()}
    if name in taken or importlib.util.find_spec(package):
        raise ConfigError(f"{name}: there is a plugin of this name already; `puffer plugins` shows those that are taken")
    given = words(package, FIRST_GAME)
    if env is None:
        first, steps = name, f"puffer train ocean-squared --policy.name {name}"
    else:
        first = f"{name}-{FIRST_GAME}"
        steps = f"puffer check {first}\npuffer train {first}"
    what = {None: "A policy", "c": "Games in C", "python": "Environments"}[env]
    given |= {"plugin": name, "first": first, "first_steps": steps, "what": what}
    files = fill("plugin", given) | fill(f"plugin-{env or 'policy'}", given)
    if env == "c":
        game = fill("game", given)
        del game[f"{FIRST_GAME}/checks.toml"]
        files |= {f"{package}/{path}": text for path, text in game.items()}
    write(folder.parent, {f"{folder.name}/{path}": text for path, text in files.items()})
    return f"{shown(folder)}: {', '.join(sorted(files))}\n\npip install --no-build-isolation -e {shown(folder)}\n{steps}"


# ---------------------------------------------------------------- templates


def words(package: str, game: str) -> dict[str, str]:
    """What the templates of a game ask for."""
    return {"package": package, "game": game, "Game": class_name(game), "GAME": game.upper()}


def fill(template: str, given: dict[str, str]) -> dict[str, str]:
    """The files of a template, path -> text; those of a game begin with its folder. Raises KeyError for a word not given."""
    root = TEMPLATES / template
    start = f"{given['game']}/" if template == "game" else ""
    return {start + path: Template(text).substitute(given) for path, text in texts(root, given)}


def texts(folder: Path, given: dict[str, str], prefix: str = "") -> list[tuple[str, str]]:
    """(path, text) of every `.in` file below a folder, with the path as it will be."""
    found = []
    for entry in sorted(folder.iterdir()):
        name = entry.name.replace("GAME", given["game"]).replace("PACKAGE", given["package"])
        if entry.is_dir():
            found += texts(entry, given, f"{prefix}{name}/")
        elif name.endswith(".in"):
            found.append((prefix + name.removesuffix(".in"), entry.read_text(encoding="utf-8")))
    return found


def write(parent: Path, files: dict[str, str]) -> None:
    """Write files of one new folder of `parent`; the folder appears when it is complete."""
    (folder,) = {path.partition("/")[0] for path in files}
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder}.", dir=parent))
    try:
        for path, text in files.items():
            target = scratch / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        (scratch / folder).rename(parent / folder)
    finally:
        shutil.rmtree(scratch)


def is_env(name: str) -> bool:
    """Whether the name is taken."""
    try:
        registry().find_env(name)
    except PufferError:
        return False
    return True


def shown(path: Path) -> str:
    """As seen from the current folder."""
    return os.path.relpath(path)
