"""The rasteriser's pixels, checked by hand-made cases, by PIL, and by independent numpy painters."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from pufferlib.errors import RenderError, ShapeError
from pufferlib.native._raster import DRAW_BYTES, MAX_BYTES, MAX_COMMANDS, MAX_SIDE, rasterise
from pufferlib.render.commands import DRAW_DTYPE, Frame, Kind

RED, GREEN, BLUE, WHITE, BLACK = 0xFF0000FF, 0x00FF00FF, 0x0000FFFF, 0xFFFFFFFF, 0x000000FF
GUARD_BYTES = 4096


def lit(frame: Frame) -> list[tuple[int, int]]:
    """(x, y) of every pixel that is not black."""
    ys, xs = np.nonzero(frame.rgb().any(axis=2))
    return sorted(zip(xs.tolist(), ys.tolist(), strict=True))


def over(below: np.ndarray, color: int, alpha: int) -> np.ndarray:
    """Exact alpha blending, rounded to nearest."""
    above = np.array([color >> 24, color >> 16 & 255, color >> 8 & 255], np.int64)
    return ((2 * (above * alpha + below.astype(np.int64) * (255 - alpha)) + 255) // 510).astype(np.uint8)


def test_dtype_is_the_struct():
    assert DRAW_DTYPE.itemsize == DRAW_BYTES


def test_empty_list_is_black_and_clear_fills_the_canvas():
    frame = Frame(5, 3)
    assert not frame.rgb().any()
    frame.clear(0x102030FF)
    assert (frame.rgb() == (0x10, 0x20, 0x30)).all()
    assert frame.rgb().shape == (3, 5, 3)


def test_rect_of_one_pixel():
    frame = Frame(4, 4)
    frame.rect(2, 1, 1, 1, 0x010203FF)
    picture = frame.rgb()
    assert picture[1, 2].tolist() == [1, 2, 3]
    assert np.count_nonzero(picture.any(axis=2)) == 1


@pytest.mark.parametrize(
    ("x", "y", "w", "h", "pixels"),
    [
        (-5, 1, 6, 1, [(0, 1)]),  # over the left border
        (3, 1, 60, 1, [(3, 1)]),  # right
        (1, -5, 1, 6, [(1, 0)]),  # top
        (1, 3, 1, 60, [(1, 3)]),  # bottom
        (-9, -9, 9, 9, []),
        (4, 4, 9, 9, []),
        (1, 1, 0, 2, []),
        (1, 1, -1, -1, []),
        (0.4, 0.4, 1, 1, [(0, 0)]),  # a pixel belongs to the rectangle that holds its centre
        (0.6, 0.6, 1, 1, [(1, 1)]),
        (0.5, 0.5, 1, 1, [(0, 0)]),
        (0.6, 0, 0.3, 1, []),
        (1e30, 0, 1e30, 1e30, []),
        (-1e30, -1e30, 3e38, 3e38, [(x, y) for x in range(4) for y in range(4)]),
    ],
)
def test_rect_clips_at_every_border(x, y, w, h, pixels):
    frame = Frame(4, 4)
    frame.rect(x, y, w, h, WHITE)
    assert lit(frame) == sorted(pixels)


def test_whole_rectangles_match_pil():
    rng = np.random.default_rng(1)
    frame, image = Frame(64, 48), Image.new("RGB", (64, 48))
    pen = ImageDraw.Draw(image)
    for _ in range(200):
        x, y, w, h = (int(v) for v in rng.integers((-20, -20, 1, 1), (64, 48, 40, 40)))
        color = tuple(int(v) for v in rng.integers(0, 256, 3))
        packed = color[0] << 24 | color[1] << 16 | color[2] << 8 | 255
        if rng.random() < 0.5:
            frame.rect(x, y, w, h, packed)
            pen.rectangle((x, y, x + w - 1, y + h - 1), fill=color)
        else:
            line = int(rng.integers(1, 4))
            frame.outline(x, y, w, h, line, packed)
            if 2 * line >= min(w, h):
                pen.rectangle((x, y, x + w - 1, y + h - 1), fill=color)
            else:
                pen.rectangle((x, y, x + w - 1, y + h - 1), outline=color, width=line)
    np.testing.assert_array_equal(frame.rgb(), np.asarray(image))


def test_rectangles_that_share_an_edge_leave_no_gap_and_share_no_pixel():
    frame = Frame(100, 1)
    for i in range(30):  # translucent: a pixel painted twice would be brighter
        frame.rect(i * 100 / 30, 0, 100 / 30, 1, 0xFFFFFF80)
    assert (frame.rgb() == 128).all()


@given(st.integers(0, 255), st.integers(0, 255), st.integers(0, 255))
def test_alpha_blends_exactly(below, above, alpha):
    frame = Frame(1, 1)
    frame.clear(below << 24 | 255)
    frame.rect(0, 0, 1, 1, above << 24 | alpha)
    assert frame.rgb()[0, 0, 0] == round((above * alpha + below * (255 - alpha)) / 255)


def test_later_commands_lie_above():
    frame = Frame(3, 1)
    frame.rect(0, 0, 2, 1, RED)
    frame.rect(1, 0, 2, 1, BLUE)
    assert frame.rgb()[0].tolist() == [[255, 0, 0], [0, 0, 255], [0, 0, 255]]


def test_translucent_outline_paints_its_corners_once():
    frame = Frame(8, 8)
    frame.outline(1, 1, 6, 6, 2, 0xFFFFFF80)
    values = frame.rgb()[:, :, 0]
    assert set(np.unique(values)) == {0, 128}
    assert np.count_nonzero(values) == 6 * 6 - 2 * 2


def test_tiles_are_rectangles_of_their_palette_colours():
    rng = np.random.default_rng(2)
    palette = rng.integers(0, 2**32, 256, dtype=np.uint32) | 0xFF
    palette[3], palette[5] = 0x12345600, 0xFFFFFF40  # not drawn; translucent
    for codes in (rng.integers(0, 3, (7, 9)), rng.integers(0, 8, (7, 9))):
        for x, y, cell in ((1, 2, 5), (-7.3, -4.1, 6.7), (2, 1, 0.5), (-3, -3, 40)):
            tiled, single = Frame(50, 40), Frame(50, 40)
            tiled.clear(0x404040FF)
            single.clear(0x404040FF)
            tiled.tiles(x, y, cell, codes, palette)
            size = float(np.float32(cell))
            for (row, column), code in np.ndenumerate(codes):
                left, top = float(np.float32(x)) + column * size, float(np.float32(y)) + row * size
                x0, x1 = (math.ceil(v - 0.5) for v in (left, left + size))
                y0, y1 = (math.ceil(v - 0.5) for v in (top, top + size))
                single.rect(x0, y0, x1 - x0, y1 - y0, int(palette[code]))
            got, want = tiled.rgb(), single.rgb()
            assert np.abs(got.astype(int) - want).max() == 0, (x, y, cell)


def test_tiles_with_more_cells_than_data_are_not_drawn():
    frame = Frame(8, 8)
    frame.tiles(0, 0, 1, np.ones((4, 4)), [RED, WHITE])
    frame.data["commands"][0]["v"][4] = 5  # one row more than there are codes
    assert not frame.rgb().any()


def supersampled(width: int, height: int, inside, factor: int = 16) -> np.ndarray:
    """The share of each pixel that is inside, float[height, width]."""
    ys, xs = np.mgrid[0 : height * factor, 0 : width * factor]
    hits = inside((xs + 0.5) / factor, (ys + 0.5) / factor)
    return hits.reshape(height, factor, width, factor).mean(axis=(1, 3))


@pytest.mark.parametrize(
    ("x", "y", "radius"), [(16, 16, 10), (15.5, 16.25, 7.3), (3, 30, 12), (40, -4, 15), (16, 16, 1.5), (16.5, 16.5, 100)]
)
def test_circle_covers_its_area(x, y, radius):
    frame = Frame(40, 32)
    frame.circle(x, y, radius, WHITE)
    want = supersampled(40, 32, lambda px, py: np.hypot(px - x, py - y) <= radius)
    got = frame.rgb()[:, :, 0] / 255
    assert np.abs(got - want).max() < 0.2
    assert abs(got.sum() - want.sum()) < 0.02 * want.sum() + 0.3


@pytest.mark.parametrize(
    ("x0", "y0", "x1", "y1", "width"),
    [(4, 4, 30, 25, 5), (30, 5, 3, 20, 1), (5, 5, 5, 25, 3), (3, 10, 30, 10.4, 2), (-20, -3, 60, 40, 8), (10, 10, 11, 10, 20)],
)
def test_line_covers_its_area(x0, y0, x1, y1, width):
    frame = Frame(40, 32)
    frame.line(x0, y0, x1, y1, width, WHITE)
    length = math.hypot(x1 - x0, y1 - y0)
    ux, uy = (x1 - x0) / length, (y1 - y0) / length

    def inside(px, py):
        along, across = (px - x0) * ux + (py - y0) * uy, (py - y0) * ux - (px - x0) * uy
        return (along >= 0) & (along <= length) & (np.abs(across) <= width / 2)

    want = supersampled(40, 32, inside)
    got = frame.rgb()[:, :, 0] / 255
    assert np.abs(got - want).max() < 0.35
    assert abs(got.sum() - want.sum()) < 0.04 * want.sum() + 0.3


def test_straight_line_on_whole_pixels_is_a_rectangle():
    line, rect = Frame(20, 10), Frame(20, 10)
    line.line(2, 5, 17, 5, 4, WHITE)
    rect.rect(2, 3, 15, 4, WHITE)
    np.testing.assert_array_equal(line.rgb(), rect.rgb())


@pytest.mark.parametrize(
    "points", [(5, 5, 30, 8, 12, 28), (30, 8, 5, 5, 12, 28), (-10, -10, 50, 10, 10, 60), (20, 2, 20, 30, 23, 16)]
)
def test_triangle_covers_its_area(points):
    frame = Frame(40, 32)
    frame.tri(*points, WHITE)
    a, b, c = np.array(points, float).reshape(3, 2)

    def inside(px, py):
        sides = [(q[0] - p[0]) * (py - p[1]) - (q[1] - p[1]) * (px - p[0]) for p, q in ((a, b), (b, c), (c, a))]
        return np.all([s >= 0 for s in sides], axis=0) | np.all([s <= 0 for s in sides], axis=0)

    want = supersampled(40, 32, inside)
    got = frame.rgb()[:, :, 0] / 255
    assert np.abs(got - want).max() < 0.45  # at the sharp corners
    assert abs(got.sum() - want.sum()) < 0.03 * want.sum() + 1


@given(st.floats(0, 6.3), st.sampled_from([0xFF, 0x80, 0x20]))
def test_two_triangles_of_one_quadrangle_show_no_seam(angle, alpha):
    corners = [(20 + 25 * math.cos(angle + i * math.pi / 2), 20 + 25 * math.sin(angle + i * math.pi / 2)) for i in range(4)]
    frame = Frame(40, 40)
    color = 0xFFFFFF00 | alpha
    frame.tri(*corners[0], *corners[1], *corners[2], color)
    frame.tri(*corners[0], *corners[2], *corners[3], color)
    inner = frame.rgb()[10:30, 10:30]  # the square's inner circle has a radius of 17
    assert np.unique(inner).tolist() == [alpha]


def test_triangles_of_two_colours_are_drawn_in_order():
    frame = Frame(10, 10)
    frame.tri(0, 0, 20, 0, 0, 20, RED)
    frame.tri(0, 0, 20, 0, 0, 20, GREEN)
    assert (frame.rgb()[2, 2] == (0, 255, 0)).all()


def test_many_triangles_of_one_colour_are_all_drawn():
    frame = Frame(200, 4)
    for i in range(100):  # more than one group of the rasteriser
        frame.tri(2 * i, 0, 2 * i, 4, 2 * i + 2, 2, WHITE)
    assert (frame.rgb()[1, ::2, 0] > 0).all()


def test_text_of_size_10_is_its_dots():
    frame = Frame(12, 12)
    frame.text(2, 1, 10, WHITE, "L")
    column, row = [(2, y) for y in range(2, 9)], [(x, 8) for x in range(3, 7)]
    assert lit(frame) == sorted(column + row)
    assert set(np.unique(frame.rgb())) == {0, 255}


@pytest.mark.parametrize("size", [10, 13, 16, 20, 37])
def test_every_glyph_stays_in_its_cell_and_differs_from_every_other(size):
    seen = {}
    for code in range(32, 127):
        frame = Frame(60, 80)
        frame.text(10, 10, size, WHITE, chr(code))
        pixels = lit(frame)
        assert (not pixels) == (code == 32)
        assert all(9 <= x <= 10 + 0.6 * size and 9 <= y <= 11 + size for x, y in pixels), chr(code)
        picture = frame.rgb().tobytes()
        assert picture not in seen, (chr(code), seen.get(picture))
        seen[picture] = chr(code)


def test_text_advances_by_six_tenths_of_its_size_and_clips():
    whole, shifted = Frame(60, 20), Frame(60, 20)
    whole.text(0, 0, 20, WHITE, "ab")
    shifted.text(12, 0, 20, WHITE, "b")
    np.testing.assert_array_equal(whole.rgb()[:, 12:], shifted.rgb()[:, 12:])
    cut, full = Frame(30, 10), Frame(90, 60)
    cut.text(-15, -5, 20, WHITE, "Hello")
    full.text(15, 15, 20, WHITE, "Hello")
    np.testing.assert_array_equal(cut.rgb(), full.rgb()[20:30, 30:60])


def test_bytes_outside_ascii_show_as_a_box():
    odd, box = Frame(20, 12), Frame(20, 12)
    odd.text(0, 0, 10, WHITE, "x")
    odd.data["bytes"][0] = 0xC3
    box.outline(0, 1, 5, 7, 1, WHITE)
    np.testing.assert_array_equal(odd.rgb(), box.rgb())


def test_a_full_list_drops_commands_and_says_so():
    frame = Frame(4, 4)
    frame.clear(RED)
    frame.data["count"] = MAX_COMMANDS
    frame.clear(GREEN)
    assert frame.data["overflow"] == 1
    assert frame.data["count"] == MAX_COMMANDS
    assert (frame.rgb() == (255, 0, 0)).all()
    frame.begin()
    frame.text(0, 0, 10, WHITE, "x" * MAX_BYTES)
    assert frame.data["overflow"] == 0
    frame.text(0, 0, 10, WHITE, "x")
    assert frame.data["overflow"] == 1
    assert frame.data["count"] == 1


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("kind", list(Kind)[1:])
def test_coordinates_that_are_not_finite_draw_nothing(kind, bad):
    for place in range(3):
        frame = Frame(8, 8)
        frame.text(4, 4, 4, WHITE, "x" * 1100)
        command = frame.data["commands"][0]
        command["kind"] = kind
        command["v"] = (1, 1, 5, 5, 5, 5)
        command["v"][place] = bad
        assert not frame.rgb().any()


def test_canvas_and_buffers_are_checked():
    for width, height in ((0, 5), (5, 0), (-1, 5), (MAX_SIDE + 1, 5), (5, 2**31 - 1)):
        with pytest.raises(RenderError, match=f"width={width}, height={height}"):
            Frame(width, height).rgb()
    with pytest.raises(ShapeError, match=str(DRAW_BYTES)):
        rasterise(b"short")
    frame = Frame(4, 3)
    for bad in (np.zeros((4, 3, 3), np.uint8), np.zeros((3, 4, 3)), np.zeros((3, 4, 6), np.uint8)[:, :, ::2], [1]):
        with pytest.raises(ShapeError, match=r"uint8\[3, 4, 3\]"):
            frame.rgb(bad)
    out = np.zeros((3, 4, 3), np.uint8)
    assert frame.rgb(out) is out


def test_the_same_commands_give_the_same_bytes_on_every_machine():
    """The hash is the same for gcc and clang, with and without optimisation. Change it only with the rasteriser's rules."""
    frame = Frame(200, 150)
    frame.clear(0x182028FF)
    for i in range(60):
        x, y, a, b, c, d = ((i * 7919 + k * 10473) % 4480 / 16 - 40 for k in range(6))
        color = i * 2654435761 % 2**32
        match i % 6:
            case 0:
                frame.rect(x, y, a, b, color)
            case 1:
                frame.outline(x, y, a, b, c / 20, color)
            case 2:
                frame.circle(x, y, a / 8, color)
            case 3:
                frame.line(x, y, a, b, c / 20, color)
            case 4:
                frame.tri(x, y, a, b, c, d, color)
            case 5:
                frame.text(x, y, a / 4, color, "Puffer 123")
    frame.tiles(20.25, 30.5, 6.125, np.arange(72).reshape(8, 9) * 7 % 4, [0, 0x11223344, 0xFF0000FF, 0x00FF00FF])
    assert hashlib.sha256(frame.rgb().tobytes()).hexdigest()[:16] == "a3fe811b733198de"


