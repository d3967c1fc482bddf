"""What every game promises, checked in C: memory, guard bytes, drawing, final_obs, and the committed hash of 20,000 steps.

After a wanted change of a game's rules, `python -m pytest plugins/ocean/tests/test_promises_in_c.py -k hash` names the new hash.
"""

import importlib
import shutil
import subprocess

import numpy as np
import pytest
from gymnasium import spaces

SANITIZERS = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
HASH_STEPS = 20_000
"""A game of very many rows may ask for fewer, `hash_steps` in its checks.toml."""


def run(*words):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:] or f"exit status {done.returncode}"
    return done.stdout.strip()


def test_clean_under_sanitizers_at_every_limit(game, compile_driver):
    """No bad access, no undefined behaviour, no allocation, no write outside of the own rows, every byte written, draw is
    const, final_obs may be missing, bad actions are harmless: see `check` in driver.c."""
    program = compile_driver(game.name, *SANITIZERS)
    largest = game.hints.get("largest", {})
    for corner, arguments in game.limits().items():
        capped = {name: min(value, largest[name]) if name in largest else value for name, value in arguments.items()}
        try:
            run(program, "check", 3000, 0.1 if arguments else 0.5, *game.driver_words(capped))
        except AssertionError as error:
            pytest.fail(f"{game.name} at {corner}: {error}")


def test_hash_of_20000_steps_is_the_committed_one(game, compile_driver):
    """The compiled driver and the Python binding give the same bits, and those of the commit."""
    in_c = run(compile_driver(game.name, "-O2"), "hash", hash_steps(game), *game.driver_words({}))
    assert in_c == hash_through_python(game), "the binding and the driver differ"
    assert in_c == game.hints.get("hash"), (
        f'if the rules of {game.name} changed on purpose, put hash = "{in_c}" into its checks.toml'
    )


@pytest.mark.skipif(shutil.which("clang") is None, reason="no clang")
def test_clang_gives_the_committed_hash(game, compile_driver):
    program = compile_driver(game.name, "-O2", compiler="clang")
    assert run(program, "hash", hash_steps(game), *game.driver_words({})) == game.hints["hash"]


def test_web_assembly_gives_the_committed_hash(game, compile_wasm_driver):
    assert run(*compile_wasm_driver(game.name), "hash", hash_steps(game), *game.driver_words({})) == game.hints["hash"]


@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm")
def test_game_cannot_allocate(game):
    """What was built for Python calls no function of the C library that does: memory comes from outside, once."""
    module = importlib.import_module(game.cls.module).__file__
    called = {word.partition("@")[0] for word in run("nm", "-D", "--undefined-only", module).split()}
    assert "PyCapsule_New" in called, "the list is there"
    assert not called & {
        "malloc",
        "calloc",
        "realloc",
        "reallocarray",
        "aligned_alloc",
        "posix_memalign",
        "free",
        "strdup",
        "qsort",
    }


def hash_steps(game):
    return game.hints.get("hash_steps", HASH_STEPS)


def hash_through_python(game):
    from zlib import crc32

    env = game.cls()
    crc = crc32(env.reset(seed=[1])[0])
    all_actions = driver_actions(env, hash_steps(game))
    for actions in all_actions:
        observations, rewards, terminals, truncations, _ = env.step(actions)
        for part in (observations, rewards, terminals, truncations, env.masks):
            crc = crc32(part, crc)
        if env.action_masks is not None:
            crc = crc32(env.action_masks, crc)
        for row in np.flatnonzero(terminals | truncations):
            crc = crc32(env.final_observations[row], crc)
    return f"{crc:08x}"


def driver_actions(env, steps):
    """The actions of `fill_actions` in driver.c: [steps, rows, ...], from SplitMix64 outputs by their index."""
    space = env.single_action_space
    shape = (steps, env.num_agents, *([space.nvec.size] if isinstance(space, spaces.MultiDiscrete) else space.shape))
    z = (np.arange(np.prod(shape), dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    words = (z ^ z >> np.uint64(31)) >> np.uint64(32)
    if isinstance(space, spaces.Box):
        low, high = space.low.flat[0], space.high.flat[0]
        return (low + (high - low) * ((words >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24))).reshape(shape)
    sizes = np.asarray(space.nvec if isinstance(space, spaces.MultiDiscrete) else space.n, np.uint64)
    return (words.reshape(shape) * sizes >> np.uint64(32)).astype(np.int32)
