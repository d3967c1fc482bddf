"""What the tests of games share: random actions for any space, playing a policy for its score, twins, and rules checked in C."""

from __future__ import annotations

import re
import subprocess
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Array
from pufferlib.native import NativeEnv, get_include
from pufferlib_ocean.performance_py.performance_py import Pcg32

Policy = Callable[[Array, np.random.Generator], Array]
"""Observations of all rows and a generator in, the actions of all rows out."""


def random_actions(env: NativeEnv, rng: np.random.Generator) -> Array:
    """Uniform over the action space, one for each row."""
    space: spaces.Space[Any] = env.single_action_space
    rows = env.num_agents
    if isinstance(space, spaces.Discrete):
        return rng.integers(0, space.n, rows, dtype=np.int32)
    if isinstance(space, spaces.MultiDiscrete):
        return rng.integers(0, space.nvec, (rows, space.nvec.size), dtype=np.int32)
    assert isinstance(space, spaces.Box)
    return rng.uniform(space.low, space.high, (rows, *space.shape)).astype(np.float32)


def play(env: NativeEnv, policy: Policy | None, steps: int, seed: int = 0) -> dict[str, float]:
    """The log (means, and `n`) of all row-episodes that end within `steps` steps from a reset. policy None: random actions."""
    rng = np.random.default_rng(seed)
    observations = env.reset(seed)[0]
    env.drain_log()
    for _ in range(steps):
        actions = random_actions(env, rng) if policy is None else policy(observations, rng)
        observations = env.step(actions)[0]
    return env.drain_log()


class OneRowTwin(Protocol):
    """A game with one row, written again in Python."""

    def seen(self) -> Any:
        """What the row sees now: an array, or a list of its numbers."""

    def step(self, action: Any, /) -> tuple[Any, float, bool, bool, Any]:
        """What the row sees next, its reward, terminal, truncated, and what it saw last where the episode ended, else None."""


def assert_equals_twin(env: NativeEnv, twin: OneRowTwin, seed: int, actions: Iterable[Any]) -> None:
    """Play both, the game from a reset with `seed`, and assert that they agree in every number.

    actions: taken one by one, so that a generator may look at what `env` shows
    """
    assert env.reset(seed=[seed])[0][0].tolist() == np.asarray(twin.seen()).tolist()
    for action in actions:
        seen, reward, terminal, truncated, final = twin.step(action)
        env.step(np.array([action]))
        assert env.observations[0].tolist() == np.asarray(seen).tolist()
        assert (env.rewards[0], env.terminals[0], env.truncations[0]) == (reward, terminal, truncated)
        if final is not None:
            assert env.final_observations[0].tolist() == np.asarray(final).tolist()


class TwoSidedTwin(Protocol):
    """A game of two sides that move in turn (turns.h), written again in Python; it has one row or two."""

    def seen(self, row: int, /) -> list[float]: ...

    def mask(self, row: int, /) -> list[int]: ...

    def step(self, actions: list[int], /) -> tuple[list[float], bool, bool, list[list[float]]]:
        """Rewards, terminal, truncated, and what each row saw last."""


def assert_equals_two_sided_twin(env: NativeEnv, twin: TwoSidedTwin, seed: int, careless: float, steps: int) -> None:
    """Play both, the game from a reset with `seed`, and assert that they agree in every number.

    careless: the share of actions that are any at all; the others are legal
    """
    masks, size = env.action_masks, env.action_mask_size
    assert masks is not None
    observations, _ = env.reset(seed=[seed])
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        for row in range(env.num_agents):
            assert observations[row].tolist() == twin.seen(row)
            assert masks[row].tolist() == twin.mask(row)
        actions = [int(rng.choice(size if rng.random() < careless else np.flatnonzero(mask))) for mask in masks]
        rewards, terminal, truncated, finals = twin.step(actions)
        observations, *_ = env.step(np.array(actions))
        assert env.rewards.tolist() == rewards
        assert env.terminals.tolist() == [terminal] * env.num_agents
        assert env.truncations.tolist() == [truncated] * env.num_agents
        if terminal or truncated:
            assert env.final_observations.tolist() == finals


class Random(Pcg32):
    """The games' random numbers, for twins in Python."""

    def below(self, n: int) -> int:
        """B(n): uniform in [0, n)."""
        return self.u32() * n >> 32

    def range(self, low: float, high: float) -> np.float32:
        """U(low, high), rounded as in C."""
        a, b = np.float32(low), np.float32(high)
        return np.float32(a + np.float32(b - a) * self.uniform())

    def chance(self, p: float) -> bool:
        """P(p): true with probability p."""
        return bool(self.uniform() < np.float32(p))


def sine(x: float, shift: int = 0) -> np.float32:
    """puffer_sinf, bit for bit, for twins in Python; with shift 1 puffer_cosf."""
    quarter = int(float(x) * 0.63661977236758134308 + (0.5 if x >= 0 else -0.5))
    y = float(x) - quarter * 1.57079632679489655800 - quarter * 6.12323399573676603587e-17
    z, q = y * y, (quarter + shift) % 4
    sin = y * (1 + z * (-1 / 6 + z * (1 / 120 + z * (-1 / 5040 + z * (1 / 362880)))))
    cos = 1 + z * (-0.5 + z * (1 / 24 + z * (-1 / 720 + z * (1 / 40320 + z * (-1 / 3628800)))))
    value = cos if q % 2 else sin
    return np.float32(-value if q >= 2 else value)


C_TEST_FLAGS = "-std=c11 -O1 -g -ffp-contract=off -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"


def rule_test(test_file: str) -> Callable[..., None]:
    """`test_rule = rule_test(__file__)` in a game's tests: each test of the C files test_*.c beside them (see testing.h).

    Raises ValueError if a C file's table does not name all of its tests.
    """
    import pytest  # only here: docs/gallery.py imports this module, too

    sources = sorted(Path(test_file).parent.glob("test_*.c"))
    rules = [(source, rule) for source in sources for rule in rules_in(source)]

    @pytest.mark.parametrize(("source", "rule"), rules, ids=[rule for _, rule in rules])
    def test_rule(source: Path, rule: str, tmp_path_factory: pytest.TempPathFactory) -> None:
        program = compile_rules(source, tmp_path_factory.getbasetemp())
        done = subprocess.run([str(program), rule], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr

    return test_rule


def rules_in(source: Path) -> list[str]:
    """The names of a C file's tests: functions `static void test_...(void)`. Raises ValueError if its table names others."""
    text = source.read_text(encoding="utf-8")
    rules = re.findall(r"^static void (test_\w+)\(void\)", text, re.MULTILINE)
    differing = set(rules) ^ set(re.findall(r"TEST\((test_\w+)\)", text))
    if differing:
        raise ValueError(f"{source}: tests that are not both written and in the table: {', '.join(sorted(differing))}")
    return rules


def compile_rules(source: Path, folder: Path) -> Path:
    """A C file of tests as a program in `folder`, with sanitizers, unless it is there; `program NAME` runs one test."""
    program = folder / source.stem
    if not program.exists():
        compiler = (sysconfig.get_config_var("CC") or "cc").split()
        includes = [f"-I{source.parent}", f"-I{source.parents[1]}", f"-I{get_include()}"]
        subprocess.run([*compiler, *C_TEST_FLAGS.split(), *includes, str(source), "-o", str(program), "-lm"], check=True)
    return program
