"""Trained policies for use in other code.

policy = pufferlib.load_policy("runs/ocean-breakout/20260101-120000-a1b2c3", "best")
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.errors import CheckpointError, ConfigError
from pufferlib.structure import StructuredBox
from pufferlib.train.checkpoint import (
    DamagedCheckpointError,
    build_saved_policy,
    give_env_state,
    observation_wrappers,
    read_checkpoint,
    unpack,
)
from pufferlib.train.run_dir import RunDirectory

LATEST, BEST = "latest", "best"
NORMALIZE, STACK = "NormalizeObservation", "FrameStackObservation"
log = logging.getLogger("pufferlib.loading")


def load_policy(run: str | Path, checkpoint: str | Path = LATEST, env: Any = None, *, device: str = "cpu") -> nn.Module:
    """The policy of a run, ready to act: with its weights and the statistics of its inputs, in evaluation mode.

    run: a run directory, or a checkpoint file
    checkpoint: of a run directory: "latest", "best" (by the run's `best_metric`), or a file, which may be named as it is in
        the folder of checkpoints: "4096.pt"
    env: what it is to act in. Its spaces are compared with those that it was trained on. One that is wrapped as in training is
        given the statistics of the wrappers, which then stand still; for one without NormalizeObservation, the policy
        normalises observations itself. Left out: what `make_env_of` gives
    Returns a module whose `forward` is that of the policy contract (docs/policies.md), recurrent ones with `initial_state`.
    Raises CheckpointError if there is no readable checkpoint, it does not fit, or the policy is a class of your own, ConfigError
    if `run` is no run directory.
    """
    path = find_checkpoint(run, checkpoint)
    content = read_checkpoint(path, device)
    made = make_env_of(path) if env is None else None
    try:
        policy = _policy_for(content, env if made is None else made, path)
    finally:
        if made is not None:
            made.close()
    return policy.to(device)


def find_checkpoint(run: str | Path, checkpoint: str | Path = LATEST) -> Path:
    """The file that `load_policy` reads; damaged ones are passed over with a warning, for the next newest or next best.

    Raises CheckpointError if there is none, ConfigError if `run` is no run directory.
    """
    if Path(run).is_file():
        if checkpoint != LATEST:
            raise ConfigError(f"{run} is a checkpoint itself; checkpoint={str(checkpoint)!r} chooses one of a run directory")
        return Path(run)
    directory = RunDirectory.open(run)
    if checkpoint in (LATEST, BEST):
        return _first_readable(directory, str(checkpoint))
    named = [path for path in (Path(checkpoint), directory.checkpoint_folder / checkpoint) if path.is_file()]
    if not named:
        there = ", ".join(path.name for path in directory.checkpoints())
        raise CheckpointError(f"{run}: no checkpoint {str(checkpoint)!r}; there are latest, best{f', {there}' if there else ''}")
    return named[0]


def make_env_of(path: str | Path) -> Any:
    """One world of the env of a run, or of the one that a checkpoint lies in, wrapped as there. Raises ConfigError.

    NormalizeObservation is left out, as a policy can normalise a Box itself; of the leaves of structured observations it stays.
    """
    from pufferlib.config.resolve import resolve
    from pufferlib.make import make

    tables = RunDirectory.containing(path).tables()
    config = resolve(tables["env_name"], base=tables)
    env = make(config.env_name, num_envs=1, num_workers=1, backend="serial", **config.env)
    is_box = not isinstance(env.single_observation_space, StructuredBox)
    wrappers = config.wrappers.without_normalised_observations() if is_box else config.wrappers
    return wrappers.around_observations(env)


class NormalisedPolicy(nn.Module):
    """A policy in front of which observations are normalised as `NormalizeObservation` does it, by fixed statistics."""

    mean: Tensor
    scale: Tensor

    def __init__(self, policy: nn.Module, statistics: dict[str, Any]) -> None:
        super().__init__()
        self.policy = policy
        self.clip = float(statistics["clip"])
        self.register_buffer("mean", torch.as_tensor(statistics["mean"], dtype=torch.float32))
        scale = 1 / np.sqrt(statistics["var"] + statistics["epsilon"])
        self.register_buffer("scale", torch.as_tensor(scale, dtype=torch.float32))
        for name in ("distribution", "initial_state", "spec"):  # what a policy may have beside `forward`
            if hasattr(policy, name):
                setattr(self, name, getattr(policy, name))

    def forward(self, observations: Tensor, *state: Any) -> Any:
        """As the policy's own, of the observations as the env gives them."""
        normal = (observations.float() - self.mean) * self.scale
        return self.policy(normal.clamp(-self.clip, self.clip) if np.isfinite(self.clip) else normal, *state)


def _first_readable(directory: RunDirectory, which: str) -> Path:
    found = directory.best_checkpoints() if which == BEST else directory.checkpoints()
    for path in found:
        try:
            read_checkpoint(path)
        except DamagedCheckpointError as error:
            log.warning("%s; trying the one before it", error)
        else:
            return path
    if found:
        raise CheckpointError(f"{directory.path}: none of its {len(found)} checkpoints can be read")
    if which == BEST and directory.checkpoints():
        raise CheckpointError(
            f"{directory.path}: no episode ended before any of its checkpoints, so none is best; take the latest"
        )
    raise CheckpointError(f"{directory.path}: it has no checkpoint yet")


def _policy_for(content: dict[str, Any], env: Any, path: Path) -> nn.Module:
    trained, own = (_classes(wrappers) for wrappers in (content["env"]["wrappers"], observation_wrappers(env)))
    if trained == own:
        if trained:
            _give_statistics(content, env, path)
        return build_saved_policy(content, env.single_observation_space, env.single_action_space, path)
    if NORMALIZE in trained and [name for name in trained if name != NORMALIZE] == own:
        above = trained[: trained.index(NORMALIZE)]
        if set(above) <= {STACK}:  # a stack of normalised frames is a normalised stack of frames
            return _with_normalisation(content, env, path)
    was, is_now = (", ".join(names) or "no wrapper" for names in (trained, own))
    raise CheckpointError(f"{path}: observations went through {was} in training, through {is_now} here: wrap the env likewise")


def _give_statistics(content: dict[str, Any], env: Any, path: Path) -> None:
    """The wrappers' statistics to an env that is wrapped as in training; then they stand still."""
    give_env_state(content, env, path)
    layer = env
    while layer is not None:
        if hasattr(layer, "update_statistics"):
            layer.update_statistics = False
        layer = getattr(layer, "env", None)


def _with_normalisation(content: dict[str, Any], env: Any, path: Path) -> nn.Module:
    (key,) = (name for name in content["env"]["wrappers"] if name.endswith(f"/{NORMALIZE}"))
    statistics = unpack(content["env_state"])[key]
    if "mean" not in statistics:
        raise CheckpointError(f"{path}: parts of a structured observation were normalised: give an env that is wrapped likewise")
    shape, clip = env.single_observation_space.shape, statistics["clip"]
    if shape[-statistics["mean"].ndim :] != statistics["mean"].shape:
        raise CheckpointError(f"{path} was made for observations of shape {statistics['mean'].shape}, got {shape}")
    normal = spaces.Box(-clip, clip, shape, np.float32)
    return NormalisedPolicy(build_saved_policy(content, normal, env.single_action_space, path), statistics).eval()


def _classes(wrappers: list[str]) -> list[str]:
    """`<depth>/<class>` without the depth."""
    return [name.partition("/")[2] for name in wrappers]
