"""Microseconds per frame of the rasteriser, for scenes like those of the games. Best of several runs on one core.

python benchmarks/rendering.py
"""

from __future__ import annotations

import timeit

import numpy as np

from pufferlib.render.commands import Frame

REPEATS, ROUNDS = 20, 100
BACKGROUND, LIGHT = 0x12161DFF, 0xEEF2F6FF


def scenes() -> dict[str, Frame]:
    """Name -> the commands of one frame."""
    cleared, wall, wall_and_text, tiles, shapes = (Frame(576, 330) for _ in range(5))
    for frame in (cleared, wall, wall_and_text, tiles, shapes):
        frame.clear(BACKGROUND)
    for frame in (wall, wall_and_text):
        for i in range(108):
            frame.rect(i % 18 * 32, 40 + i // 18 * 12, 31, 11, 0xF5B24BFF)
        frame.rect(200, 300, 64, 8, LIGHT)
        frame.circle(300, 200, 4, LIGHT)
    wall_and_text.text(8, 8, 20, LIGHT, "Score 123  Lives 3")
    codes = np.random.default_rng(0).integers(0, 5, (47, 47))
    tiles.tiles(0, 0, 7, codes, [0x000000FF, 0x203040FF, 0x404040FF, 0x60A060FF, 0xC0C040FF])
    for i in range(64):
        x, y = i % 8 * 70 + 40, i // 8 * 40 + 25
        shapes.circle(x, y, 12, 0x2CC4B8FF)
        shapes.line(x, y, x + 20, y + 8, 3, LIGHT)
        shapes.tri(x - 20, y, x, y - 10, x, y + 10, 0xF06058FF)
    return {
        "clear": cleared, "108 bricks, paddle, ball": wall, "the same with 18 characters": wall_and_text, "47 x 47 tiles": tiles,
        "64 circles, lines, triangles": shapes,
    }  # fmt: skip


def main() -> None:
    """Print one line per scene."""
    print(f"{'576 x 330':<32}{'us/frame':>10}")
    for name, frame in scenes().items():
        out = frame.rgb()
        seconds = min(timeit.repeat(lambda frame=frame, out=out: frame.rgb(out), number=REPEATS, repeat=ROUNDS))  # type: ignore[misc]
        print(f"{name:<32}{seconds / REPEATS * 1e6:>10.1f}")


if __name__ == "__main__":
    main()
