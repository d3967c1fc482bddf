"""What a run's settings say beside what `puffer train ENV` would have used, and beside other runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pufferlib.analysis.index import Run, flat
from pufferlib.cli.flags import scan
from pufferlib.config.run_config import Given, RunConfig
from pufferlib.errors import ConfigError, PufferError

Origin = Literal["changed", "preset", "default"]
LABELS = ("env_name", "tag")
"""Settings that name a run rather than change it."""
OF_NO_EFFECT = (*LABELS, "logger", "train.seed", "train.log_interval_s", "train.rank_timeout_s")
"""Two runs that differ in these alone are runs of one experiment."""
SEED = "train.seed"


@dataclass(frozen=True)
class SettingRow:
    """One setting of a run. usual: what `puffer train ENV` uses without a flag; None where there is no such setting."""

    key: str
    value: Any
    usual: Any
    origin: Origin


def setting_rows(run: Run) -> tuple[list[SettingRow], str]:
    """Every setting with its origin, and a remark where the preset could not be found.

    The policy's own defaults stand in its constructor, which would load torch: a setting that neither the preset nor the command
    line names is taken for one.
    """
    usual, remark = usual_settings(run)
    library = flat(RunConfig(env_name=run.env).tables())
    given = given_keys(run)
    rows = []
    for key, value in run.settings.items():
        if key in LABELS:
            continue
        if key in usual:
            origin: Origin = "changed" if differs(value, usual[key]) else "default"
            if origin == "default" and (key not in library or differs(value, library[key])) and not key.startswith("env."):
                origin = "preset"
        else:
            origin = "changed" if key in given or not key.startswith(("policy.", "env.")) else "default"
        rows.append(SettingRow(key, value, usual.get(key), origin))
    return rows, remark


def changed_settings(run: Run) -> tuple[list[SettingRow], str]:
    """Those that differ from what `puffer train ENV` uses, and the remark."""
    rows, remark = setting_rows(run)
    return [row for row in rows if row.origin == "changed"], remark


def usual_settings(run: Run) -> tuple[dict[str, Any], str]:
    """What `puffer train ENV --policy.name ...` uses, by dotted key; the library's defaults where the env is not installed."""
    from pufferlib.config.resolve import resolve

    named = [Given("policy.name", run.policy, "[policy] name", False)]
    try:
        preset = flat(resolve(run.env).tables())
        usual = flat(resolve(run.env, named).tables())
    except PufferError as error:
        reason = str(error).splitlines()[0]
        return flat(RunConfig(env_name=run.env).tables()), f"beside the library's defaults, as the preset is not known: {reason}"
    return {**usual, "policy.name": preset["policy.name"]}, ""


def given_keys(run: Run) -> set[str]:
    """The settings that the command line of the run named, also when it was resumed."""
    lines = [run.record, *(part for part in listed(run.record.get("resumed")) if isinstance(part, Mapping))]
    keys: set[str] = set()
    for line in lines:
        words = [word for word in listed(line.get("command")) if isinstance(word, str)]
        try:
            keys.update(given.key for given in scan(words).flags)
        except ConfigError:
            continue
    return keys


def listed(value: Any) -> list[Any]:
    """`value` if it is a list."""
    return value if isinstance(value, list) else []


def differing(runs: Sequence[Run], ignored: Sequence[str] = OF_NO_EFFECT) -> list[str]:
    """The settings that are not the same in all runs, in the order of config.toml."""
    keys = dict.fromkeys(key for run in runs for key in run.settings)
    first = runs[0].settings if runs else {}
    missing = object()
    return [
        key for key in keys if key not in ignored and not key.startswith("loggers.")
        and any(differs(run.settings.get(key, missing), first.get(key, missing)) for run in runs[1:])
    ]  # fmt: skip


def differs(a: Any, b: Any) -> bool:
    """Whether two settings are not the same; 1 and 1.0 are, 1 and true are not."""
    return bool(a != b) or isinstance(a, bool) != isinstance(b, bool)
