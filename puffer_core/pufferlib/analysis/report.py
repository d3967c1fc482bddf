"""A page about one run: curves, settings, checkpoints, a video. One file, no network; no text of the run is taken as HTML."""

from __future__ import annotations

import base64
import hashlib
import os
import shlex
import time
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from pufferlib.analysis.charts import run_charts
from pufferlib.analysis.details import checkpoints_of, details, progress, size_of, size_text, started
from pufferlib.analysis.index import Run, Summary
from pufferlib.analysis.page import SCRIPT, STYLE
from pufferlib.analysis.settings import SettingRow, setting_rows
from pufferlib.analysis.text import duration, plain_value, short
from pufferlib.atomic import replacing
from pufferlib.errors import ConfigError
from pufferlib.train.best import PREFIX

FILE_NAME = "report.html"
VIDEO_TYPES = {".mp4": "video/mp4", ".webm": "video/webm", ".gif": "image/gif"}
LARGEST_INLINE = 3_000_000
"""Bytes; a larger video stays a file beside the page."""


def write_report(run: Run, out: str | Path | None = None) -> Path:
    """Write the page in one rename; by default report.html in the run's folder. Raises ConfigError for a path that cannot be."""
    path = Path(out) if out else run.path / FILE_NAME
    if path.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"--out {path}: its name must end in .html")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ConfigError(f"--out {path}: " + ("is a folder" if path.is_dir() else f"there is no folder {path.parent}"))
    page = render(run, path.absolute().parent)
    with replacing(path, "w") as file:
        file.write(page)
    return path


def render(run: Run, folder: Path) -> str:
    """The page. folder: where it will lie, for links to files beside it"""
    summary = run.summary()
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = f"script-src 'sha256-{digest}'; object-src 'none'; base-uri 'none'"  # no other script may run, whatever slips in
    title = f"{run.env}, {run.name}"
    body = [
        head(run, summary),
        section("Curves", charts(run)),
        section("Video", video(run, folder)),
        section("End of training", statistics(run, summary)),
        section("Checkpoints", checkpoints(run)),
        *settings(run),
        section("Where it ran", origin(run)),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + f"\n<footer>Written by puffer runs report, {escape(time.strftime('%Y-%m-%d %H:%M'))}.</footer>"
        + f"\n</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def section(title: str, content: str) -> str:
    """A heading and what is below it; `content` is HTML."""
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}\n</section>"


def head(run: Run, summary: Summary) -> str:
    """Name, state and the figures that one looks for first."""
    policy = "" if run.problem else f", policy {run.policy}"
    tag = f", tag {run.tag}" if run.tag else ""
    metric = summary.metric or "score"
    tiles = [
        (f"{metric}, last 100 episodes", short(summary.last)),
        (f"{metric}, best", short(summary.best)),
        *(
            [("perf, from 0 to 1", short(summary.episodes.get("perf")))]
            if "perf" in summary.episodes and metric != "perf"
            else []
        ),
        ("agent-steps", short(summary.steps)),
        ("agent-steps per second", short(summary.speed)),
        ("training time", duration(summary.metrics.get("uptime"))),
    ]
    boxes = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span class="soft">{escape(name)}</span></div>' for name, value in tiles
    )
    problem = f'<p class="soft">{escape(run.problem)}</p>' if run.problem else ""
    return (
        f'<h1>{escape(run.env)}<span class="badge {summary.state}">{summary.state}</span></h1>\n'
        f'<p class="soft">{escape(run.name)}{escape(policy)}{escape(tag)}; {escape(progress(summary))}; '
        f"begun {escape(started(run))}</p>\n{problem}"
        f'<div class="tiles">{boxes}</div>'
    )


def charts(run: Run) -> str:
    """The learning curves."""
    found = run_charts(run.rows())
    if not found:
        return '<p class="soft">Nothing was logged yet.</p>'
    cards = "\n".join(f'<div class="card"><h3>{escape(title)}</h3>{svg}</div>' for title, svg in found)
    note = "Over agent-steps. Bold: a moving average that counts every episode alike; faint: what was logged."
    return f'<div class="charts">\n{cards}\n</div>\n<p class="soft">{note}</p>'


def video(run: Run, folder: Path) -> str:
    """The newest video of the run, within the page if it is small; or how to make one."""
    found = newest_video(run.path)
    if found is None:
        command = shlex.join(["puffer", "eval", str(run.path), "--episodes", "1", "--video", str(run.path / "eval.mp4")])
        return f'<p class="soft">None yet. Record one, then write this page again:</p><pre>{escape(command)}</pre>'
    kind = VIDEO_TYPES[found.suffix.lower()]
    size = size_of(found)
    if size <= LARGEST_INLINE:
        source = f"data:{kind};base64,{base64.b64encode(found.read_bytes()).decode()}"
    else:
        source = escape(quote(Path(os.path.relpath(found, folder)).as_posix()))
    name = escape(found.relative_to(run.path).as_posix())
    shown = (
        f'<img alt="an episode of the run" src="{source}">'
        if kind.startswith("image")
        else f'<video controls loop muted playsinline preload="metadata" src="{source}"></video>'
    )
    return f'{shown}\n<p class="soft">{name}, {size_text(size)}</p>'


