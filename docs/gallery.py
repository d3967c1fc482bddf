"""Take the picture of each Ocean game, docs/ocean/<game>.png, then write the generated pages anew.

python docs/gallery.py [GAME ...]

A game is played by its hand policy, as its `checks.toml` says, else at random among the legal actions:

    [picture]
    policy = "hand_policy(rows)"    # an expression over the names of the game's test file, and `rows`; it gives a function of
                                    # observations, or of observations and a generator
    steps = 300                     # until the picture is taken
    seed = 0
    with = { size = 9 }             # arguments of the game
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import generate
import numpy as np
from PIL import Image

import pufferlib_ocean
from pufferlib.config.files import read_toml
from pufferlib.native import NativeEnv
from pufferlib.plugins.games import class_name
from pufferlib_ocean.testing import random_actions

PACKAGE = Path(pufferlib_ocean.__file__).parent
STEPS = 300
COLORS = 64
"""Of a picture's palette: frames are flat, and stay small this way."""
LEAST_WIDTH = 480


def games() -> list[str]:
    """The folders that hold a game in C."""
    return sorted(folder.name for folder in PACKAGE.iterdir() if (folder / f"{folder.name}.h").is_file())


def frame(game: str) -> np.ndarray:
    """uint8[height, width, 3] of a game, as it stands after its policy has played for a while."""
    checks = PACKAGE / game / "checks.toml"
    wanted = read_toml(checks).get("picture", {}) if checks.is_file() else {}
    cls: type[NativeEnv] = getattr(importlib.import_module(f"pufferlib_ocean.{game}"), class_name(game))
    env = cls(render_mode="rgb_array", **wanted.get("with", {}))
    act, rng = actor(game, wanted.get("policy"), env), np.random.default_rng(wanted.get("seed", 0))
    observations = env.reset(seed=wanted.get("seed", 0))[0]
    for _ in range(wanted.get("steps", STEPS)):
        actions = np.asarray(act(observations, rng), env.actions.dtype).reshape(env.actions.shape)
        observations = env.step(actions)[0]
    picture = env.render().copy()
    env.close()
    return picture


def actor(game: str, policy: str | None, env: NativeEnv) -> Callable[..., Any]:
    """A function of observations and a generator that gives the actions of all rows."""
    if policy is None:
        return lambda observations, rng: legal_actions(env, rng)
    names = vars(importlib.import_module(f"pufferlib_ocean.{game}.test_{game}"))
    found = eval(policy, names, {"rows": env.num_agents, "env": env})
    takes_rng = {"rng", "_rng"} & set(inspect.signature(found).parameters)
    return found if takes_rng else lambda observations, rng: found(observations)


def legal_actions(env: NativeEnv, rng: np.random.Generator) -> np.ndarray:
    """At random; among those that the action masks allow, where there are any."""
    if env.action_masks is None or env.actions.ndim > 1:
        return random_actions(env, rng)
    return np.where(env.action_masks, rng.random(env.action_masks.shape), -1.0).argmax(axis=1)


def save(picture: np.ndarray, path: Path) -> int:
    """Write a frame as a PNG with a palette, at least LEAST_WIDTH wide. Returns its bytes."""
    times = -(-LEAST_WIDTH // picture.shape[1])
    image = Image.fromarray(picture.repeat(times, axis=0).repeat(times, axis=1))
    image.quantize(COLORS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(path, optimize=True)
    return path.stat().st_size


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - set(games()))
    if unknown:
        print(f"no such game: {', '.join(unknown)} (games: {', '.join(games())})", file=sys.stderr)
        return 2
    for game in names or games():
        size = save(frame(game), generate.DOCS / "ocean" / f"{game}.png")
        print(f"docs/ocean/{game}.png  {size / 1024:.1f} KiB", flush=True)
    return generate.main([])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
