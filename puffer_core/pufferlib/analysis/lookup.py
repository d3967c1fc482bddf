"""Runs as a user names them: a path, a part of a name, `latest`, a pattern, or a folder of runs."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterable, Sequence
from pathlib import Path

from pufferlib.analysis.index import Found, Run, candidates, find_all, is_foreign, read_run
from pufferlib.errors import ConfigError

LATEST = "latest"
MOST_NAMED = 6
"""Runs that an error lists."""


class Shelf:
    """The runs below a folder, read once, when a name asks for them."""

    def __init__(self, root: str | Path = "runs") -> None:
        self.root = Path(root)
        self._found: Found | None = None

    @property
    def runs(self) -> list[Run]:
        """All of them, newest first. Raises ConfigError if there is no such folder."""
        if self._found is None:
            self._found = find_all(self.root)
        return self._found.runs

    def one(self, name: str) -> Run:
        """The run of that name: a path, `latest`, or what only one name holds. Raises ConfigError with near matches."""
        if run := at_path(name):
            return run
        if name == LATEST:
            if not self.runs:
                raise ConfigError(f"latest: there is no run below {self.root}")
            return self.runs[0]
        found = self._named(name)
        if not found:
            raise ConfigError(f"{name}: no such run{self._near(name)}")
        if len(found) > 1:
            shown = ", ".join(self.label(run) for run in found[:MOST_NAMED])
            more = f", and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
            raise ConfigError(f"{name}: {len(found)} runs have that in their names: {shown}{more}")
        return found[0]

    def many(self, name: str) -> list[Run]:
        """As `one`, but a pattern (* ? [...]) or a folder of runs stands for all of them. Raises ConfigError for none."""
        folder = Path(name)
        if folder.is_dir() and at_path(name) is None:
            inside = [run for run in map(read_run, candidates(folder)) if not is_foreign(run)]
            if not inside:
                raise ConfigError(f"{name}: no run in this folder, nor below it")
            return inside
        if not any(char in name for char in "*?["):
            return [self.one(name)]
        found = [run for run in self.runs if fnmatch.fnmatchcase(self.label(run), name) or fnmatch.fnmatchcase(run.name, name)]
        if not found:
            raise ConfigError(f"{name}: no run below {self.root} has such a name{self._near(name)}")
        return found

    def all(self, names: Iterable[str]) -> list[Run]:
        """The runs of all these names, each once, in their order."""
        found: dict[Path, Run] = {}
        for name in names:
            for run in self.many(name):
                found.setdefault(run.path.resolve(), run)
        return list(found.values())

    def label(self, run: Run) -> str:
        """Its path below the root, as in ocean-squared/20260101-120000-first."""
        try:
            return run.path.relative_to(self.root).as_posix()
        except ValueError:
            return str(run.path)

    def _named(self, name: str) -> list[Run]:
        """The runs with exactly that name, or, if there are none, those with it in their names."""
        exact = [run for run in self.runs if name in (run.name, self.label(run))]
        return exact or [run for run in self.runs if name.strip("/") in self.label(run)]

    def _near(self, name: str) -> str:
        known = {word: self.label(run) for run in reversed(self.runs) for word in (run.name, self.label(run), run.tag) if word}
        close = list(dict.fromkeys(known[word] for word in difflib.get_close_matches(name, known, 3, 0.5)))
        if close:
            return f"; near matches: {', '.join(close)}"
        return f"; `puffer runs --root {self.root}` lists all {len(self.runs)}"


def at_path(name: str) -> Run | None:
    """The run at that path, or the one whose checkpoint it is; None where it is neither."""
    path = Path(name)
    places: Sequence[Path] = [path, *path.parents[:2]] if path.is_file() else [path]
    for place in places:
        if place.is_dir() and any((place / file).is_file() for file in ("config.toml", "metrics.jsonl")):
            run = read_run(place)
            return None if is_foreign(run) else run
    return None
