"""Curves: smoothed without bias, weighted by episodes, averaged only where all have values; pictures that hold just that."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.image import imread
from matplotlib.ticker import EngFormatter

from pufferlib.analysis.groups import make_groups
from pufferlib.analysis.index import read_run
from pufferlib.analysis.plots import COLOURS, STROKES, PlotOptions, check_picture, draw_groups, save_picture
from pufferlib.analysis.series import MOST_POINTS, Curve, curve, find_metric, on_one_grid, smooth
from pufferlib.errors import ConfigError, ShapeError


def test_smoothing_is_the_weighted_sum_of_its_definition():
    generator = np.random.default_rng(0)
    y, weights, beta = generator.normal(size=30), generator.uniform(0, 9, size=30), 0.8
    expected = []
    for t in range(30):
        factors = [beta ** (t - i) * weights[i] for i in range(t + 1)]
        expected.append(sum(f * v for f, v in zip(factors, y, strict=False)) / sum(factors))
    assert smooth(y, weights, beta) == pytest.approx(expected)


def test_with_equal_weights_smoothing_is_adams_mean_with_its_correction():
    y, beta = np.random.default_rng(1).normal(size=12), 0.9
    mean, expected = 0.0, []
    for t, value in enumerate(y, 1):
        mean = beta * mean + (1 - beta) * value
        expected.append(mean / (1 - beta**t))
    assert smooth(y, np.ones(12), beta) == pytest.approx(expected)


def test_smoothing_keeps_a_constant_and_its_first_value_and_ignores_rows_without_episodes():
    assert smooth(np.full(5, 3.0), np.array([1.0, 0, 2, 0, 5]), 0.9) == pytest.approx(np.full(5, 3.0))
    assert smooth(np.array([1.0, 9.0, 5.0]), np.array([1.0, 0.0, 1.0]), 0.5).tolist() == pytest.approx([1.0, 1.0, 5.25 / 1.25])
    assert smooth(np.array([7.0]), np.zeros(1), 0.9).tolist() == [7.0]
    assert smooth(np.array([1.0, 5.0]), np.ones(2), 0.0).tolist() == [1.0, 5.0]


def test_smoothing_refuses_what_it_cannot_do():
    for beta in (1.0, -0.1, float("nan")):
        with pytest.raises(ConfigError, match="--smooth must be at least 0"):
            smooth(np.ones(2), np.ones(2), beta)
    with pytest.raises(ShapeError, match=r"\(2,\) and \(3,\)"):
        smooth(np.ones(2), np.ones(3), 0.5)


def test_episode_statistics_weigh_as_many_as_there_were_episodes_and_others_one(row):
    rows = [row(10, 4, perf=0.1), row(20, 0), row(30, 6, perf=0.3)]
    found = curve(rows, "environment/perf")
    assert (found.x.tolist(), found.y.tolist(), found.weights.tolist()) == ([10, 30], [0.1, 0.3], [4, 6])
    assert curve(rows, "SPS").weights.tolist() == [1, 1, 1]
    assert curve(rows, "environment/perf", "time").x.tolist() == [0.01, 0.03]
    assert len(curve([{"global_step": 1, "SPS": 2.0}], "SPS", "time").x) == 0


def test_a_grid_covers_what_all_curves_have():
    a = Curve(np.array([0.0, 10.0, 20.0]), np.array([0.0, 1.0, 2.0]), np.ones(3))
    b = Curve(np.array([5.0, 15.0]), np.array([7.0, 9.0]), np.ones(2))
    x, values = on_one_grid([a, b, Curve(np.empty(0), np.empty(0), np.empty(0))])
    assert x.tolist() == [5, 10, 15]
    assert values.tolist() == [[0.5, 1.0, 1.5], [7.0, 8.0, 9.0]]
    apart = Curve(np.array([30.0, 40.0]), np.zeros(2), np.ones(2))
    assert len(on_one_grid([a, apart])[0]) == 0
    assert len(on_one_grid([])[0]) == 0
    long = Curve(np.arange(5000.0), np.zeros(5000), np.ones(5000))
    grid = on_one_grid([long])[0]
    assert len(grid) <= MOST_POINTS and (grid[0], grid[-1]) == (0, 4999)


def test_a_metric_is_found_by_its_short_name_and_else_suggested():
    keys = ["global_step", "SPS", "environment/perf", "losses/entropy"]
    assert [find_metric(name, keys) for name in ("perf", "sps", "entropy", "environment/perf")] == [
        "environment/perf", "SPS", "losses/entropy", "environment/perf"
    ]  # fmt: skip
    with pytest.raises(ConfigError, match=r"--metric prf: no run has logged it; did you mean perf\?"):
        find_metric("prf", keys)


# ---------------------------------------------------------------- pictures


def drawn(figure, part, panel=0):
    """The lines, or bands, of one kind in a panel."""
    axes = figure.axes[panel]
    return [artist for artist in [*axes.lines, *axes.collections] if artist.get_gid() == part]


def figure_of(paths, by="", **options):
    return draw_groups(make_groups([read_run(path) for path in paths], by), PlotOptions(**options))


def test_five_seeds_are_one_line_of_their_interquartile_mean_with_a_band_from_least_to_most(five_seeds):
    figure = figure_of(five_seeds, smooth=0.0)
    (line,), (band,) = drawn(figure, "line"), drawn(figure, "band")
    steps = np.arange(100, 1001, 100)
    assert line.get_xdata().tolist() == steps.tolist()
    assert line.get_ydata() == pytest.approx(0.3 * steps / 1000)  # of 0.1, 0.2, 0.3, 0.4, 1.0 the ends are cut off
    corners = band.get_paths()[0].vertices
    at_end = corners[corners[:, 0] == 1000][:, 1]
    assert (at_end.min(), at_end.max()) == pytest.approx((0.1, 1.0))
    assert "interquartile mean of the seeds; band: least to most" in figure._supxlabel.get_text()
    assert figure._suptitle.get_text() == "ocean-squared, mlp (5 seeds)"


def test_of_three_seeds_the_line_is_called_their_mean(five_seeds):
    figure = figure_of(five_seeds[:3], smooth=0.0)
    assert drawn(figure, "line")[0].get_ydata()[-1] == pytest.approx(0.2)
    assert "line: mean of the seeds" in figure._supxlabel.get_text()


def test_the_interval_is_within_the_range_and_named(five_seeds):
    figure = figure_of(five_seeds, smooth=0.0, band="interval")
    corners = drawn(figure, "band")[0].get_paths()[0].vertices
    at_end = corners[corners[:, 0] == 1000][:, 1]
    assert 0.1 <= at_end.min() < 0.3 < at_end.max() <= 1.0
    assert "95 % bootstrap interval" in figure._supxlabel.get_text()
    assert not drawn(figure_of(five_seeds, band="none"), "band")


def test_smoothed_lines_have_what_was_logged_behind_them(make_run, row):
    rows = [row(100, 1, perf=0.0), row(200, 9, perf=1.0), row(300, 0)]
    figure = figure_of([make_run("a", rows)], smooth=0.5)
    (raw,), (line,) = drawn(figure, "raw"), drawn(figure, "line")
    assert raw.get_ydata().tolist() == [0.0, 1.0]
    assert line.get_ydata().tolist() == pytest.approx([0.0, 9 / 9.5])
    assert raw.get_alpha() < 0.5 and raw.get_zorder() < line.get_zorder()
    assert raw.get_color() == line.get_color()
    assert not drawn(figure_of([make_run("b", rows)], smooth=0.0), "raw")


def test_groups_are_told_apart_by_colour_and_beyond_the_colours_by_stroke(make_run, row):
    count = len(COLOURS) + 2
    paths = [make_run(f"g{i}", [row(100, perf=0.1), row(1000, perf=0.5)], learning_rate=1e-3 * (i + 1)) for i in range(count)]
    figure = figure_of(paths)
    looks = [(line.get_color(), line.get_linestyle()) for line in drawn(figure, "line")]
    assert len(set(looks)) == count
    assert looks[len(COLOURS)] == (COLOURS[0], STROKES[1])
    assert figure.axes[0].get_legend() is None and len(figure.legends) == 1
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["learning_rate=0.001", "learning_rate=0.002"]
    few = figure_of(paths[:2])
    assert few.axes[0].get_legend() is not None and not few.legends


def test_group_by_a_setting_or_by_run(five_seeds, make_run, row):
    other = make_run("other", [row(100, perf=0.1), row(1000, perf=0.5)], policy="lstm")
    labels = [line.get_label() for line in drawn(figure_of([*five_seeds, other], by="policy"), "line")]
    assert labels == ["policy=mlp (5 seeds)", "policy=lstm"]
    assert len(drawn(figure_of(five_seeds, by="run"), "line")) == 5
    with pytest.raises(ConfigError, match=r"--group-by polcy: no such setting; did you mean policy"):
        figure_of(five_seeds, by="polcy")


def test_axes_have_units(five_seeds, make_run, row):
    figure = figure_of(five_seeds, metrics=("perf", "SPS"), log_x=True)
    assert [axes.get_ylabel() for axes in figure.axes] == ["perf", "agent-steps per second"]
    assert figure.axes[0].get_xlabel() == "agent-steps" and figure.axes[0].get_xscale() == "log"
    assert isinstance(figure.axes[0].xaxis.get_major_formatter(), EngFormatter)
    assert figure.axes[1].get_ylim()[0] == 0
    hours = make_run("long", [row(10, uptime=3600.0, perf=0.1), row(20, uptime=3 * 3600.0, perf=0.5)])
    timed = figure_of([hours], axis="time", smooth=0.0)
    assert timed.axes[0].get_xlabel() == "training time (hours)"
    assert drawn(timed, "line")[0].get_xdata().tolist() == [1.0, 3.0]


def test_nothing_logged_is_an_error_and_a_metric_that_one_run_lacks_is_not(make_run, row):
    empty = make_run("empty")
    with pytest.raises(ConfigError, match=r"nothing to draw: .*empty logged no rows yet"):
        figure_of([empty])
    full = make_run("full", [row(100, perf=0.1), row(200, perf=0.2)], learning_rate=0.5)
    lines = drawn(figure_of([empty, full], smooth=0.0), "line")
    assert [(line.get_label(), len(line.get_xdata())) for line in lines] == [
        ("learning_rate=0.0025: nothing logged", 0), ("learning_rate=0.5", 2)
    ]  # fmt: skip
    single = figure_of([make_run("one", [row(100, perf=0.1)])])
    assert drawn(single, "line")[0].get_marker() == "o"  # a line of one point cannot be seen


def test_a_picture_is_480_pixels_high_and_its_name_says_its_kind(five_seeds, tmp_path):
    path = check_picture(tmp_path / "a.png")
    save_picture(figure_of(five_seeds), path)
    assert imread(path).shape[:2] == (480, 800)
    save_picture(figure_of(five_seeds), tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text().lstrip().startswith("<?xml")
    for bad in ("a.bmp", "a", "none/a.png"):
        with pytest.raises(ConfigError, match="--out"):
            check_picture(tmp_path / bad)
