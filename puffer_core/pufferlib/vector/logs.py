"""Putting together the episode logs of several batches."""

from __future__ import annotations

from collections.abc import Iterable


def merge_logs(logs: Iterable[dict[str, float]]) -> dict[str, float]:
    """Means over all episodes, from means over some with their number `"n"`; {} if no episode ended."""
    parts = [log for log in logs if log.get("n")]
    if len(parts) < 2:
        return parts[0] if parts else {}
    merged: dict[str, float] = {}
    for name in dict.fromkeys(name for log in parts for name in log if name != "n"):
        having = [log for log in parts if name in log]
        merged[name] = sum(log[name] * log["n"] for log in having) / sum(log["n"] for log in having)
    merged["n"] = sum(log["n"] for log in parts)
    return merged
