"""Episodes of the first env as video files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pufferlib.errors import ConfigError
from pufferlib.vector import VecEnv
from pufferlib.wrappers.base import Step, VecWrapper

if TYPE_CHECKING:
    from pufferlib.render.video import VideoWriter


def capped_cubic(episode: int) -> bool:
    """Episodes 0, 1, 8, 27, ... 729, then every thousandth; Gymnasium's default."""
    return round(episode ** (1 / 3)) ** 3 == episode if episode < 1000 else episode % 1000 == 0


class RecordVideo(VecWrapper):
    """Writes chosen episodes of the first env to `<folder>/<prefix>-episode-<number>.mp4`; over a VecEnv.

    folder: made if it is missing; files of the same name are overwritten
    episode_trigger: which episodes, by their number; None: `capped_cubic`
    fps: None: the env's own, else 30
    The env must render RGB frames: native envs always do, others are made with render_mode="rgb_array". A frame is drawn after
    every step of the first batch while an episode is recorded. As resets happen within the step, the very last state of an
    episode is not drawn. Raises RenderError without imageio.
    """

    def __init__(
        self,
        env: VecEnv,
        folder: str | Path,
        *,
        episode_trigger: Callable[[int], bool] | None = None,
        prefix: str = "video",
        fps: float | None = None,
    ) -> None:
        if not env._native and env.render_mode != "rgb_array":
            raise ConfigError(f"RecordVideo needs an env made with render_mode='rgb_array', this one has {env.render_mode!r}")
        self.folder, self.prefix = Path(folder), prefix
        self.folder.mkdir(parents=True, exist_ok=True)
        self.episode = 0
        """The number of the first env's episode."""
        self.fps = float(fps or env.metadata.get("render_fps") or 30)
        self._trigger = episode_trigger or capped_cubic
        self._writer: VideoWriter | None = None
        super().__init__(env)

    def receive(self, step: Step) -> None:
        if step.group:
            return
        own = slice(0, self.agents_per_env)
        over = step.inner.terminals[own] | step.inner.truncations[own]
        if step.is_reset:
            self._stop()
        elif over.any() and np.all(over | ~step.inner.masks[own]):
            self._stop()
            self.episode += 1
        elif self._writer is not None:
            self._writer.add(self.env.render())
            return
        else:
            return
        if self._trigger(self.episode):
            from pufferlib.render.video import VideoWriter

            self._writer = VideoWriter(self.folder / f"{self.prefix}-episode-{self.episode}.mp4", self.fps)
            self._writer.add(self.env.render())

    def _stop(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _close(self) -> None:
        self._stop()
        super()._close()
