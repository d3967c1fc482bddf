"""Checkpoints: everything a run needs to go on, in one file that `torch.load(path, weights_only=True)` reads.

Saved: the policy and the optimizer, the counters (from which the schedule follows), the states of all random generators, the
settings, which env and spaces they belong to, versions, and what an env that has `state_dict` gives: the statistics of wrappers.
What callbacks remember, and the settings and env arguments that they changed, are saved too.
Not saved: the envs. After loading they are reset with a seed made of `seed` and `global_step`, and recurrent states start anew,
so a resumed run sees other episodes than an uninterrupted one.

A file is written under another name and then renamed (`pufferlib.atomic`), so a name never stands for half a checkpoint.
"""

from __future__ import annotations

import logging
import zipfile
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import torch
from torch import nn

from pufferlib.atomic import replacing
from pufferlib.errors import CheckpointError
from pufferlib.structure import path_text
from pufferlib.train.run_dir import list_checkpoints

if TYPE_CHECKING:
    from pufferlib.train.puffe_rl import PuffeRL

FORMAT = 2
log = logging.getLogger(__name__)


class DamagedCheckpointError(CheckpointError):
    """A checkpoint file is truncated, corrupt or of another kind, so that nothing in it can be trusted."""


def save_checkpoint(trainer: PuffeRL, path: str | PathLike[str]) -> None:
    """Write `trainer`'s state to `path`. Raises CheckpointError if the file cannot be written; an old one of that name stays."""
    target = Path(path)
    content = {
        **policy_content(trainer),
        "config": asdict(trainer.config),
        "optimizer": trainer.optimizer.state_dict(),
        "epoch": trainer.epoch,
        "counts": trainer.metrics.counts(),
        "rate_factor": trainer.rate_factor,
        "changed_settings": dict(trainer.changed_settings),
        "env_arguments": dict(getattr(trainer.env, "changed_arguments", {})),
        "callbacks": trainer.callbacks.state_dict(),
        "random": random_states(trainer.generator),
    }
    try:
        with replacing(target) as file:
            torch.save(content, file)
    except OSError as error:
        raise CheckpointError(f"cannot write checkpoint {target}: {error}") from error


def policy_content(trainer: PuffeRL) -> dict[str, Any]:
    """The part of a checkpoint that tells the policy: all that `load_policy` needs."""
    spec = getattr(trainer.policy, "spec", None)
    return {
        "format": FORMAT,
        "versions": {module.__name__: str(module.__version__) for module in (torch, np, gymnasium)},
        "env": describe_env(trainer.env),
        "policy_spec": None if spec is None else [spec[0], dict(spec[1])],
        "policy": trainer.policy.state_dict(),
        "global_step": trainer.global_step,
        "env_state": pack(env_state(trainer.env)),
    }


def load_checkpoint(trainer: PuffeRL, path: str | PathLike[str]) -> None:
    """Put the state in `path` into `trainer`. Raises CheckpointError, before anything is changed, if it does not fit."""
    ranks, device = trainer.ranks, trainer.device  # on several machines only rank 0 may see the file
    content = ranks.from_main(lambda: read_checkpoint(path)) if ranks else read_checkpoint(path, device)
    check_fits(content, trainer, path)
    saved_env_state = check_env_state(content, trainer.env, path)
    try:
        trainer.optimizer.load_state_dict(content["optimizer"])
    except ValueError as error:
        raise CheckpointError(f"{path}: its optimizer state does not fit this run's optimizer: {error}") from error
    trainer.policy.load_state_dict(content["policy"])
    trainer.global_step, trainer.epoch = content["global_step"], content["epoch"]
    trainer.rate_factor = content["rate_factor"]
    trainer.set_settings(
        **{name: value for name, value in content.get("changed_settings", {}).items() if name not in trainer.schedules}
    )
    changed = content.get("env_arguments", {})
    if changed != getattr(trainer.env, "changed_arguments", {}):
        trainer.env.set_env_arguments(**changed)
    trainer.callbacks.load_state_dict(content.get("callbacks", {}))
    trainer.metrics.resume(trainer.global_step, content["counts"])
    if trainer.rank == 0:
        restore_random_states(content["random"], trainer.generator)
    else:
        trainer.seed_draws()
    if saved_env_state:
        trainer.env.load_state_dict(saved_env_state)


