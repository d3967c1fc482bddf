"""What this package registers. Light: neither Optuna nor scikit-learn is imported before a sweep starts."""

from __future__ import annotations

PUFFERLIB_API = 1