def newest_video(folder: Path) -> Path | None:
    """In the run's folder or its videos/."""
    found = [path for place in (folder, folder / "videos") for path in place.glob("*") if path.suffix.lower() in VIDEO_TYPES]
    found = [path for path in found if path.is_file() and size_of(path)]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def statistics(run: Run, summary: Summary) -> str:
    """The last row, beside the means over the last episodes."""
    rows = run.rows()
    if not rows:
        return '<p class="soft">Nothing was logged yet.</p>'
    last = rows[-1]
    keys = [*(k for k in summary.metrics if k.startswith(PREFIX)), *(k for k in last if not k.startswith(PREFIX))]
    parts = [
        (title, [key for key in keys if belongs(key)])
        for title, belongs in (
            ("Episodes", lambda key: key.startswith(PREFIX)),
            ("Losses", lambda key: key.startswith("losses/")),
            ("Training", lambda key: not key.startswith((PREFIX, "losses/"))),
        )
    ]
    cards = []
    for title, members in parts:
        names = [key.removeprefix(PREFIX).removeprefix("losses/") for key in members]
        values = [[short(summary.metrics.get(key)), short(last.get(key))] for key in members]
        lines = [[name, *pair] for name, pair in zip(names, values, strict=True)]
        if lines:
            cards.append(f'<div class="card">{html_table([title, "end", "last row"], lines)}</div>')
    note = '<p class="soft">end: means over the last 100 episodes; SPS over the whole training</p>'
    return f'<div class="charts">{"".join(cards)}</div>{note}'


def checkpoints(run: Run) -> str:
    """Step, worth, size, path; the best is marked."""
    found, metric = checkpoints_of(run)
    if not found:
        return '<p class="soft">None.</p>'
    lines = [[f"{one.step:,}", short(one.worth), size_text(one.size), "best" if one.is_best else ""] for one in found]
    marks = [one.is_best for one in found]
    content = html_table(["step", metric or "score", "size", ""], lines, marks, first_is_number=True)
    best = "".join(f"<pre>{escape(shlex.join(['puffer', 'play', str(one.path)]))}</pre>" for one in found if one.is_best)
    note = '<p class="soft">Worth: the mean over the 100 episodes before it, or a few more.</p>'
    return f'<div class="card">{content}</div>{note}{best}'


def settings(run: Run) -> list[str]:
    """What was changed, then every setting by table with the changed ones marked."""
    if run.problem:
        return [section("Settings", f'<p class="soft">Not known: {escape(run.problem)}</p>')]
    rows, remark = setting_rows(run)
    changed = [row for row in rows if row.origin == "changed"]
    lines = [[row.key, plain_value(row.value), usual(row)] for row in changed]
    first = (
        f'<div class="card">{html_table(["setting", "here", "usual"], lines)}</div>'
        if lines
        else '<p class="soft">None: the run is what puffer train with this env and policy gives.</p>'
    )
    first += f'<p class="soft">{escape(remark)}</p>' if remark else ""
    groups: dict[str, list[SettingRow]] = {}
    for row in rows:
        groups.setdefault(row.key.rpartition(".")[0] or "run", []).append(row)
    cards = "".join(f'<div class="card">{settings_table(name, members)}</div>' for name, members in groups.items())
    note = '<p class="soft">Marked: changed. (preset): as the preset of the env has it, else the default of the library.</p>'
    return [section("Changed settings", first), section("All settings", f'<div class="tables">{cards}</div>{note}')]


def settings_table(name: str, rows: Sequence[SettingRow]) -> str:
    """One table of settings."""
    lines = []
    for row in rows:
        more = {"changed": f'<span class="usual">usual: {escape(usual(row))}</span>', "preset": " (preset)", "default": ""}[
            row.origin
        ]
        mark = ' class="changed"' if row.origin == "changed" else ""
        key = escape(row.key.rpartition(".")[2])
        lines.append(f'<tr{mark}><td class="mono">{key}</td><td class="mono">{escape(plain_value(row.value))}{more}</td></tr>')
    return f'<table><tr><th colspan="2">[{escape(name)}]</th></tr>{"".join(lines)}</table>'


def usual(row: SettingRow) -> str:
    """What the setting would have been."""
    return "-" if row.usual is None else plain_value(row.usual)


def origin(run: Run) -> str:
    """Command line, versions, machine, resumes."""
    facts = details(run)
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    lines = [
        ["folder", str(run.path.absolute())],
        ["versions", versions or "not recorded"],
        ["machine", facts["platform"] or "not recorded"],
    ]
    lines += [["resumed", f"at step {part['step']}, {part['started']}"] for part in facts["resumed"]]
    command = f"<pre>{escape(shlex.join(facts['command']))}</pre>" if facts["command"] else ""
    body = "".join(f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in lines)
    return f'{command}<div class="card"><table>{body}</table></div>'


def html_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], marks: Sequence[bool] = (), *, first_is_number: bool = False
) -> str:  # fmt: skip
    """A table whose first column is text and whose others are figures. marks: rows that stand out"""

    def kind(i: int) -> str:
        return ' class="number"' if i or first_is_number else ""

    lines = ["<tr>" + "".join(f"<th{kind(i)}>{escape(cell)}</th>" for i, cell in enumerate(header)) + "</tr>"]
    for k, row in enumerate(rows):
        mark = ' class="changed"' if k < len(marks) and marks[k] else ""
        lines.append(f"<tr{mark}>" + "".join(f"<td{kind(i)}>{escape(cell)}</td>" for i, cell in enumerate(row)) + "</tr>")
    return f"<table>{''.join(lines)}</table>"
