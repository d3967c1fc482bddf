"""TOML files of settings, and their tables."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pufferlib.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["dump_toml", "flat", "read_toml", "tomllib"]


def read_toml(path: str | Path) -> dict[str, Any]:
    """The tables of a TOML file. Raises ConfigError, naming the file and the line, if it cannot be read."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not valid TOML: {error}") from None


def dump_toml(tables: Mapping[str, Any]) -> str:
    """The text of a TOML file with these tables."""
    import tomli_w

    return tomli_w.dumps(tables)


def flat(tables: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables by dotted key: `{"train": {"seed": 1}}` as `{"train.seed": 1}`. An empty table leaves nothing."""
    found: dict[str, Any] = {}
    for key, value in tables.items():
        if isinstance(value, Mapping):
            found.update(flat(value, f"{prefix}{key}."))
        else:
            found[f"{prefix}{key}"] = value
    return found
