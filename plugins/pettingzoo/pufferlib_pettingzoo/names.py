"""Env names, read off the installed packages' files: `knights_archers_zombies_v11.py` gives knights-archers-zombies.

Nothing of the packages is imported before an env is made, so that listing names costs a few milliseconds.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.util
import os
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pufferlib.errors import EnvError, EnvNotFoundError

PREFIX = "pettingzoo"
MODULE = re.compile(r"([a-z]\w*)_v(\d+)")


@dataclass(frozen=True)
class Source:
    """A package of envs, what must be importable beside it for any of them to run, and the line that installs all that."""

    package: str
    needs: tuple[str, ...]
    install: str

    def folder(self) -> Path | None:
        """Where its modules are, or None where it is not installed."""
        top, *rest = self.package.split(".")
        found = importlib.util.find_spec(top)
        if found is None or not found.submodule_search_locations:
            return None
        folder = Path(found.submodule_search_locations[0], *rest)
        return folder if folder.is_dir() else None

    def versions(self) -> dict[str, dict[int, str]]:
        """Name with dashes -> version -> module."""
        found: dict[str, dict[int, str]] = {}
        folder = self.folder()
        for path in sorted(folder.iterdir()) if folder else ():
            match = MODULE.fullmatch(path.stem if path.suffix == ".py" else path.name)
            if match:
                name = match[1].replace("_", "-")
                found.setdefault(name, {})[int(match[2])] = f"{self.package}.{match[0]}"
        return found

    def is_complete(self) -> bool:
        """Whether everything that its envs need is installed."""
        return self.folder() is not None and all(importlib.util.find_spec(module) for module in self.needs)


# pettingzoo.mpe became a package of its own, mpe2. Where two sources have one name, the first one gets it.
SOURCES = (
    Source("pettingzoo.butterfly", ("pygame", "pymunk"), "pip install 'pettingzoo[butterfly]'"),
    Source("pettingzoo.classic", ("pygame",), "pip install 'pettingzoo[classic]'"),
    Source("mpe2", ("pygame", "scipy"), "pip install mpe2"),
    Source("pettingzoo.sisl", ("pygame", "Box2D", "scipy"), "pip install 'pettingzoo[sisl]'"),
    Source("pettingzoo.atari", ("multi_agent_ale_py",), "pip install multi-agent-ale-py ale-py"),
)


def newest() -> dict[str, str]:
    """Name -> module of its newest version, of every source that is complete."""
    found: dict[str, str] = {}
    for source in SOURCES:
        if source.is_complete():
            for name, versions in source.versions().items():
                found.setdefault(name, versions[max(versions)])
    return dict(sorted(found.items()))


def list_versions() -> list[str]:
    """Every version, as in chess-v6, of every source that is complete."""
    return sorted(
        f"{name}-v{version}"
        for source in SOURCES
        if source.is_complete()
        for name, versions in source.versions().items()
        for version in versions
    )


def make_family(name: str) -> Callable[..., Any]:
    """The factory of a name with or without its version. Raises EnvNotFoundError with near names and what to install."""
    wanted = re.fullmatch(r"(.+?)(?:-v(\d+))?", name.replace("_", "-"))
    known: set[str] = set()
    for source in SOURCES:
        for found, versions in source.versions().items():
            known.add(found)
            if wanted is None or found != wanted[1]:
                continue
            version = int(wanted[2]) if wanted[2] else max(versions)
            if version not in versions:
                have = ", ".join(f"{PREFIX}-{found}-v{number}" for number in sorted(versions))
                raise EnvNotFoundError(f"no environment is named '{PREFIX}-{name}'. The installed {source.package} has {have}.")
            return functools.partial(make_env, versions[version])
    lines = [f"no environment is named '{PREFIX}-{name}'."]
    if near := difflib.get_close_matches(name, known, n=5):
        lines.append(f"Near matches: {', '.join(f'{PREFIX}-{found}' for found in near)}.")
    lines += [f"Envs of {source.package}: {source.install}" for source in SOURCES if not source.is_complete()]
    lines.append("`puffer list pettingzoo` shows all that are installed.")
    raise EnvNotFoundError("\n".join(lines))


def make_env(module: str, /, **kwargs: Any) -> Any:
    """One env of a module such as pettingzoo.classic.chess_v6: its `parallel_env`, or its `env` where there is none.

    Raises EnvError with the line that installs what is missing.
    """
    source = next((source for source in SOURCES if module.rpartition(".")[0] == source.package), None)
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of the packages' own making
            found = importlib.import_module(module)
            factory = getattr(found, "parallel_env", None) or found.env
            if source is not None and source.package == "pettingzoo.atari":
                kwargs = {**rom_folder(), **kwargs}
            return factory(**kwargs)
    except ImportError as error:
        hint = f"; install what it needs: {source.install}" if source else ""
        raise EnvError(f"{module} cannot be imported ({type(error).__name__}: {error}){hint}") from error


def rom_folder() -> dict[str, str]:
    """multi-agent-ale-py has no ROMs, ale-py brings them along."""
    found = importlib.util.find_spec("ale_py")
    if found is None or not found.submodule_search_locations:
        raise EnvError("PettingZoo's Atari games need ROMs, which ale-py brings along: pip install ale-py")
    return {"auto_rom_install_path": str(Path(found.submodule_search_locations[0], "roms"))}
