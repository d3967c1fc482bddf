"""One space for all agents: the widest bounds where only these differ, padding where it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Array
from pufferlib.emulation.actions import ActionCodec
from pufferlib.errors import ActionError, EnvError, EnvValueError, SpaceError

MASK = "action_mask"


def joint_space(by_agent: Mapping[Any, Any], what: str, pad: bool) -> Any:
    """What every agent's space fits into. `what` is observation_space or action_space.

    Raises SpaceError that names two agents, their spaces and the way out.
    """
    merge = merge_observations if what == "observation_space" else merge_actions
    first, *others = by_agent
    joint = by_agent[first]
    for agent in others:
        merged = merge(joint, by_agent[agent], pad)
        if merged is None:
            other = next((a for a in by_agent if merge(by_agent[a], by_agent[agent], pad) is None), first)
            way = (
                "give pad=True (zeros behind the smaller ones, missing actions masked), or wrap the env"
                if merge(joint, by_agent[agent], True) is not None
                else "wrap the env, as padding (pad=True) is for spaces that differ only in their sizes"
            )
            raise SpaceError(
                f"agents {other!r} and {agent!r} differ in {what}: {by_agent[other]} and {by_agent[agent]}; all agents must have "
                f"one space: {way}"
            )
        joint = merged
    return joint


def merge_observations(a: Any, b: Any, pad: bool) -> Any:
    """The space of both, or None."""
    if a == b:
        return a
    if isinstance(a, spaces.Box) and isinstance(b, spaces.Box):
        return _merge_boxes(a, b, pad)
    if isinstance(a, spaces.Discrete) and isinstance(b, spaces.Discrete):
        start = min(int(a.start), int(b.start))
        return spaces.Discrete(max(int(a.start + a.n), int(b.start + b.n)) - start, start=start)
    if isinstance(a, spaces.Dict) and isinstance(b, spaces.Dict) and set(a.spaces) == set(b.spaces):
        merged = {key: merge_observations(part, b.spaces[key], pad) for key, part in a.spaces.items()}
        return None if None in merged.values() else spaces.Dict(merged)
    if isinstance(a, spaces.Tuple) and isinstance(b, spaces.Tuple) and len(a.spaces) == len(b.spaces):
        parts = [merge_observations(x, y, pad) for x, y in zip(a.spaces, b.spaces, strict=True)]
        return None if None in parts else spaces.Tuple(parts)
    return None


def merge_actions(a: Any, b: Any, pad: bool) -> Any:
    """The row's action space of both, or None. Spaces that are equal stay as they are."""
    if a == b:
        return a
    a, b = ActionCodec(a).space, ActionCodec(b).space
    if a == b:
        return a
    if isinstance(a, spaces.Box) and isinstance(b, spaces.Box):
        return _merge_boxes(a, b, pad)
    if type(a) is not type(b) or not pad:
        return None
    if isinstance(a, spaces.Discrete):
        return a if a.n >= b.n else b
    heads = [a.nvec, b.nvec]
    longest = max(len(sizes) for sizes in heads)
    return spaces.MultiDiscrete(np.max([np.pad(sizes, (0, longest - len(sizes))) for sizes in heads], axis=0))


def _merge_boxes(a: spaces.Box, b: spaces.Box, pad: bool) -> spaces.Box | None:
    if a.dtype != b.dtype or len(a.shape) != len(b.shape) or not (pad or a.shape == b.shape):
        return None
    shape = tuple(map(max, a.shape, b.shape))
    low = np.minimum(padded(a.low, shape), padded(b.low, shape))
    high = np.maximum(padded(a.high, shape), padded(b.high, shape))
    return spaces.Box(low, high, shape, a.dtype.type)


def padded(array: Array, shape: tuple[int, ...]) -> Array:
    """The array with zeros at the end of its axes."""
    if array.shape == shape:
        return array
    out = np.zeros(shape, array.dtype)
    out[tuple(slice(size) for size in array.shape)] = array
    return out


