"""Draw docs/images/dashboard.svg: the panel of `puffer train` as it stood in the course of a run.

python docs/dashboard.py RUN [SHARE]    after SHARE of its rows (0.6)
"""

from __future__ import annotations

import io
import re
import sys
import time
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.segment import Segment
from rich.terminal_theme import MONOKAI

from pufferlib.train.dashboard import KEY_FOOTERS
from pufferlib.train.in_place import Ready
from pufferlib.train.panel import Extras, draw_panel
from pufferlib.train.progress import Machine, Progress
from pufferlib.train.run_dir import RunDirectory

PICTURE = Path(__file__).parent / "images" / "dashboard.svg"
COLUMNS, ROWS = 80, 24
FONTS = "Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def progress_of(run: RunDirectory, share: float) -> Progress:
    """What the dashboard knew of the run after that share of its rows."""
    rows = run.rows()
    rows = rows[: max(1, round(share * len(rows)))]
    tables = run.tables()
    progress = Progress(f"{tables['env_name']}  runs/{tables['env_name']}/{run.path.name}", tables["train"]["total_timesteps"], 0)
    for row in rows:
        progress.take(row)
    progress.began = time.monotonic() - rows[-1]["uptime"]
    return progress


def picture(progress: Progress, notes: list[str]) -> str:
    """The panel as an SVG that loads nothing."""
    machine = Machine()
    machine.load()
    time.sleep(1.0)
    lines = draw_panel(progress, Extras(KEY_FOOTERS, notes=notes, machine=machine.load()), COLUMNS, ROWS - 1)
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Ready([part for line in lines for part in (*line, Segment("\n"))]), end="")
    template = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    template = re.sub(r"font-family: [^;]*;", f"font-family: {FONTS};", template)
    return console.export_svg(title="puffer train ocean-breakout", theme=MONOKAI, code_format=template)


def main() -> None:
    """Draw it."""
    run = RunDirectory.open(sys.argv[1])
    progress = progress_of(run, float(sys.argv[2]) if len(sys.argv) > 2 else 0.6)
    steps = [step for step in map(int, (path.stem for path in run.checkpoints())) if step <= progress.step]
    progress.checkpoint = f"checkpoints/{max(steps, default=progress.step)}.pt"
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(progress, [f"recorded videos/{progress.step // 2}.mp4"]), encoding="utf-8")
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
