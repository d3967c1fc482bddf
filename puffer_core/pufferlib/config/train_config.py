"""Every setting of the trainer: its name, default, range and meaning stand here and nowhere else.

The same names serve keyword arguments of PuffeRL, the [train] table of a TOML file and the command line
(`--train.learning-rate`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(kw_only=True)
class TrainConfig:
    """Settings of PuffeRL. "Steps" are agent-steps: one row, one step."""

    seed: int = 1
    """Seeds the envs, the policy's initialisation and every random draw of the trainer. At least 0."""
    device: str = "auto"
    """auto (cuda if there is one, else cpu), cpu, cuda, cuda:N or mps."""
    torch_threads: int = 0
    """Threads of torch on the CPU; 0 leaves torch's own choice."""
    deterministic: bool = False
    """Ask torch for deterministic kernels (slower on a GPU; the CPU is deterministic anyway)."""

    total_timesteps: int = 10_000_000
    """Steps after which training ends. A rollout is never cut: the last one may end above it."""
    batch_size: int = 0
    """Steps of one rollout: num_agents * horizon. 0: num_agents * horizon from the setting below."""
    horizon: int = 64
    """Steps of one row in a rollout, the length of a segment. Follows from batch_size when that is given."""
    minibatch_size: int = 8192
    """Steps of one gradient step. Need not divide the batch; the last minibatch is smaller. Recurrent policies take whole
    segments, so it must be at least the horizon there. A value above the batch means the whole batch."""
    update_epochs: int = 1
    """Passes over each rollout."""

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
    adam_beta2: float = 0.999
    adam_eps: float = 1e-8
    weight_decay: float = 0.0
    muon_momentum: float = 0.95
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
    """NaN or infinity in losses or gradients: raise NonFiniteError, or skip the update and count it."""
    checkpoint_interval: int = 50
    """Rollouts between checkpoints. 0: only at the end."""
    keep_checkpoints: int = 3
    """How many of the newest checkpoints stay. 0: all."""
    log_interval_s: float = 1.0
    """Least seconds between two rows of metrics (the last one is always written)."""
