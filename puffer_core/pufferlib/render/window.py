"""A desktop window that plays draw commands with raylib, and reads the keyboard.

raylib is imported when a window is opened, so that nothing else needs it, nor a display.
"""

from __future__ import annotations

import logging
import math
import sys
from collections import OrderedDict
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from pufferlib.buffers import Array
from pufferlib.errors import RenderError
from pufferlib.native.env import DrawCommands
from pufferlib.render.commands import Frame, Kind

NO_RAYLIB = "a window needs raylib: pip install 'pufferlib[render]'; without one, puffer eval ... --video out.mp4"
NO_DISPLAY = (
    "no window could be opened: there is no display, or it has no OpenGL 3.3. Record a video (puffer eval ... --video out.mp4), "
    "set DISPLAY, or run under a virtual display: xvfb-run -a puffer play ... (Debian: apt install xvfb libgl1 libgl1-mesa-dri)"
)
LOG_NONE, RESIZABLE, MSAA_4X = 7, 0x4, 0x20
LINE_PX, LINES = 20, 3
BAR_PX = LINE_PX * LINES + 8
"""Height of the help lines below the canvas."""
BAR_COLOR, STATUS_COLOR, HELP_COLOR = 0x0B0E14FF, 0xE6EDF3FF, 0x8B98A5FF
FONTS_KEPT = 24
ASCII = "".join(map(chr, range(32, 127)))
KEY_CODES = {
    **{chr(code).lower(): code for code in range(ord("A"), ord("Z") + 1)},
    **{chr(code): code for code in range(ord("0"), ord("9") + 1)},
    "space": 32, "escape": 256, "enter": 257, "tab": 258, "backspace": 259, "right": 262, "left": 263, "down": 264, "up": 265,
    "minus": 45, "plus": 61, "comma": 44, "period": 46, "slash": 47, "keypad_minus": 333, "keypad_plus": 334,
    "shift": 340, "control": 341,
}  # fmt: skip
CHARACTERS = {ord("+"): "plus", ord("-"): "minus"}
"""Codes name places on a US keyboard; these two stand elsewhere on many others."""


@dataclass
class Input:
    """What the user did since the last picture."""

    down: list[str] = field(default_factory=list)
    """Keys that are down, in the order in which they went down."""
    pressed: list[str] = field(default_factory=list)
    """Keys that went down since then, even if they are up again."""
    closed: bool = False
    """Esc, or the window's close button."""


