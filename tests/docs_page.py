"""Run a page's Python as it stands, with training cut short: `python docs_page.py PAGE.py`."""

from __future__ import annotations

import runpy
import sys
from dataclasses import replace
from typing import Any

import torch

from pufferlib.config.train_config import TrainConfig
from pufferlib.train.puffe_rl import PuffeRL

ROLLOUTS = 2


def cut_short() -> None:
    """No run is longer than ROLLOUTS rollouts, whatever the page asks for."""
    resolve, fit = TrainConfig.resolve, PuffeRL.fit

    def few(self: TrainConfig, num_agents: int) -> TrainConfig:
        config = resolve(self, num_agents)
        return replace(config, total_timesteps=min(config.total_timesteps, ROLLOUTS * config.batch_size))

    def short(self: PuffeRL, total_timesteps: int | None = None) -> dict[str, float]:
        most = self.global_step + ROLLOUTS * self.config.batch_size
        return fit(self, None if total_timesteps is None else min(total_timesteps, most))

    patched: Any = TrainConfig
    patched.resolve = few
    trainer: Any = PuffeRL
    trainer.fit = short


if __name__ == "__main__":
    cut_short()
    torch.set_num_threads(1)
    runpy.run_path(sys.argv[1], run_name="__main__")
