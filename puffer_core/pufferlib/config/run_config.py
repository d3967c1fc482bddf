"""The settings of one run, and how they are put together: defaults < preset < --config FILE < flags.

Every setting has one dotted key. `train.learning_rate` is the flag `--train.learning-rate` and the key `learning_rate` of
the table `[train]`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_type_hints

from pufferlib.config.files import read_toml
from pufferlib.config.schedules import make_schedules
from pufferlib.config.self_play_config import SelfPlayConfig
from pufferlib.config.train_config import TrainConfig
from pufferlib.config.values import Kind, from_text, from_toml, kind_of, near
from pufferlib.config.wrappers_config import WrappersConfig
from pufferlib.errors import ConfigError

TABLES = ("vec", "train", "policy", "schedule", "self_play", "wrappers", "loggers", "env")
_FLAT = frozenset({"hidden_size", "num_layers", "encode", "standardise", "log_std", "squash"})
_IMAGE = frozenset({"hidden_size", "num_layers", "log_std", "squash"})
_MULTI = _IMAGE | {"standardise", "cnn_width", "embedding_size"}
_ENTITIES = _IMAGE | {"standardise", "entities"}
_RECURRENT = _FLAT | _MULTI | _ENTITIES | {"encoder"}
BUILT_IN_POLICIES: dict[str, frozenset[str]] = {
    "mlp": _FLAT,
    "residual": _FLAT,
    "nature": _IMAGE,
    "impala": _IMAGE | {"cnn_width"},
    "multi": _MULTI,
    "entities": _ENTITIES,
    "lstm": _RECURRENT,
    "gru": _RECURRENT,
    "mingru": _RECURRENT | {"core_layers"},
    "attention": _RECURRENT | {"core_layers", "num_heads", "window"},
    "independent": _RECURRENT | {"core_layers", "num_heads", "window", "agents", "base"},
}
"""The core's own policies, with the settings that each takes; known without importing torch."""
FEED_FORWARD_POLICIES = frozenset(name for name, settings in BUILT_IN_POLICIES.items() if "encoder" not in settings)
"""Those of them that have no memory, and learn from single steps rather than whole segments."""
MOST_NAMES = 16
"""A table with more settings is not listed in an error."""
RECORD_TABLE = "run"
"""A run's config.toml describes the run itself (versions, command line) in this table; it holds no settings."""
SWEEP_TABLE = "sweep"
"""What `puffer sweep` searches, and how: presets and files may say it. Of no meaning to a single run."""


Declared = TypeVar("Declared")


@dataclass(kw_only=True)
class VecConfig:
    """How many envs step, and on what. `auto`: the library chooses."""

    num_envs: int = 64
    """Simulated worlds; each holds one or more agents."""
    num_workers: int | None = None
    """Threads (native envs) or processes (Python envs) that step them. Must divide num_envs."""
    batch_size: int | None = None
    """Envs handed over at once, a whole number of workers' shares; auto: all of them."""
    envs_per_worker: int | None = None
    """Checked against num_envs / num_workers when given."""
    backend: str = "auto"
    """serial, threads, processes, or another back end that `puffer plugins` lists."""
    in_order: bool = False
    """Take batches in a fixed order rather than as they finish: slower, but the same run every time."""
    start_method: Literal["auto", "fork", "spawn", "forkserver"] = "auto"
    """How worker processes start."""
    hang_timeout_s: float | None = None
    """A worker process that does not answer for so many seconds is an error; auto: only a warning."""
    restart_workers: bool = False
    """Replace a worker process that failed, cut its episodes off, and go on."""

    @property
    def backend_options(self) -> dict[str, Any]:
        """What is set of the back end's own options."""
        options: dict[str, Any] = {}
        if self.start_method != "auto":
            options["start_method"] = self.start_method
        if self.hang_timeout_s is not None:
            options["hang_timeout_s"] = self.hang_timeout_s
        if self.restart_workers:
            options["restart_workers"] = True
        return options