class Window:
    """An open window. Close it, or use it in a `with`.

    width, height: the canvas in pixels; it is scaled to fit the window, which can be resized
    scale: the window's first size, in window pixels for one of the canvas; None picks the largest that suits the screen
    Raises RenderError if raylib is missing or no window can be opened.
    """

    def __init__(self, width: int, height: int, title: str, scale: float | None = None) -> None:
        self.rl = load_raylib()
        self.width, self.height = width, height
        self._held: list[str] = []
        self._fonts: OrderedDict[int, Any] = OrderedDict()
        self._textures: dict[tuple[str, int, int], Any] = {}
        scale = scale or (2.0 if max(width, height) <= 480 else 1.0)
        self.rl.SetTraceLogLevel(LOG_NONE)
        self.rl.SetConfigFlags(RESIZABLE | MSAA_4X)
        self.rl.InitWindow(round(width * scale), round(height * scale) + BAR_PX, title.encode("ascii", "replace"))
        self.is_open = bool(self.rl.IsWindowReady())
        if not self.is_open:
            raise RenderError(NO_DISPLAY)
        self.rl.SetTargetFPS(60)
        self.rl.rlDisableBackfaceCulling()  # games give triangles in either order

    def __enter__(self) -> Window:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """May be called any number of times."""
        if self.is_open:
            self.is_open = False
            for texture in [*self._fonts.values(), *self._textures.values()]:
                self.rl.UnloadTexture(texture)
            self.rl.CloseWindow()

    # ------------------------------------------------------------ pictures

    def show(self, picture: DrawCommands | Array, help_line: str = "") -> None:
        """Show draw commands or a frame, uint8[height, width, 3], and wait for the screen (at most 60 pictures a second).

        help_line: shown below it, the first of its lines (at most LINES) brighter than the others
        """
        rl = self.rl
        rl.BeginDrawing()
        rl.ClearBackground(rgba(BAR_COLOR))
        if isinstance(picture, np.ndarray):
            self.height, self.width = picture.shape[:2]
        else:
            self.width, self.height = picture.width, picture.height
        screen_width, screen_height = rl.GetScreenWidth(), rl.GetScreenHeight() - BAR_PX
        self._scale = max(min(screen_width / self.width, screen_height / self.height), 0.01)
        self._left = float(round((screen_width - self.width * self._scale) / 2))
        self._top = float(round((screen_height - self.height * self._scale) / 2))
        area = (self._left, self._top, self.width * self._scale, self.height * self._scale)
        rl.BeginScissorMode(*(round(v) for v in area))
        rl.DrawRectangleRec(area, rgba(0x000000FF))
        if isinstance(picture, np.ndarray):
            self._pixels("frame", np.ascontiguousarray(picture), area)
        else:
            self._play(picture)
        rl.EndScissorMode()
        lines = help_line.split("\n")[:LINES]
        size = min(LINE_PX - 4.0, 1.6 * (screen_width - 16) / max(*map(len, lines), 1))
        for i, line in enumerate(lines):
            y = screen_height + 4 + i * LINE_PX + (LINE_PX - size) / 2
            self._text(line.encode("ascii", "replace"), 8.0, y, size, HELP_COLOR if i else STATUS_COLOR)
        rl.EndDrawing()

    def _play(self, picture: DrawCommands) -> None:
        commands, data = picture.commands[np.isfinite(picture.commands["v"]).all(axis=1)], picture.data
        columns = (commands[name].tolist() for name in ("kind", "color", "v", "data", "size"))
        for kind, color, v, start, size in zip(*columns, strict=True):
            self._command(kind, color, v, data[start : start + size] if size else data[:0])

    def _command(self, kind: int, color: int, v: list[float], data: Array) -> None:
        rl, k, paint = self.rl, self._scale, rgba(color)
        x, y = self._left + v[0] * k, self._top + v[1] * k
        if kind == Kind.CLEAR:
            rl.DrawRectangleRec((self._left, self._top, self.width * k, self.height * k), paint)
        elif kind in (Kind.RECT, Kind.OUTLINE) and v[2] > 0 and v[3] > 0:
            right, bottom = snap(x + v[2] * k), snap(y + v[3] * k)
            area = (snap(x), snap(y), right - snap(x), bottom - snap(y))
            if kind == Kind.RECT:
                rl.DrawRectangleRec(area, paint)
            elif v[4] > 0:
                rl.DrawRectangleLinesEx(area, min(max(v[4] * k, 1.0), area[2] / 2, area[3] / 2), paint)
        elif kind == Kind.CIRCLE and v[2] > 0:
            rl.DrawCircleSector((x, y), v[2] * k, 0, 360, max(16, min(128, round(v[2] * k))), paint)
        elif kind == Kind.LINE and v[4] > 0:
            rl.DrawLineEx((x, y), (self._left + v[2] * k, self._top + v[3] * k), max(v[4] * k, 1.0), paint)
        elif kind == Kind.TRI:
            second, third = ((self._left + v[i] * k, self._top + v[i + 1] * k) for i in (2, 4))
            rl.DrawTriangle((x, y), second, third, paint)
        elif kind == Kind.TEXT and v[2] > 0:
            self._text(data.tobytes(), x, y, v[2] * k, color)
        elif kind == Kind.TILES and v[2] > 0:
            columns, rows = int(v[3]), int(v[4])
            palette, codes = data[:1024].view("<u4"), data[1024:].reshape(rows, columns)
            pixels = palette.byteswap().view(np.uint8).reshape(256, 4)[codes]
            self._pixels("tiles", pixels, (x, y, columns * v[2] * k, rows * v[2] * k))

    def _pixels(self, use: str, pixels: Array, area: tuple[float, float, float, float]) -> None:
        """Show uint8[rows, columns, 3 or 4], each pixel of it a sharp rectangle."""
        rows, columns, channels = pixels.shape
        if channels == 3:
            pixels = np.concatenate([pixels, np.full((rows, columns, 1), 255, np.uint8)], axis=2)
        key = (use, rows, columns)
        if key in self._textures and use == "tiles":
            self.rl.rlDrawRenderBatchActive()  # an earlier grid of this size in this picture still waits to be drawn
        if key not in self._textures:
            self._textures[key] = self._texture(pixels)
        texture = self._textures[key]
        self.rl.UpdateTexture(texture, self._pointer(pixels))
        self.rl.DrawTexturePro(texture, (0, 0, columns, rows), area, (0, 0), 0, rgba(0xFFFFFFFF))

    def _pointer(self, pixels: Array) -> Any:
        return self.rl.ffi.cast("void *", self.rl.ffi.from_buffer(pixels))

    def _texture(self, pixels: Array) -> Any:
        """pixels: uint8[height, width, 4], contiguous."""
        height, width, _ = pixels.shape
        rgba8 = 7
        return self.rl.LoadTextureFromImage((self._pointer(pixels), width, height, 1, rgba8))

    # ------------------------------------------------------------ text

    def _text(self, text: bytes, x: float, y: float, size: float, color: int) -> None:
        """The rasteriser's own font, drawn at the size it is shown in."""
        pixels = max(2, min(round(size), 400))
        if pixels not in self._fonts:
            if len(self._fonts) >= FONTS_KEPT:
                self.rl.rlDrawRenderBatchActive()
                self.rl.UnloadTexture(self._fonts.popitem(last=False)[1])
            self._fonts[pixels] = self._texture(glyph_sheet(pixels))
        self._fonts.move_to_end(pixels)
        sheet, cell, height = self._fonts[pixels], glyph_cell(pixels), pixels + 2
        left, top, advance = round(x), round(y) - 1, 0.6 * size
        for i, code in enumerate(text):
            if code != 32:
                row, column = divmod(code - 32 if 32 <= code <= 126 else 95, 16)
                source = (column * cell, row * height, cell, height)
                self.rl.DrawTextureRec(sheet, source, (round(left + i * advance) - 1, top), rgba(color))

    # ------------------------------------------------------------ input

    def poll(self) -> Input:
        """What the user did since the last `show`."""
        rl = self.rl
        names = {code: name for name, code in KEY_CODES.items()}
        pressed = [names.get(code, "") for code in iter(rl.GetKeyPressed, 0)]  # also those that are up again by now
        pressed += [CHARACTERS.get(char, "") for char in iter(rl.GetCharPressed, 0)]
        down = {name for name, code in KEY_CODES.items() if rl.IsKeyDown(code)}
        still = [name for name in self._held if name in down]
        self._held = still + [name for name in KEY_CODES if name in down and name not in still]
        return Input(list(self._held), [name for name in dict.fromkeys(pressed) if name], bool(rl.WindowShouldClose()))

    def screenshot(self) -> Array:
        """uint8[height, width, 3] of the whole window as it was shown last."""
        image = self.rl.LoadImageFromScreen()
        pixels = np.frombuffer(self.rl.ffi.buffer(image.data, image.width * image.height * 4), np.uint8)
        copied = pixels.reshape(image.height, image.width, 4)[:, :, :3].copy()
        self.rl.UnloadImage(image)
        return copied


