"""Short names for a package's Gymnasium ids, for plugins with a family of envs: MiniGrid-DoorKey-8x8-v0 as doorkey-8x8."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from pufferlib.errors import EnvNotFoundError

VERSIONED = re.compile(r"(.+?)(?:-v(\d+))?")
SIZES = re.compile(r"(?:[a-z]?\d+(?:x\d+)?)+")
"""What names of one task differ by: 8x8, s3r1, n2s4."""


class ShortNames:
    """Finds ids by names in which neither case nor dashes nor underscores count.

    | name | id |
    |---|---|
    | `doorkey-8x8`, `door-key-8x8`, `DoorKey_8x8` | its newest version |
    | `doorkey-8x8-v0` | that very version |
    | `doorkey` | where no id has that name: the smallest, that of doorkey-5x5, -6x6, -8x8 and -16x16 |

    prefix: the family's; ids: id -> the name to show for it, with or without its version, as in `DoorKey-8x8-v0`
    """

    def __init__(self, prefix: str, ids: Mapping[str, str]) -> None:
        self.prefix = prefix
        self._versions: dict[str, dict[int, str]] = {}
        self._stems: dict[str, str] = {}
        for env_id, name in ids.items():
            stem, version = _split(name)
            self._stems[_key(stem)] = stem
            self._versions.setdefault(_key(stem), {})[-1 if version is None else version] = env_id

    def names(self) -> list[str]:
        """One name for each env, and one with its version for each that is not the newest."""
        found = []
        for key, versions in self._versions.items():
            shown = _dashes(self._stems[key])
            found += [shown if version == max(versions) else f"{shown}-v{version}" for version in versions]
        return sorted(found)

    def find(self, name: str) -> str:
        """The id. Raises EnvNotFoundError with near names."""
        stem, version = _split(name)
        key = _key(stem)
        versions = self._versions.get(key) or self._versions.get(self._smallest(key), {})
        if version is None and versions:
            return versions[max(versions)]
        if version in versions:
            return versions[version]
        text = f"no environment is named '{self.prefix}-{name}'."
        if versions:
            have = ", ".join(f"{self.prefix}-{_dashes(stem)}-v{number}" for number in sorted(versions))
            raise EnvNotFoundError(f"{text} There is {have}.")
        shown = {_key(known): known for known in self.names()}
        begun = sorted(found for found in shown if found.startswith(key))[:5]
        near = begun or difflib.get_close_matches(key, shown, n=5)
        if near:
            text += f" Near matches: {', '.join(f'{self.prefix}-{shown[found]}' for found in near)}."
        raise EnvNotFoundError(f"{text}\n`puffer list {self.prefix}-` shows all.")

    def _smallest(self, key: str) -> str:
        """The task of that name with the smallest sizes, or empty where there is none."""
        alike = {found: sizes for found, stem in self._stems.items() if (sizes := _sizes(stem, key)) is not None}
        return min(alike, key=alike.__getitem__, default="")


def _sizes(stem: str, key: str) -> list[int] | None:
    """The numbers behind `key`, or None if that is not where the sizes of `stem`, as in DoorKey-8x8 and RoomS3R1, begin."""
    for match in re.finditer(r"(?<=\w)(?=[-_A-Z])|(?<=[a-z])(?=\d)", stem):
        if _key(stem[: match.start()]) == key and SIZES.fullmatch(_key(stem[match.start() :])):
            return [int(number) for number in re.findall(r"\d+", stem[match.start() :])]
    return None


def _split(name: str) -> tuple[str, int | None]:
    match = VERSIONED.fullmatch(name)
    assert match is not None or not name
    return (match[1], int(match[2]) if match[2] else None) if match else ("", None)


def _dashes(stem: str) -> str:
    return stem.lower().replace("_", "-")


def _key(name: str) -> str:
    return re.sub(r"[-_]", "", name.lower())
