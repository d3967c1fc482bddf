"""The learning curve is a picture of the rows, whatever they lack."""

from __future__ import annotations

import math

import numpy as np

from pufferlib.train.curves import MOST_POINTS, draw_curves, points


def rows(count):
    return [
        {"global_step": 1000 * k, "SPS": 1e5, "environment/perf": k / count, "environment/score": math.sin(k / 9),
         "losses/entropy": 1.0 if k % 2 else None, "environment/episode_length": "odd"}
        for k in range(1, count + 1)
    ]  # fmt: skip


def test_a_picture_with_ink_in_every_panel(tmp_path):
    from matplotlib.image import imread

    assert draw_curves(rows(50), tmp_path / "curve.png", "ocean-squared, mlp")
    picture = imread(tmp_path / "curve.png")
    assert picture.shape[0] > 300
    assert picture.shape[1] > 1000
    for third in np.array_split(picture[: picture.shape[0] // 2], 3, axis=1):
        assert third[..., :3].min() < 0.6


def test_one_row_is_enough_and_none_is_no_picture(tmp_path):
    assert draw_curves(rows(1), tmp_path / "one.png")
    assert not draw_curves([], tmp_path / "none.png")
    assert not draw_curves([{"global_step": 1, "other": 2}], tmp_path / "none.png")
    assert not (tmp_path / "none.png").exists()


def test_points_are_thinned_to_a_limit_with_the_last_kept():
    steps, values = points(rows(10 * MOST_POINTS + 1), "environment/perf")
    assert len(steps) <= MOST_POINTS
    assert steps[-1] == 1000 * (10 * MOST_POINTS + 1)
    assert values[-1] == (10 * MOST_POINTS + 1) / (10 * MOST_POINTS + 1)
    assert np.all(np.diff(steps) == steps[1] - steps[0])


def test_null_and_text_values_are_left_out():
    assert points(rows(4), "losses/entropy") == ([1000.0, 3000.0], [1.0, 1.0])
    assert points(rows(4), "environment/episode_length") == ([], [])