@dataclass(kw_only=True)
class PolicyConfig:
    """The network, by its registered name, and what its constructor takes beside the two spaces."""

    name: str = "mlp"
    """mlp, residual, nature, impala, multi, entities, lstm, gru, mingru, attention, independent, or one of `puffer plugins`."""
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass(kw_only=True)
class BuiltInPolicy:
    """Settings of the built-in policies. Each policy's own signature holds the defaults; a plugin's takes its own settings."""

    hidden_size: int | None = None
    """Width of every hidden layer and of the recurrent state. auto: the policy's own default, as for the settings below."""
    num_layers: int | None = None
    """Hidden layers of the encoder; residual: its blocks."""
    encoder: Literal["mlp", "residual", "nature", "impala", "multi", "entities"] | None = None
    """What lstm, gru, mingru and attention see with. auto: a CNN for images, multi for parts with an image, else mlp."""
    core_layers: int | None = None
    """Recurrent layers of mingru, blocks of attention."""
    num_heads: int | None = None
    """Heads of attention; divides hidden_size."""
    window: int | None = None
    """Steps that attention sees, the present one among them."""
    encode: Literal["scale", "onehot", "mixed"] | None = None
    """How integer observations enter the network: scaled to 0..1, one-hot, or mixed: one-hot up to 32 values, else scaled."""
    standardise: bool | None = None
    """Whether inputs other than images are standardised by running statistics of the observations."""
    cnn_width: int | None = None
    """Multiplies the channels of impala."""
    embedding_size: int | None = None
    """Numbers for each Discrete in multi."""
    entities: Any | None = None
    """Where entities reads sets: [[first, count, size], ...] in numbers of a row. auto: every Box of two axes."""
    log_std: Literal["parameter", "output"] | None = None
    """A Box's standard deviations: free parameters, or outputs of the network."""
    squash: bool | None = None
    """Bring a Box's actions into its bounds by tanh instead of clipping them."""
    agents: int | None = None
    """Agents of each env, for independent."""
    base: str | None = None
    """The policy of each of independent's networks."""