EXTREME = [0.0, -0.0, 0.5, 1.0, -1.0, 3.4e38, -3.4e38, 1e-45, 1e9, -1e9, 2.0**31, math.nan, math.inf, -math.inf]
numbers = st.one_of(st.sampled_from(EXTREME), st.floats(width=32), st.floats(-80, 80, width=32))
integers = st.one_of(st.integers(0, 2**32 - 1), st.integers(0, 4000), st.sampled_from([MAX_BYTES, MAX_BYTES - 1, 2**32 - 1]))
raw_commands = st.lists(st.tuples(st.integers(0, 9), integers, st.tuples(*[numbers] * 6), integers, integers), max_size=8)


@settings(max_examples=300, deadline=None)
@given(raw_commands, st.integers(1, 70), st.integers(1, 70), st.integers(0, 2**32 - 1))
def test_no_command_writes_outside_and_two_draws_are_equal(commands, width, height, seed):
    frame = Frame(width, height)
    frame.data["bytes"][:8192] = np.random.default_rng(seed).integers(0, 256, 8192)
    for i, command in enumerate(commands):
        frame.data["commands"][i] = command
    frame.data["count"] = len(commands)
    pictures = []
    for fill in (0x00, 0xA5):
        memory = np.full(2 * GUARD_BYTES + width * height * 3, fill, np.uint8)
        frame.rgb(memory[GUARD_BYTES:-GUARD_BYTES].reshape(height, width, 3))
        assert (memory[:GUARD_BYTES] == fill).all()
        assert (memory[-GUARD_BYTES:] == fill).all()
        pictures.append(memory[GUARD_BYTES:-GUARD_BYTES].copy())
    np.testing.assert_array_equal(*pictures)
