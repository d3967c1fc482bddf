"""Drone: fly a quadrotor by the speeds of its four rotors, to hover at a point or through a course of rings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Space

from pufferlib.buffers import Array
from pufferlib.native import Choice, Float, Int, NativeEnv
from pufferlib_ocean.drone.pd import drone_assist


class Drone(NativeEnv):
    """Observations: float32[26], each in [-1, 1]; "body" is in the drone's own axes: x ahead, y left, z up.

    Velocity/10 (body), angular velocity/15 (body), attitude as a quaternion (w, x, y, z; body to world), rotor speeds (0 to 1),
    the target's offset and the next one's (body, by arena), the ring's normal (body; zeros when hovering), height and distance
    by arena, task (0 hover, 1 race). Actions: Box(-1, 1) for each rotor (front-left, front-right, back-right, back-left), -1 off
    and 1 full speed; 0.264911 each hovers. A step takes 0.02 s.

    hover: reward near 0.1 at the target; score: the share of steps within 0.2 m of it, from the 100th on. race: 1 for each ring,
    passed along its normal, 2 more for the last one, 0.1 for each metre nearer; score: rings. Leaving the arena, the ground and a
    ring's rim end the episode with -1. `drone_pd` flies both.
    """

    module = "pufferlib_ocean.drone._drone"
    arguments = (
        Choice("task", "hover", ("hover", "race", "mix"), help="mix: either, in every episode anew"),
        Int("rings", 8, 1, 32, help="of a race"),
        Int("substeps", 2, 1, 8, help="steps of the integrator in 0.02 s"),
        Int("max_steps", 500, 0, 10**9, help="steps until truncation; 0: never"),
        Float("randomize", 0.0, 0, 0.5, help="mass, inertia and thrust are each multiplied by up to 1 +- this, in every episode"),
        Float("arena", 10.0, 3, 50, help="half its width, and its height, in m"),
    )
    keys = {
        "up": {0: 1}, "w": {0: 1}, "down": {0: -1}, "s": {0: -1}, "left": {1: 1}, "a": {1: 1}, "right": {1: -1}, "d": {1: -1},
        "space": {2: 1}, "x": {2: -1}, "q": {3: 1}, "e": {3: -1},
    }  # fmt: skip
    """Wishes rather than rotor speeds: ahead, left, up, turn left. `steer` flies them."""

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (26,), np.float32), Box(-1, 1, (4,), np.float32)

    def steer(self, observation: Array, wish: Array) -> Array:
        return drone_assist(observation, wish)
