"""Pictures are OpenCV's, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib_atari._screen import AreaShrink, GreyScreens, Push
from pufferlib_atari.game import Game
from pufferlib_atari.settings import Settings

cv2 = pytest.importorskip("cv2", reason="the reference: pip install opencv-python-headless")


def by_opencv(a, b, target):
    return cv2.resize(np.maximum(a, b), target[::-1], interpolation=cv2.INTER_AREA)


@pytest.mark.parametrize(
    "target", [(84, 84), (42, 42), (105, 80), (70, 80), (42, 32), (210, 160), (210, 80), (83, 81), (84, 160), (100, 7), (1, 1)]
)
@pytest.mark.parametrize("levels", [2, 5, 256], ids="levels={}".format)
def test_pictures_of_noise(target, levels):
    """Few levels make many averages that lie right between two integers."""
    shrink, out, rng = AreaShrink((210, 160), target), np.empty(target, np.uint8), np.random.default_rng(levels)
    for _ in range(5):
        a, b = (rng.integers(levels, size=(2, 210, 160)) * (255 // (levels - 1))).astype(np.uint8)
        shrink(a, b, out)
        np.testing.assert_array_equal(out, by_opencv(a, b, target))


@settings(max_examples=100, deadline=None)
@given(data=st.data(), source=st.tuples(st.integers(1, 257), st.integers(1, 200)), seed=st.integers(0, 2**32))
def test_any_sizes(data, source, seed):
    target = tuple(data.draw(st.integers(1, size)) for size in source)
    a, b = np.random.default_rng(seed).integers(256, size=(2, *source), dtype=np.uint8)
    out = np.empty(target, np.uint8)
    AreaShrink(source, target)(a, b, out)
    np.testing.assert_array_equal(out, by_opencv(a, b, target))


@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 209), st.integers(0, 159), st.integers(0, 255)), max_size=6), seed=st.integers(0, 99)
)
def test_pictures_after_one_another(rows, seed):
    """What did not change is not computed again; it must be as if it were."""
    screen = np.random.default_rng(seed).integers(256, size=(210, 160), dtype=np.uint8)
    shrink, out, black = AreaShrink((210, 160), (84, 84)), np.empty((84, 84), np.uint8), np.zeros((210, 160), np.uint8)
    for row, column, level in [(0, 0, 0), *rows]:
        screen[row, column:] = level
        shrink(black, screen, out)
        np.testing.assert_array_equal(out, by_opencv(black, screen, (84, 84)))


def test_sizes_that_cannot_be():
    with pytest.raises(ValueError, match=r"height 211 must be in \[1, 210\]"):
        AreaShrink((210, 160), (211, 84))
    with pytest.raises(ValueError, match="too high"):
        AreaShrink((509, 160), (84, 84))
    small = np.zeros((10, 10), np.uint8)
    with pytest.raises(ValueError, match=r"\[10, 10\] instead of \[210, 160\]"):
        AreaShrink((210, 160), (84, 84))(small, small, small)


@pytest.mark.parametrize("rom", ["pong", "breakout", "montezuma_revenge", "seaquest"])
def test_grey_screens_are_ales_own(rom):
    """Rows that did not change are not translated again, and colours are learnt once; it must be as if they were not."""
    game = Game(rom, Settings())
    game.reset(0)
    grey, rng, learnt = GreyScreens(210, 160, 2), np.random.default_rng(1), 0
    for frame in range(600):
        game.ale.act(game.actions[rng.integers(len(game.actions))])
        slot = frame % 3 % 2  # not each in turn
        game.ale.getScreen(grey.raw)
        wanted = game.ale.getScreenGrayscale()
        if not grey.take(slot):
            learnt += 1
            grey.screens[slot][:] = wanted
            grey.learn(slot)
        np.testing.assert_array_equal(grey.screens[slot], wanted)
    assert 1 <= learnt < 60


def test_a_colour_that_was_not_learnt_is_reported():
    grey = GreyScreens(2, 3, 1)
    assert not grey.take(0)  # black, too, is learnt
    grey.learn(0)
    assert grey.take(0)
    grey.raw[1, 2] = 7
    assert not grey.take(0)
    grey.screens[0][1, 2] = 99
    grey.learn(0)
    grey.raw[0] = 7
    assert grey.take(0) and grey.screens[0].tolist() == [[99, 99, 99], [0, 0, 99]]
    with pytest.raises(IndexError, match="slot 1 of 1"):
        grey.take(1)


@pytest.mark.parametrize("planes", [1, 3])
def test_push_drops_the_oldest_picture_and_adds_the_newest(planes):
    rng = np.random.default_rng(0)
    first, second = rng.integers(256, size=(2, planes, 210, 160), dtype=np.uint8)
    stack = rng.integers(256, size=(2 * planes, 84, 84), dtype=np.uint8)
    older = stack[planes:].copy()
    Push([AreaShrink((210, 160), (84, 84)) for _ in range(planes)], list(first), list(second), stack)()
    np.testing.assert_array_equal(stack[:planes], older)
    for plane in range(planes):
        np.testing.assert_array_equal(stack[planes + plane], by_opencv(first[plane], second[plane], (84, 84)))


def test_push_refuses_arrays_that_do_not_fit():
    shrink, screen, stack = AreaShrink((210, 160), (84, 84)), np.zeros((210, 160), np.uint8), np.zeros((4, 84, 84), np.uint8)
    with pytest.raises(ValueError, match="1 shrinks, 2 and 1 screens"):
        Push([shrink], [screen, screen], [screen], stack)
    with pytest.raises(ValueError, match=r"\[42, 42\] instead of \[84, 84\]"):
        Push([shrink], [screen], [screen], np.zeros((4, 42, 42), np.uint8))