@dataclass(kw_only=True)
class RunConfig:
    """Everything that `puffer train` needs to know."""

    env_name: str
    tag: str = ""
    """A word for the name of the run's directory."""
    run_dir: str = ""
    """The run's directory; left out: runs/<env>/<time>-<tag>, from where the command runs. Never overwritten."""
    logger: list[str] = field(default_factory=list)
    """A logger beside metrics.jsonl: wandb, tensorboard, ..., see docs/loggers.md. Can be given several times."""
    callback: list[str] = field(default_factory=list)
    """A callback as module:Name, see docs/curricula.md. Can be given several times; called in that order."""
    vec: VecConfig = field(default_factory=VecConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    schedule: dict[str, str] = field(default_factory=dict)
    """Settings of [train] that change over training, as in "linear 0.02 0"; see docs/curricula.md."""
    self_play: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    wrappers: WrappersConfig = field(default_factory=WrappersConfig)
    loggers: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Settings of loggers by their names: `--loggers.wandb.project`, or `project` in the table [loggers.wandb]."""
    env: dict[str, Any] = field(default_factory=dict)
    """Keyword arguments of the env."""

    def tables(self) -> dict[str, Any]:
        """The settings as TOML tables; reading them back gives an equal RunConfig. None is written `auto`."""
        vec, train, wrappers = (
            {k: "auto" if v is None else v for k, v in vars(part).items()} for part in (self.vec, self.train, self.wrappers)
        )
        top = {"env_name": self.env_name, "tag": self.tag, "logger": self.logger, "callback": self.callback}
        policy = {"name": self.policy.name, **self.policy.kwargs}
        rest = {"schedule": self.schedule, "self_play": dict(vars(self.self_play)), "wrappers": wrappers}
        return {**top, "vec": vec, "train": train, "policy": policy, **rest, "loggers": self.loggers, "env": self.env}


class Setting(NamedTuple):
    """One setting that can be given: its kind, its default and its help text."""

    kind: Kind
    default: Any = None
    help: str = ""


class Given(NamedTuple):
    """A value somebody gave. `label` names it in errors: `--train.seed`, or `my.toml [train] seed`."""

    key: str
    value: Any
    label: str
    is_text: bool


@dataclass(frozen=True)
class Schema:
    """All settings by dotted key; keys of an open table need not be declared, and take TOML literals."""

    settings: Mapping[str, Setting]
    open_tables: frozenset[str] = frozenset()

    def find(self, key: str) -> Setting | None:
        """The setting of that key, or None."""
        table = key.split(".", 1)[0]
        return self.settings.get(key) or (Setting(Kind("any")) if "." in key and table in self.open_tables else None)

    def convert(self, given: Given) -> Any:
        """The typed value. Raises ConfigError that names the flag, or the file and table, and near matches."""
        setting = self.find(given.key)
        if setting is None:
            raise ConfigError(f"{given.label}: no such setting{self.suggest(given)}")
        try:
            return from_text(setting.kind, given.value) if given.is_text else from_toml(setting.kind, given.value)
        except ValueError as error:
            raise ConfigError(f"{given.label}: {error}") from None

    def suggest(self, given: Given) -> str:
        """`; did you mean X?`, spelt the way the value was given, or what the table takes."""
        table, _, name = given.key.rpartition(".")
        spell = flag if given.is_text else str
        beside = {key.rpartition(".")[2]: key for key in self.settings if key.rpartition(".")[0] == table}
        close = difflib.get_close_matches(name, beside, 1, 0.6)
        if close:
            return f"; did you mean {spell(beside[close[0]])}?"
        if table and beside and len(beside) <= MOST_NAMES:
            return f"; it takes {', '.join(map(spell, beside.values()))}"
        if table == "env" and not beside:
            return "; this env takes none"
        return near(spell(given.key), [spell(key) for key in self.settings])


def flag(key: str) -> str:
    """`--train.learning-rate` for `train.learning_rate`."""
    return "--" + key.replace("_", "-")


def settings_of(declared: type, table: str = "", skip: Iterable[str] = ()) -> dict[str, Setting]:
    """The settings that a dataclass declares, by dotted key; its nested dataclasses have to be added apart."""
    hints, found = get_type_hints(declared), {}
    for part in fields(declared):
        if part.name in skip or is_dataclass(hints[part.name]):
            continue
        default = part.default_factory() if part.default_factory is not MISSING else part.default
        found[f"{table}.{part.name}" if table else part.name] = Setting(kind_of(hints[part.name]), default)
    return found


def given_in_file(path: str | Path, tables: Iterable[str] = TABLES) -> list[Given]:
    """What a TOML file sets. Raises ConfigError for an unknown table."""
    known, found = list(tables), []
    for name, value in read_toml(path).items():
        if name in (RECORD_TABLE, SWEEP_TABLE, "env_name"):  # the command looks at env_name
            continue
        if not isinstance(value, dict):
            found.append(Given(name, value, f"{path} {name}", False))
            continue
        if name not in known:
            raise ConfigError(f"{path} [{name}]: no such table{near(name, known)} (tables: {', '.join(known)})")
        found += given_in_table(name, value, f"{path} ")
    return found


def given_in_table(name: str, table: Mapping[str, Any], label: str = "") -> list[Given]:
    """What a table sets; [loggers] holds one table for each logger."""
    found: list[Given] = []
    for key, value in table.items():
        if name == "loggers" and isinstance(value, Mapping):
            found += given_in_table(f"{name}.{key.replace('-', '_')}", value, label)  # as flags spell it
        else:
            found.append(Given(f"{name}.{key}", value, f"{label}[{name}] {key}", False))
    return found


def merge(schema: Schema, layers: Iterable[Iterable[Given]]) -> tuple[dict[str, Any], dict[str, str]]:
    """The value of every given key, later layers over earlier ones, and who gave it. All are checked, also those overridden."""
    values: dict[str, Any] = {}
    labels: dict[str, str] = {}
    for layer in layers:
        fresh: dict[str, Any] = {}
        for given in layer:
            value, setting = schema.convert(given), schema.find(given.key)
            adds_up = given.is_text and setting is not None and setting.kind.name == "texts"
            fresh[given.key] = [*fresh.get(given.key, []), *value] if adds_up else value
            labels[given.key] = given.label
        values.update(fresh)
    return values, labels


def build(env_name: str, values: Mapping[str, Any], labels: Mapping[str, str]) -> RunConfig:
    """The RunConfig of these values. Raises ConfigError, naming who gave the value, when the settings refuse it."""

    def of(table: str) -> dict[str, Any]:
        return {key.split(".", 1)[1]: value for key, value in values.items() if key.startswith(table + ".")}

    top = {key: value for key, value in values.items() if "." not in key}
    policy = of("policy")
    name = policy.pop("name", PolicyConfig.name)
    if name in BUILT_IN_POLICIES:
        policy = {key: value for key, value in policy.items() if value is not None}
    train = blame(TrainConfig, of("train"), "train", labels)
    loggers: dict[str, dict[str, Any]] = {}
    for key, value in of("loggers").items():
        if value is not None:  # auto: the logger's own default
            loggers.setdefault(key.split(".")[0], {})[key.split(".")[1]] = value
    make_schedules(of("schedule"), train)  # refused now, rather than when training begins
    return RunConfig(
        env_name=env_name,
        vec=VecConfig(**of("vec")),
        train=train,
        schedule=of("schedule"),
        self_play=SelfPlayConfig(**of("self_play")),
        wrappers=blame(WrappersConfig, of("wrappers"), "wrappers", labels),
        policy=PolicyConfig(name=name, kwargs=policy),
        loggers=loggers,
        env=of("env"),
        **top,
    )


def blame(declared: type[Declared], values: dict[str, Any], table: str, labels: Mapping[str, str]) -> Declared:
    """`declared(**values)`; where a value from a file is refused, the error begins with the file and the table."""
    try:
        return declared(**values)
    except ConfigError as error:
        words = str(error).replace(",", " ").replace("=", " ").split()
        guilty = [labels[f"{table}.{key}"] for key in values if key in words]
        files = [label for label in guilty if not label.startswith("--")]
        raise ConfigError(f"{', '.join(files)}: {error}" if files else str(error)) from None
