"""Ten million random agent-steps of each game under AddressSanitizer and UBSan, then games with random arguments.

python plugins/ocean/tests/sanitize.py [GAME ...]        exit 1 if a promise of driver.c is broken

Some of the actions are outside of the space. The long run is `fuzz` in driver.c, one world between guard bytes; those with random
arguments are `check`, whose steps are held against two twins. It takes about half a minute of CPU a game.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from conftest import NAMES, Game, compile_c, driver_source
from test_promises_in_c import SANITIZERS

from pufferlib.errors import ConfigError
from pufferlib_ocean.strategies import valid_arguments

STEPS = 10_000_000
SETS, SET_STEPS, SET_S = 20, 20_000, 0.5
"""Of random arguments; a set ends after its steps or its seconds."""


def main(names: list[str]) -> int:
    """Returns the exit code."""
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        print(f"no such game: {', '.join(unknown)} (games: {', '.join(NAMES)})", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        broken = [name for name in names or NAMES if not is_clean(Game(name), Path(folder) / name)]
    if broken:
        print(f"broken: {', '.join(broken)}", file=sys.stderr)
    return int(bool(broken))


def is_clean(game: Game, program: Path) -> bool:
    """Play one game; print what came of it."""
    compile_c("cc", *SANITIZERS, *driver_source(game.name), "-o", str(program), "-lm")
    start = time.monotonic()
    said = drive(program, game, {}, "fuzz", -(-STEPS // game.cls().num_agents))
    sets = argument_sets(game) if game.cls.arguments else []
    for arguments in sets:
        said += drive(program, game, arguments, "check", SET_STEPS, SET_S)
    words = f"and {len(sets)} sets of arguments, in {time.monotonic() - start:.0f} s"
    print(f"{game.name}: {said or f'clean: {STEPS:,} agent-steps {words}'}", flush=True)
    return not said


def drive(program: Path, game: Game, arguments: dict[str, object], *what: object) -> str:
    """What the driver complains of; "" where nothing is wrong."""
    done = subprocess.run([str(program), *map(str, what), *game.driver_words(arguments)], capture_output=True, text=True)
    return (
        ""
        if done.returncode == 0
        else f"\n  with {arguments or 'its defaults'}: {done.stderr.strip()[-3000:] or done.returncode}"
    )


def argument_sets(game: Game) -> list[dict[str, object]]:
    """SETS of valid arguments that fit together, or as many as some tries find."""
    found: list[dict[str, object]] = []
    strategy = valid_arguments(game.cls, game.hints.get("largest", {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # hypothesis means examples to be looked at, and here they are used
        random.seed(0)
        for _ in range(10 * SETS):
            arguments = strategy.example()
            try:
                game.cls(**arguments).close()
            except ConfigError:
                continue
            found.append(arguments)
            if len(found) == SETS:
                break
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
