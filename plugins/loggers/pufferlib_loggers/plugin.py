"""What this package registers. Light: a tracker's own package is imported when the logger is used and not before."""

from __future__ import annotations

PUFFERLIB_API = 1