def load_env_state(env: Any, path: str | PathLike[str]) -> None:
    """Give `env` the statistics of its wrappers that a checkpoint holds, as for an evaluation: those of wrappers that it has not,
    such as of rewards, are left out. Raises CheckpointError."""
    give_env_state(read_checkpoint(path), env, path)


def give_env_state(content: dict[str, Any], env: Any, path: str | PathLike[str]) -> None:
    """`load_env_state` of a checkpoint's content."""
    own = env_state(env)
    wanted = {name: part for name, part in content.get("env_state", {}).items() if name in own}
    state = check_env_state({**content, "env_state": wanted}, env, path)
    if state:
        env.load_state_dict(state)


def env_state(env: Any) -> dict[str, Any]:
    """What an env with a `state_dict` remembers: nested dicts of arrays and numbers; {} for others."""
    return dict(env.state_dict()) if hasattr(env, "state_dict") else {}


def check_env_state(content: dict[str, Any], env: Any, path: str | PathLike[str]) -> dict[str, Any]:
    """The env's part of a checkpoint. Raises CheckpointError if names or shapes are not those of this env's own state."""
    saved: dict[str, Any] = unpack(content.get("env_state", {}))
    own = env_state(env)
    theirs, ours = describe_state(saved), describe_state(own)
    if theirs != ours:
        raise CheckpointError(
            f"{path} holds env statistics {theirs or 'of no wrapper'}, this run's env has {ours or 'none'}: wrap the env likewise"
        )
    return saved


def describe_state(state: Any) -> Any:
    """Names and shapes."""
    if isinstance(state, dict):
        return {name: describe_state(part) for name, part in state.items()}
    return tuple(np.shape(state))


def pack(state: Any) -> Any:
    """Arrays become their bytes, which every device can hold; numbers stay."""
    if isinstance(state, dict):
        return {name: pack(part) for name, part in state.items()}
    if isinstance(state, (np.ndarray, np.generic)):
        array = np.asarray(state)
        return [array.dtype.str, list(array.shape), torch.frombuffer(bytearray(array.tobytes()), dtype=torch.uint8)]
    return state


def unpack(state: Any) -> Any:
    """Undo `pack`."""
    if isinstance(state, dict):
        return {name: unpack(part) for name, part in state.items()}
    if isinstance(state, list):
        dtype, shape, data = state
        return np.frombuffer(data.cpu().numpy().tobytes(), dtype).reshape(shape).copy()
    return state


def read_checkpoint(path: str | PathLike[str], device: torch.device | str = "cpu") -> dict[str, Any]:
    """The content of a checkpoint.

    Raises DamagedCheckpointError if it is truncated or no checkpoint of this library, CheckpointError if it is missing.
    """
    if not Path(path).is_file():
        raise CheckpointError(f"no checkpoint at {path}")
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:  # torch writes checksums but does not compare them
                raise zipfile.BadZipFile("a checksum does not match")
        content = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:  # torch raises many types here, for broken archives and for forbidden pickles
        reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        raise DamagedCheckpointError(f"{path} is damaged or not a checkpoint: {reason}") from error
    if not isinstance(content, dict) or "format" not in content or "policy" not in content:
        raise DamagedCheckpointError(f"{path} is not a checkpoint of this library")
    if content["format"] != FORMAT:
        raise CheckpointError(f"{path} has checkpoint format {content['format']}, this version reads {FORMAT}")
    return content


def check_fits(content: dict[str, Any], trainer: PuffeRL, path: str | PathLike[str]) -> None:
    """Raise CheckpointError, holding both values, where env, spaces or network differ."""
    theirs, ours = content["env"], describe_env(trainer.env)
    labels = {"name": "env name", "action_space": "action space", "observation_space": "observation space"}
    for key, label in labels.items():
        if theirs[key] and ours[key] and theirs[key] != ours[key]:
            raise CheckpointError(f"{path} was made for {label} {theirs[key]}, this run has {ours[key]}")
    compare_networks(content["policy"], trainer.policy, path)
    kind = content["config"]["optimizer"]
    if kind != trainer.config.optimizer:
        raise CheckpointError(f"{path} was made with optimizer {kind}, this run has {trainer.config.optimizer}")