def fit_observation(value: Any, own: Any, joint: Any) -> Any:
    """An agent's observation, padded to the joint space. Raises EnvValueError if it is not even of the agent's own shape."""
    if own == joint:
        return value
    if isinstance(own, spaces.Box) and own.shape != joint.shape:
        array = np.asarray(value)
        if array.shape != own.shape:
            raise EnvValueError(f"returned an observation of shape {array.shape}, its space has {own.shape} ({own})")
        return padded(array, joint.shape)
    if isinstance(own, spaces.Dict) and isinstance(value, Mapping):
        return {
            key: fit_observation(part, own.spaces[key], joint.spaces[key]) if key in own.spaces else part
            for key, part in value.items()
        }
    if isinstance(own, spaces.Tuple) and isinstance(value, (tuple, list)) and len(value) == len(own.spaces):
        return tuple(map(fit_observation, value, own.spaces, joint.spaces))
    return value


class AgentSpaces:
    """What lies between one agent's own spaces and the joint ones.

    own_observation: without its action mask; own_action: the agent's own; both must fit into the joint spaces.
    """

    def __init__(self, agent: Any, own_observation: Any, own_action: Any, joint_observation: Any, joint_action: Any) -> None:
        self.agent = agent
        self._own_observation, self._joint_observation = own_observation, joint_observation
        for own, joint, merge in (
            (own_observation, joint_observation, merge_observations),
            (own_action, joint_action, merge_actions),
        ):
            if own != joint and merge(joint, own, True) != joint:
                raise EnvError(
                    f"has a new agent {agent!r} with the space {own}, which does not fit into {joint}; give a "
                    f"joint_observation_space and a joint_action_space that hold every agent's, and pad=True"
                )
        self._same_observation = own_observation == joint_observation
        self._codec = None if own_action == joint_action else ActionCodec(own_action)

    def fit(self, observation: Any) -> Any:
        """The observation as the joint space has it."""
        if self._same_observation:
            return observation
        return fit_observation(observation, self._own_observation, self._joint_observation)

    def own_action(self, action: Any) -> Any:
        """The agent's own action, from one of the joint space. Raises ActionError for one that only others have."""
        if self._codec is None:
            return action
        own: Any = self._codec.space
        if isinstance(own, spaces.Box):
            row = np.asarray(action, np.float32)[tuple(slice(size) for size in own.shape)]
            return self._codec.decode(row[None])[0]
        heads = np.atleast_1d(np.asarray(action))
        sizes = np.atleast_1d(own.n if isinstance(own, spaces.Discrete) else own.nvec)
        if (heads[: len(sizes)] >= sizes).any() or heads[len(sizes) :].any():
            raise ActionError(
                f"agent {self.agent!r} was given action {action}, which only other agents have: its own space is {own}; "
                f"action_masks show what each agent may do"
            )
        row = heads[: len(sizes)].astype(np.int32)
        return self._codec.decode(row if isinstance(own, spaces.Discrete) else row[None])[0]


def without_mask(space: Any, action_space: Any, agent: Any) -> tuple[Any, bool]:
    """An observation space without its action mask, and whether it had one."""
    if not isinstance(space, spaces.Dict) or MASK not in space.spaces or not head_sizes(action_space):
        return space, False
    size, wanted = spaces.flatdim(space.spaces[MASK]), sum(head_sizes(action_space))
    if size != wanted:
        raise SpaceError(
            f"agent {agent!r}: its observation_space has an action_mask of {size} numbers, its action_space {action_space} has "
            f"{wanted} choices; action_masks=False leaves the mask in the observation"
        )
    rest = {key: part for key, part in space.spaces.items() if key != MASK}
    if not rest:
        raise SpaceError(f"agent {agent!r}: its observation_space holds only an action_mask, so there is nothing to observe")
    return (rest["observation"] if set(rest) == {"observation"} else spaces.Dict(rest)), True


def head_sizes(action_space: Any) -> list[int]:
    """The number of choices of each head of a row's action; [] for Boxes."""
    row = ActionCodec(action_space).space
    if isinstance(row, spaces.Discrete):
        return [int(row.n)]
    return row.nvec.tolist() if isinstance(row, spaces.MultiDiscrete) else []
