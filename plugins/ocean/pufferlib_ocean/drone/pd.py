"""A pilot for the drone: cascaded proportional-derivative control, from position over tilt and body rates to rotor speeds."""

from __future__ import annotations

import numpy as np

from pufferlib.buffers import Array

MASS, GRAVITY, ROTOR_THRUST, YAW_ARM = 0.5, 9.81, 3.065625, 0.016
INERTIA = np.array([0.0032, 0.0032, 0.0055])
REACH = 0.17 / np.sqrt(2)
ROTOR_X, ROTOR_Y, SPIN = np.array([[1, 1, -1, -1], [1, -1, -1, 1], [1, -1, 1, -1]])
MAX_TILT = 0.5
"""rad"""


def drone_pd(observations: Array, arena: float = 10.0) -> Array:
    """Actions float32[rows, 4] for observations float32[rows, 26] of `ocean-drone` with this `arena`; hovers, and races.

    In a race it steers for a point a little behind the ring's middle, once it is in front of the ring and in line with it.
    """
    velocity, rates = 10 * observations[:, 0:3], 15 * observations[:, 3:6]
    rotation = _rotation(observations[:, 6:10])  # body to world
    goal, speed_limit = _goal(observations, arena)
    pull = 2.0 * goal
    size = np.linalg.norm(pull, axis=1, keepdims=True)
    wanted = pull * np.minimum(1, speed_limit / np.maximum(size, 1e-9))  # velocity, in body axes
    accelerate = np.einsum("nij,nj->ni", rotation, 3.2 * (wanted - velocity) + 0.2 * velocity)
    return _rotor_actions(accelerate, rotation, rates)


def drone_assist(observation: Array, wish: Array) -> Array:
    """Actions float32[4] for one observation float32[26], by which the drone flies as `wish` says.

    wish: ahead, to the left, up (each times 3 m/s, level with the ground) and turning left (times 2 rad/s); zeros: come to rest
    """
    rotation, rates = _rotation(observation[None, 6:10]), 15 * observation[None, 3:6].astype(np.float64)
    velocity = rotation[0] @ (10 * observation[0:3])
    ahead = rotation[0, :2, 0] / max(np.linalg.norm(rotation[0, :2, 0]), 1e-9)
    level = np.stack([ahead, [-ahead[1], ahead[0]]], axis=1) @ wish[:2]
    accelerate = 2.5 * (3 * np.array([*level, wish[2]]) - velocity)
    action: Array = _rotor_actions(accelerate[None], rotation, rates, yaw_rate=2.0 * wish[3])[0]
    return action


def _rotor_actions(accelerate: Array, rotation: Array, rates: Array, yaw_rate: float = 0.0) -> Array:
    """From a wanted acceleration (world axes), over tilt and body rates, to what each rotor has to do."""
    level = np.linalg.norm(accelerate[:, :2], axis=1, keepdims=True)
    accelerate[:, :2] *= np.minimum(1, GRAVITY * np.tan(MAX_TILT) / np.maximum(level, 1e-9))
    accelerate[:, 2] = np.clip(accelerate[:, 2], -6, 8)

    force = MASS * (accelerate + np.array([0, 0, GRAVITY]))
    up = np.einsum("nji,nj->ni", rotation, force / np.linalg.norm(force, axis=1, keepdims=True))  # in body axes
    wanted_rates = np.stack([-7 * up[:, 1], 7 * up[:, 0], np.full(len(up), yaw_rate)], axis=1)
    torque = INERTIA * [14, 14, 4] * (wanted_rates - rates)
    thrust = np.maximum(0, np.einsum("ni,ni->n", force, rotation[:, :, 2]))[:, None] / 4
    each = thrust + (torque[:, 0:1] * ROTOR_Y - torque[:, 1:2] * ROTOR_X) / (4 * REACH) + torque[:, 2:3] * SPIN / (4 * YAW_ARM)
    actions: Array = (2 * np.sqrt(np.clip(each / ROTOR_THRUST, 0, 1)) - 1).astype(np.float32)
    return actions


def _rotation(q: Array) -> Array:
    """[rows, 3, 3] of unit quaternions [rows, 4], w first."""
    w, x, y, z = q.T.astype(np.float64)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def _goal(observations: Array, arena: float) -> tuple[Array, Array]:
    """Where to, from here, in body axes and m; and how fast at most."""
    offset, normal = arena * observations[:, 14:17].astype(np.float64), observations[:, 20:23].astype(np.float64)
    racing = observations[:, 25:26] > 0.5
    ahead = np.sum(offset * normal, axis=1, keepdims=True)  # to the ring's plane; above 0 in front of it
    aside = np.linalg.norm(offset - ahead * normal, axis=1, keepdims=True)
    in_line = (ahead > 0) & (aside < 0.25 + 0.5 * ahead)
    goal = np.where(racing, np.where(in_line, offset + 0.7 * normal, offset - 1.5 * normal), offset)
    return goal, np.where(racing, np.where(in_line, 2.2, 1.8), 5.0)