def compare_networks(saved: dict[str, Any], policy: nn.Module, path: str | PathLike[str]) -> None:
    """Raise CheckpointError where names or shapes of the weights differ."""
    own = policy.state_dict()
    for name in [*saved, *own]:
        theirs = tuple(saved[name].shape) if name in saved else "nothing"
        ours = tuple(own[name].shape) if name in own else "nothing"
        if theirs != ours:
            raise CheckpointError(f"{path} holds another network: {name} is {theirs} there and {ours} in this run's policy")


def describe_env(env: Any) -> dict[str, Any]:
    """What ties a checkpoint to an env: its name, if it has one, and its spaces."""
    return {
        "name": str(getattr(env, "name", "")),
        "observation_space": space_signature(env.single_observation_space),
        "action_space": space_signature(env.single_action_space),
        "num_agents": int(env.num_agents),
        "wrappers": observation_wrappers(env),
    }


def observation_wrappers(env: Any) -> list[str]:
    """The wrappers that change observations, outermost first, by their keys in `state_dict`: `<depth>/<class>`."""
    from pufferlib.wrappers.base import VecWrapper

    found = []
    while isinstance(env, VecWrapper):
        if "observations" in env.owned:
            found.append(env.key)
        env = env.env
    return found


def space_signature(space: gymnasium.spaces.Space[Any]) -> str:
    """The space's class, sizes and dtype, in one line. Bounds are left out: printed floats differ between versions."""
    if structure := getattr(space, "structure", None):
        leaves = ", ".join(f"{path_text('', leaf.path)} {leaf.dtype}{list(leaf.shape)}" for leaf in structure.leaves)
        return f"{type(structure.space).__name__}({leaves})"
    if isinstance(space, gymnasium.spaces.Box):
        return f"Box({space.shape}, {space.dtype})"
    return str(space)


def latest_checkpoint(folder: str | PathLike[str]) -> Path | None:
    """The newest checkpoint that can be read, or None; damaged ones are skipped with a warning in the log."""
    for path in list_checkpoints(folder):
        try:
            read_checkpoint(path)
        except DamagedCheckpointError as error:
            log.warning("%s; using the one before it", error)
        else:
            return path
    return None


def build_saved_policy(
    content: dict[str, Any], observation_space: Any, action_space: Any, path: str | PathLike[str]
) -> nn.Module:
    """Rebuild the policy of a checkpoint's `content` that was made by `build_policy`, with its weights, in evaluation mode.

    Raises CheckpointError, naming `path`, if the policy is a class of your own or the spaces are others.
    """
    from pufferlib.policies import build_policy

    if content["policy_spec"] is None:
        raise CheckpointError(f"{path} holds a policy of your own: build it and load its weights, the entry 'policy' of the file")
    for key, space in (("observation_space", observation_space), ("action_space", action_space)):
        if content["env"][key] != space_signature(space):
            raise CheckpointError(f"{path} was made for {key} {content['env'][key]}, got {space_signature(space)}")
    name, kwargs = content["policy_spec"]
    policy: nn.Module = build_policy(name, observation_space, action_space, **kwargs)
    compare_networks(content["policy"], policy, path)
    policy.load_state_dict(content["policy"])
    return policy.eval()


def random_states(generator: torch.Generator) -> dict[str, Any]:
    """The trainer's generator and the global ones of torch, CUDA and numpy, as tensors and numbers."""
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    return {
        "trainer": generator.get_state(),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy": [str(name), torch.from_numpy(np.asarray(keys, np.int64)), int(position), int(has_gauss), float(cached)],
    }


def restore_random_states(states: dict[str, Any], generator: torch.Generator) -> None:
    """Undo `random_states`. A generator of another device keeps its own state."""
    try:
        generator.set_state(states["trainer"].cpu())
    except (RuntimeError, TypeError):
        log.warning("the checkpoint's random generator is of another device: sampling goes on from this run's seed")
    torch.set_rng_state(states["torch"].cpu())
    if torch.cuda.is_available() and len(states["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all([state.cpu() for state in states["cuda"]])
    name, keys, position, has_gauss, cached = states["numpy"]
    np.random.set_state((name, keys.cpu().numpy().astype(np.uint32), position, has_gauss, cached))