def load_raylib() -> ModuleType:
    """The module. Raises RenderError that names the remedy."""
    logger = logging.getLogger("raylib")
    level = logger.level
    logger.setLevel(logging.ERROR)  # it announces itself with a warning
    try:
        import raylib
    except ModuleNotFoundError:
        raise RenderError(NO_RAYLIB) from None
    except ImportError as error:  # a shared library is missing
        hint = " (Debian: apt install libx11-6 libgl1)" if sys.platform.startswith("linux") else ""
        raise RenderError(f"raylib cannot be loaded: {error}{hint}") from None
    finally:
        logger.setLevel(level)
    return raylib


def rgba(color: int) -> tuple[int, int, int, int]:
    """0xRRGGBBAA as raylib's Color."""
    return color >> 24 & 255, color >> 16 & 255, color >> 8 & 255, color & 255


def snap(value: float) -> float:
    """The nearest whole pixel, as the rasteriser has it, so that neighbours meet."""
    return float(math.ceil(value - 0.5))


def glyph_cell(size: int) -> int:
    """Pixels from one glyph to the next in a glyph sheet: room for a margin of 1 on either side."""
    return int(np.ceil(0.6 * size)) + 3


def glyph_sheet(size: int) -> Array:
    """The font as white pixels with alpha, uint8[6 * (size + 2), 16 * glyph_cell(size), 4]; the last one is the box."""
    cell, height = glyph_cell(size), size + 2
    frame = Frame(16 * cell, 6 * height)
    for i, char in enumerate(ASCII + "\n"):
        frame.text(1 + i % 16 * cell, 1 + i // 16 * height, size, 0xFFFFFFFF, char)
    cover = frame.rgb()[:, :, :1]
    return np.concatenate([np.full((*cover.shape[:2], 3), 255, np.uint8), cover], axis=2)
