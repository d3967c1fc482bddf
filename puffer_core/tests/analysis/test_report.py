"""The page about a run: whole, on its own, and nothing in it is taken for HTML."""

from __future__ import annotations

import base64
import json
import os
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from pufferlib.analysis.charts import MOST_POINTS, line_of, run_charts, ticks
from pufferlib.analysis.index import read_run
from pufferlib.analysis.report import LARGEST_INLINE, render, write_report
from pufferlib.analysis.series import Curve
from pufferlib.errors import ConfigError

VOID = {"meta", "br", "img", "link", "input", "hr", "rect", "line", "circle", "polyline"}


class Page(HTMLParser):
    """Checks that every tag is closed in order; collects tags, attributes, scripts and text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.scripts, self.words, self.titles = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] == "script" else self.words).append(data)

    def attributes(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def text(self):
        return " ".join(self.words)


@pytest.fixture
def run(make_run, row):
    rows = [row(step, perf=step / 1000, score=step / 100) for step in range(10, 1001, 10)]
    return read_run(make_run("first", rows, learning_rate=0.125, checkpoints=[500, 1000], tag="try"))


def test_the_page_is_whole_and_needs_no_network(run):
    path = write_report(run)
    assert path == run.path / "report.html"
    page = Page(path.read_text(encoding="utf-8"))
    links = [
        value for _, attrs in page.tags for key, value in attrs.items() if key in ("src", "href", "srcset", "data", "action")
    ]
    assert links == []
    assert "http" not in re.sub(r"http://www\.w3\.org/2000/svg|http-equiv", "", path.read_text())
    assert "url(" not in path.read_text().replace("url(#c", "")
    assert [p.name for p in run.path.iterdir() if p.name.startswith(".")] == []


def test_the_page_tells_figures_settings_checkpoints_and_origin(run):
    text = Page(render(run, run.path)).text
    for part in ("ocean-squared", "finished", "tag try", "1,000 of 1,000 steps", "0.125", "puffer train ocean-squared", "Linux-6",
                 "python 3.11.7", "report", "puffer eval", "--video"):  # fmt: skip
        assert part in text, part


def test_changed_settings_are_marked_and_others_are_not(run):
    html = render(run, run.path)
    marked = re.findall(r'<tr class="changed"><td class="mono">(\w+)</td>', html)
    assert "learning_rate" in marked and "total_timesteps" in marked
    assert "adam_beta1" not in marked


def test_the_best_checkpoint_is_marked(run):
    cells = re.findall(r'<tr class="changed"><td class="number">([\d,]+)</td>', render(run, run.path))
    assert cells == ["1,000"]


EVIL = "<script>alert(1)</script>\"><img src=x onerror=alert(2)>'&"


def test_nothing_of_the_run_becomes_a_tag_or_an_attribute(make_run, row):
    rows = [{**row(step, perf=0.5), f"environment/{EVIL}": 1.0} for step in (100, 200)]
    path = make_run("<b>name<b>", rows, tag=EVIL, env_name=EVIL, policy=EVIL, env={EVIL: EVIL}, best_metric=EVIL,
                    command=["puffer", "train", EVIL], resumed=[{"step": EVIL, "started": EVIL}])  # fmt: skip
    (path / "videos").mkdir()
    (path / "videos" / "<i>'\".mp4").write_bytes(b"x")
    page = Page(render(read_run(path), path))
    assert len(page.scripts) == 1 and "alert" not in page.scripts[0]
    assert {tag for tag, _ in page.tags} <= {
        "html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "h3", "p", "pre", "span", "div", "b",
        "svg", "clippath", "rect", "line", "text", "g", "polyline", "circle", "table", "tr", "th", "td", "video", "footer",
        "script",
    }  # fmt: skip
    assert not any(key.startswith("on") for _, attrs in page.tags for key in attrs)
    assert EVIL in page.text
    assert len(page.attributes("b")) == len(page.attributes("div")) - len(
        [a for a in page.attributes("div") if a["class"] != "tile"]
    )


def test_only_the_pages_own_script_may_run(run):
    import hashlib

    page = Page(render(run, run.path))
    digest = base64.b64encode(hashlib.sha256(page.scripts[0].encode()).digest()).decode()
    (policy,) = [attrs["content"] for attrs in page.attributes("meta") if attrs.get("http-equiv")]
    assert f"script-src 'sha256-{digest}'" in policy


def test_a_small_video_is_within_the_page_and_a_large_one_is_a_link(run, tmp_path):
    folder = run.path / "videos"
    folder.mkdir()
    (folder / "1.mp4").write_bytes(b"small")
    (video,) = Page(render(run, run.path)).attributes("video")
    assert base64.b64decode(video["src"].removeprefix("data:video/mp4;base64,")) == b"small"
    with (folder / "2 #.mp4").open("wb") as file:
        file.truncate(LARGEST_INLINE + 1)
    os.utime(folder / "1.mp4", (1, 1))
    (video,) = Page(render(run, run.path)).attributes("video")
    assert video["src"] == "videos/2%20%23.mp4"
    (video,) = Page(render(run, tmp_path)).attributes("video")
    assert video["src"] == "runs/first/videos/2%20%23.mp4"


def test_a_run_without_rows_settings_or_checkpoints_has_a_page(make_run):
    path = make_run("empty")
    assert "Nothing was logged yet." in Page(render(read_run(path), path)).text
    (path / "config.toml").unlink()
    (path / "metrics.jsonl").write_text('{"global_step": 5, "environment/perf"')
    assert "no config.toml" in Page(render(read_run(path), path)).text


def test_the_page_goes_where_it_is_asked_to_and_nowhere_else(run, tmp_path):
    assert write_report(run, tmp_path / "page.html").is_file()
    for bad in (tmp_path / "page.txt", tmp_path / "none" / "page.html", tmp_path):
        with pytest.raises(ConfigError, match="--out"):
            write_report(run, bad)


# ---------------------------------------------------------------- charts


def test_the_script_gets_the_values_and_the_places_that_are_drawn(run):
    charts = dict(run_charts(run.rows()))
    assert list(charts) == ["score and return", "perf (0 to 1)", "steps per second", "entropy"]
    svg = Page(charts["perf (0 to 1)"])
    (line,) = json.loads(svg.attributes("svg")[0]["data-lines"])
    assert line["steps"] == list(range(10, 1001, 10))
    assert line["raw"] == pytest.approx([step / 1000 for step in line["steps"]])
    drawn = svg.attributes("polyline")[-1]["points"].split()
    assert drawn == [f"{x:.1f},{y:.1f}" for x, y in zip(line["px"], line["py"], strict=True)]
    assert np.all(np.diff(line["px"]) > 0) and np.all(np.diff(line["py"]) < 0)  # it rises, and SVG's y points down


def test_long_runs_are_thinned_after_smoothing():
    y = np.random.default_rng(0).normal(size=5000)
    line = line_of("environment/perf", Curve(np.arange(5000.0), y, np.ones(5000)))
    assert len(line.x) <= MOST_POINTS and (line.x[0], line.x[-1]) == (0, 4999)
    assert line.smoothed.std() < 0.3 * line.raw.std()


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 7), (0, 303104), (1.2e-5, 3.3e-5), (-1e9, 1e9), (99.9, 100.1)])
def test_ticks_are_a_few_round_numbers_within_the_limits(low, high):
    found = ticks(low, high)
    assert 2 <= len(found) <= 8
    assert all(low <= tick <= high for tick in found)
    step = found[1] - found[0]
    assert np.diff(found) == pytest.approx(step)
    assert f"{step:.0e}"[0] in "125"


def test_a_constant_metric_can_be_drawn(make_run, row):
    path = make_run("flat", [row(step, perf=0.0, score=5.0) for step in (100, 200)])
    for _, svg in run_charts(read_run(path).rows()):
        assert "nan" not in svg and "inf" not in svg
