"""The number of the env that is being built, where several batches make up one VecEnv."""

from __future__ import annotations

from contextvars import ContextVar

first_env: ContextVar[int] = ContextVar("first_env", default=0)
"""The number of the first env of the batch that is being built: set around a maker's call."""
