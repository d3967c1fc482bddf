"""Maps: Neural MMO draws them anew, into the working folder, for every env. Here each set is made once and kept.

A set's folder is named by all that its maps depend on, so envs in many processes share it. Terrain follows from a map's number;
what the generator draws by chance besides, Neural MMO draws again at every reset, from the reset's seed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

RELEVANT = ("MAP_", "TERRAIN_", "PROGRESSION_", "PROFESSION_SYSTEM_ENABLED")
"""Beginnings of the settings that the map generator reads."""
SEED = 0


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/pufferlib/nmmo`, by default under `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "pufferlib", "nmmo")


def use_kept_maps(config: Any, folder: Path, version: str) -> Path:
    """Point `config` at the set of maps that belongs to it, made now if it is not there. Returns its folder."""
    config.set("MAP_FORCE_GENERATION", False)
    target = folder / fingerprint(config, version)
    if not target.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".new-", dir=folder))
        config.set("PATH_MAPS", str(made))
        try:
            config.MAP_GENERATOR(config).generate_all_maps(SEED)
            os.replace(made, target)
        except OSError:
            if not target.is_dir():  # else another process was faster
                raise
        finally:
            shutil.rmtree(made, ignore_errors=True)
    config.set("PATH_MAPS", str(target))
    return target


def fingerprint(config: Any, version: str) -> str:
    """A name for all that the maps depend on."""
    settings = {k: v for k, v in config.items() if k.startswith(RELEVANT) and isinstance(v, (bool, int, float, str, tuple))}
    generator = f"{config.MAP_GENERATOR.__module__}.{config.MAP_GENERATOR.__qualname__}"
    text = repr((version, generator, SEED, config.MAP_BORDER, sorted(settings.items())))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
