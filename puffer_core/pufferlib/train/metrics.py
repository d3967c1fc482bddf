"""Metrics between two reports. Losses stay on the device until somebody asks."""

from __future__ import annotations

import time
from collections.abc import Mapping

import torch
from torch import Tensor

from pufferlib.train.losses import Losses

LOSSES = ("policy_loss", "value_loss", "entropy", "approx_kl", "clipfrac", "grad_norm")


class Metrics:
    """Sums since the last `drain`."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.agent_steps = 0
        """Real steps learnt from so far: without masked and skipped ones."""
        self.skipped_updates = 0
        self.skipped_rows = 0
        self.explained_variance: Tensor | None = None
        self._left_out = torch.zeros(1 + len(Losses._fields), device=device)
        self._start = self._since = time.perf_counter()
        self._step = 0
        self._clear()

    def _clear(self) -> None:
        self._losses = torch.zeros(len(LOSSES), device=self.device)
        self._updates = 0
        self._episodes: dict[str, float] = {}
        self._episode_weights: dict[str, float] = {}
        self.times = {"env": 0.0, "forward": 0.0, "copy": 0.0, "learn": 0.0}

    def add_losses(self, losses: Losses, norm: Tensor, finite: Tensor | None = None) -> None:
        """`finite`: a bool on the device, whether the update was made; `updates_left_out` tells later. None: it was."""
        with torch.no_grad():
            row = torch.stack([*losses[1:], norm.detach()])
            if finite is not None:
                self._left_out += torch.where(finite, 0.0, torch.stack([torch.ones_like(norm), *losses]))
                row = torch.where(finite, row, 0.0)
            self._losses += row
        self._updates += 1

    def updates_left_out(self) -> tuple[int, Losses]:
        """How many updates the device has left out since the last call, and the sums of their losses. Waits for the device."""
        number, *losses = self._left_out.unbind()
        count = int(number)
        self._left_out = torch.zeros_like(self._left_out)
        self._updates -= count
        self.skipped_updates += count
        return count, Losses(*losses)

    def add_episodes(self, log: dict[str, float]) -> None:
        """Means over `log["n"]` episodes."""
        number = log.get("n", 0.0)
        for name, value in log.items():
            if name != "n" and number:
                self._episodes[name] = self._episodes.get(name, 0.0) + value * number
                self._episode_weights[name] = self._episode_weights.get(name, 0.0) + number
        if number:
            self._episode_weights["n"] = self._episode_weights.get("n", 0.0) + number

    def add_times(self, times: dict[str, float]) -> None:
        """Takes the seconds over and sets them back to 0."""
        for name in times:
            self.times[name] += times[name]
            times[name] = 0.0

    def take_out(self, compile_s: dict[str, float]) -> None:
        """Call the seconds of `compile_s` so, rather than what they were spent within, and set them back to 0."""
        for name, seconds in compile_s.items():
            if seconds:
                self.times[name] -= seconds
                self.times["compile"] = self.times.get("compile", 0.0) + seconds
                compile_s[name] = 0.0

    def drain(self, global_step: int, epoch: int, learning_rate: float) -> dict[str, float]:
        """One row of metrics, and a new start."""
        now = time.perf_counter()
        row: dict[str, float] = {
            "global_step": global_step, "epoch": epoch, "agent_steps": self.agent_steps, "uptime": now - self._start,
            "SPS": (global_step - self._step) / max(now - self._since, 1e-9), "learning_rate": learning_rate,
        }  # fmt: skip
        if "n" in self._episode_weights:
            row["environment/n"] = self._episode_weights.pop("n")
        row.update({f"environment/{name}": total / self._episode_weights[name] for name, total in self._episodes.items()})
        if self._updates:
            means = (self._losses / self._updates).tolist()
            row.update({f"losses/{name}": value for name, value in zip(LOSSES, means, strict=True)})
        if self.explained_variance is not None:
            row["losses/explained_variance"] = float(self.explained_variance)
        row["losses/skipped_updates"] = self.skipped_updates
        row["losses/skipped_rows"] = self.skipped_rows
        row.update({f"time/{name}": seconds for name, seconds in self.times.items()})
        self._since, self._step = now, global_step
        self._clear()
        return row

    def counts(self) -> dict[str, float]:
        """What counts from the start of the run, for a checkpoint."""
        return {
            "agent_steps": self.agent_steps, "skipped_updates": self.skipped_updates, "skipped_rows": self.skipped_rows,
            "uptime": time.perf_counter() - self._start,
        }  # fmt: skip

    def restart_clock(self) -> float:
        """Leave what passed since this object was made, or resumed, out of speed and uptime. Returns time.monotonic()."""
        now = time.perf_counter()
        self._start += now - self._since
        self._since = now
        return time.monotonic()

    def resume(self, global_step: int, counts: Mapping[str, float]) -> None:
        """Go on from `counts()` after a checkpoint was loaded; the time that no process trained is not counted."""
        self._step, self._since = global_step, time.perf_counter()
        self.agent_steps = int(counts["agent_steps"])
        self.skipped_updates, self.skipped_rows = int(counts["skipped_updates"]), int(counts["skipped_rows"])
        self._start = self._since - counts["uptime"]
