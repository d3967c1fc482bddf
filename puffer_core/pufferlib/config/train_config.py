"""Every setting of the trainer: its name, default, range and meaning stand here and nowhere else.

The same names serve keyword arguments of PuffeRL, the [train] table of a TOML file and the command line
(`--train.learning-rate`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args, get_type_hints

from pufferlib.errors import ConfigError


@dataclass(kw_only=True)
class TrainConfig:
    """Settings of PuffeRL. "Steps" are agent-steps: one row, one step."""

    seed: int = 1
    """Seeds the envs, the policy's initialisation and every random draw of the trainer. At least 0."""
    device: str = "auto"
    """auto (cuda if there is one, else cpu), cpu, cuda, cuda:N or mps."""
    torch_threads: int = 0
    """Threads of torch on the CPU; 0 leaves torch's own choice."""
    learner: Literal["auto", "torch"] = "auto"
    """auto: on a CPU the shipped mlp, lstm and mingru run in kernels made for them, all else in torch. torch: all in torch."""
    deterministic: bool = False
    """Ask torch for deterministic kernels (slower on a GPU; the CPU is deterministic anyway)."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of the policy's matrix products. Weights, gradients, losses and the optimizer are float32 either way. In bfloat16 torch
    learns, not the C kernels."""
    compile: bool = False
    """Compile the policy with torch.compile, on a GPU with CUDA graphs, instead of using the C kernels. Takes up to a minute at
    the start."""
    rank_timeout_s: float = 600.0
    """With several ranks: how long one waits for another before it takes it for dead."""

    total_timesteps: int = 10_000_000
    """Steps after which training ends. A rollout is never cut: the last one may end above it."""
    batch_size: int = 0
    """Steps of one rollout: num_agents * horizon. 0: num_agents * horizon from the setting below."""
    horizon: int = 64
    """Steps of one row in a rollout, the length of a segment. Follows from batch_size when that is given."""
    minibatch_size: int = 8192
    """Steps of one gradient step. Need not divide the batch; the last minibatch is smaller. Recurrent policies and
    prioritised sampling take whole segments: there it must be a multiple of the horizon, or at least the whole batch."""
    update_epochs: int = 1
    """Passes over each rollout. From the second on, advantages are recomputed with the ratios last seen (V-trace)."""

    optimizer: Literal["adam", "muon"] = "adam"
    """adam, or muon: torch's Muon for hidden weight matrices and AdamW for the rest."""
    learning_rate: float = 2.5e-3
    """At the start. With muon, of the matrices (RMS-matched to AdamW, so one value serves both)."""
    min_learning_rate: float = 0.0
    """At the end of annealing."""
    anneal_lr: bool = True
    """Lower the learning rate over total_timesteps."""
    anneal_schedule: Literal["cosine", "linear"] = "cosine"
    """The shape of annealing."""
    adam_beta1: float = 0.9
    """Decay of Adam's mean of gradients (Kingma and Ba 2015)."""
    adam_beta2: float = 0.999
    """Decay of Adam's mean of squared gradients."""
    adam_eps: float = 1e-8
    """Added to the root of Adam's mean of squares."""
    weight_decay: float = 0.0
    """Decoupled (AdamW, Muon)."""
    muon_momentum: float = 0.95
    """Momentum of Muon's matrices."""
    max_grad_norm: float = 0.5
    """Gradients are scaled down to this global norm. 0: never."""

    gamma: float = 0.99
    """Discount per step."""
    gae_lambda: float = 0.95
    """Lambda of generalised advantage estimation (Schulman et al. 2016)."""
    rho_clip: float = 1.0
    """V-trace clip of the importance ratio in the temporal difference (Espeholt et al. 2018, rho-bar)."""
    c_clip: float = 1.0
    """V-trace clip of the importance ratio in the trace (c-bar)."""
    clip_coef: float = 0.2
    """PPO's clip range of the ratio (Schulman et al. 2017, eq. 7)."""
    vf_coef: float = 0.5
    """Weight of the value loss."""
    vf_clip_coef: float = 0.2
    """Clip range of the value's change. 0: no value clipping."""
    ent_coef: float = 0.01
    """Weight of the entropy bonus."""
    target_kl: float = 0.0
    """End a rollout's epochs once the approximate KL exceeds this. 0: never."""
    normalize_advantages: bool = True
    """Per minibatch: subtract the mean, divide by the population standard deviation; masked rows do not count."""
    reward_scale: float = 1.0
    """Rewards are multiplied by this before the advantage. Logged returns are not."""
    reward_clip: float = 0.0
    """Clip scaled rewards to +/- this. 0: never."""

    prio_alpha: float = 0.0
    """Exponent of prioritised sampling of segments by their mean absolute advantage (Schaul et al. 2016). 0: uniform."""
    prio_beta0: float = 0.4
    """Initial exponent of the importance weights of prioritised sampling; rises to 1 over training."""

    nonfinite: Literal["raise", "skip"] = "raise"
    """NaN or infinity in rewards, observations, losses or gradients: raise NonFiniteError naming the cause, or leave the
    rows (or the update) out and count them. Weights never see it either way."""
    checkpoint_interval: int = 50
    """Rollouts between checkpoints. 0: only at the end."""
    keep_checkpoints: int = 3
    """How many of the newest checkpoints stay. 0: all."""
    keep_best: int = 1
    """How many of the best checkpoints stay beside the newest. 0: none."""
    best_metric: str = "auto"
    """The episode statistic that tells which checkpoint is best, such as perf; -NAME: the least is best. auto: score, or
    episode_return where there is no score."""
    video_interval: int = 0
    """Rollouts between videos: `puffer train` has the policy play one episode in a process of its own, and puts it into the
    run's videos/. Left out while one is being recorded. 0: none but those asked for with the key v."""
    log_interval_s: float = 1.0
    """Least seconds between two rows of metrics. Each checkpoint and the end have a row in any case."""

    def __post_init__(self) -> None:
        self.validate()

    def validate(self) -> None:
        """Raise ConfigError, naming the setting, on a wrong type, NaN, or a value out of range.

        Whole floats are taken where an integer is wanted (`total_timesteps=1e6`), integers where a float is.
        """
        for field in fields(self):
            value = _typed(field.name, getattr(self, field.name), _TYPES[field.name])
            setattr(self, field.name, value)
            if field.name in _RANGES:
                _check_range(field.name, value, *_RANGES[field.name])
        if self.min_learning_rate > self.learning_rate:
            raise ConfigError(
                f"{spell('min_learning_rate')} must not exceed learning_rate={self.learning_rate}, got {self.min_learning_rate}"
            )

    def resolve(self, num_agents: int) -> TrainConfig:
        """The same settings with batch_size and horizon made to agree: batch_size = num_agents * horizon.

        Raises ConfigError where batch_size is no multiple of num_agents, naming the nearest that are.
        """
        if not self.batch_size:
            return replace(self, batch_size=num_agents * self.horizon)
        if self.batch_size % num_agents:
            below = self.batch_size // num_agents * num_agents
            near = [size for size in (below, below + num_agents) if size]
            raise ConfigError(
                f"{spell('batch_size')}={self.batch_size} must be a multiple of num_agents={num_agents}; "
                f"nearest: {', '.join(map(str, near))}"
            )
        return replace(self, horizon=self.batch_size // num_agents)


def spell(name: str) -> str:
    """A setting in both its spellings, for messages: `batch_size (--train.batch-size)`."""
    return f"{name} (--train.{name.replace('_', '-')})"


_INF = math.inf
# name -> (least, most, whether the ends themselves are allowed)
_RANGES: dict[str, tuple[float, float, bool, bool]] = {
    "seed": (0, 2**63 - 1, True, True),
    "torch_threads": (0, 4096, True, True),
    "rank_timeout_s": (0, _INF, False, False),
    "total_timesteps": (1, _INF, True, False),
    "batch_size": (0, _INF, True, False),
    "horizon": (1, _INF, True, False),
    "minibatch_size": (1, _INF, True, False),
    "update_epochs": (1, _INF, True, False),
    "learning_rate": (0, _INF, True, False),
    "min_learning_rate": (0, _INF, True, False),
    "adam_beta1": (0, 1, True, False),
    "adam_beta2": (0, 1, True, False),
    "adam_eps": (0, _INF, True, False),
    "weight_decay": (0, _INF, True, False),
    "muon_momentum": (0, 1, True, False),
    "max_grad_norm": (0, _INF, True, False),
    "gamma": (0, 1, True, True),
    "gae_lambda": (0, 1, True, True),
    "rho_clip": (0, _INF, False, True),
    "c_clip": (0, _INF, False, True),
    "clip_coef": (0, _INF, False, True),
    "vf_coef": (0, _INF, True, False),
    "vf_clip_coef": (0, _INF, True, False),
    "ent_coef": (-_INF, _INF, False, False),
    "target_kl": (0, _INF, True, False),
    "reward_scale": (-_INF, _INF, False, False),
    "reward_clip": (0, _INF, True, False),
    "prio_alpha": (0, _INF, True, False),
    "prio_beta0": (0, 1, True, True),
    "checkpoint_interval": (0, _INF, True, False),
    "keep_checkpoints": (0, _INF, True, False),
    "keep_best": (0, _INF, True, False),
    "video_interval": (0, _INF, True, False),
    "log_interval_s": (0, _INF, True, False),
}
_TYPES: dict[str, Any] = get_type_hints(TrainConfig)


def _typed(name: str, value: Any, kind: Any) -> Any:
    choices = get_args(kind)
    if choices:
        if value not in choices:
            raise ConfigError(f"{spell(name)} must be one of {', '.join(choices)}, got {value!r}")
        return value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is float and number:
        return float(value)
    if kind is int and number and float(value).is_integer():
        return int(value)
    if kind in (bool, str) and isinstance(value, kind):
        return value
    wanted = {int: "an integer", float: "a number", bool: "True or False", str: "text"}[kind]
    raise ConfigError(f"{spell(name)} must be {wanted}, got {value!r}")


def _check_range(name: str, value: float, least: float, most: float, with_least: bool, with_most: bool) -> None:
    low = value >= least if with_least else value > least
    high = value <= most if with_most else value < most
    if low and high:  # never true for NaN
        return
    bounds = f"{'[' if with_least else '('}{least}, {most}{']' if with_most else ')'}"
    raise ConfigError(f"{spell(name)} must be in {bounds}, got {value}")
