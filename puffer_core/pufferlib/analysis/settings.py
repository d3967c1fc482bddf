"""What a run's settings say beside what `puffer train ENV` would have used, and beside other runs."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pufferlib.analysis.index import Run
from pufferlib.cli.flags import scan
from pufferlib.config.files import flat
from pufferlib.config.run_config import Given, RunConfig
from pufferlib.errors import ConfigError, PufferError

Origin = Literal["changed", "preset", "default"]
LABELS = ("env_name", "tag")
"""Settings that name a run rather than change it."""
SEED = "train.seed"
OF_NO_EFFECT = frozenset(
    {
        *LABELS, SEED, "logger", "train.log_interval_s", "train.rank_timeout_s", "train.checkpoint_interval",
        "train.keep_checkpoints", "train.keep_best", "train.best_metric", "train.video_interval",
    }
)  # fmt: skip
"""Two runs that differ in these alone are runs of one experiment: nothing that is learnt depends on them."""


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
    library = library_defaults()
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
        return dict(library_defaults()), f"beside the library's defaults, as the preset is not known: {reason}"
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


@functools.cache
def library_defaults() -> Mapping[str, Any]:
    """The settings of an env without a preset, by dotted key."""
    return flat(RunConfig(env_name="").tables())


def effective(run: Run) -> dict[str, Any]:
    """A run's settings; those that its version of the library did not know are as they are by default."""
    if run.problem:
        return dict(run.settings)
    return {**{key: value for key, value in library_defaults().items() if not key.startswith("policy.")}, **run.settings}


def differing(runs: Sequence[Run], ignored: Collection[str] = OF_NO_EFFECT) -> list[str]:
    """The settings that are not the same in all runs, in the order of config.toml."""
    found = [effective(run) for run in runs]
    missing = object()
    keys = dict.fromkeys(key for settings in found for key in settings if key not in ignored and not key.startswith("loggers."))
    values = {key: [settings.get(key, missing) for settings in found] for key in keys}
    return [key for key, (first, *others) in values.items() if any(differs(first, other) for other in others)]


def differs(a: Any, b: Any) -> bool:
    """Whether two settings are not the same; 1 and 1.0 are, 1 and true are not."""
    return bool(a != b) or isinstance(a, bool) != isinstance(b, bool)
