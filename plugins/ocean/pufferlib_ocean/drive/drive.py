"""Drive: cars find their ways through a town without leaving the road or touching each other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, MultiDiscrete, Space

from pufferlib.errors import ConfigError
from pufferlib.native import Bool, Choice, File, Float, Int, NativeEnv
from pufferlib_ocean.drive.scenario import count_cars, pack_scenario

EVENTS = ("end", "stop", "ignore")
STEER = {"left": 1, "a": 1, "right": -1, "d": -1}
PEDALS = {"up": 1, "w": 1, "down": -1, "s": -1, "space": -1}


class Drive(NativeEnv):
    """Observations: float32[284], each in [-1, 1], in the car's own axes: x ahead, y to the left. A step takes 0.1 s.

    8 of its own: speed/20 m/s, last steering/0.6, offset of the goal/50 m (x, y), its distance/200 m, angle to the route/pi,
    offset to the left of it/4 m, t/max_steps. The 12 nearest cars within 50 m, nearest first, 7 each: offset/50 (x, y), relative
    heading (cos, sin), speed/20, length/10, whether it is in play. 16 samples of the route ahead, then the 32 nearest of lanes
    within 30 m, 4 each: offset/30 (x, y), relative heading (cos, sin). Zeros where there are fewer.

    Actions: acceleration, -4, -2, -1, 0, 1, 2 or 3 m/s^2, and steering angle, (choice - 6)/10 to the left; continuous: Box(-1, 1)
    of 4 m/s^2 and of 0.6. Score: 1 if the goal is reached without collision and always on the road. A row whose car waits for a
    place to start, or for the others to end (respawn=False), sees zeros and has mask 0.
    """

    module = "pufferlib_ocean.drive._drive"
    arguments = (
        Int("num_cars", 32, 1, 64, help="rows of a world; those of the scenario, where there is one"),
        Int("num_maps", 64, 1, 4096, help="towns in the pool; a world draws one when it starts"),
        Int("map_seed", 0, 0, 2**31 - 1, help="of the pool"),
        Int("blocks", 3, 2, 6, help="of a side of a town, each about 80 m"),
        Choice("action", "discrete", ("discrete", "continuous"), help="a choice of pedals and steering angles, or any of them"),
        Choice("on_collision", "end", EVENTS, help="of a car that touches another; stop: it stands there until max_steps"),
        Choice("on_offroad", "end", EVENTS, help="of a car with a corner off the road"),
        Bool("respawn", True, help="False: a row that has ended is masked until all have"),
        Float("goal_radius", 2.0, 0.5, 10, help="metres"),
        Int("max_steps", 300, 0, 10**9, help="steps until truncation; 0: never"),
        Float("reward_goal", 1.0, -100, 100, help="for reaching the goal"),
        Float("reward_collision", -0.5, -100, 100, help="each time that the car begins to touch others"),
        Float("reward_offroad", -0.5, -100, 100, help="each time that it leaves the road"),
        Float("reward_progress", 0.01, -100, 100, help="for each metre along the route"),
        File("scenario", pack_scenario, help="a JSON file of lanes and cars, instead of random towns"),
    )
    keys = {
        **{key: {1: 6 + 3 * side} for key, side in STEER.items()},
        **{key: {0: 6 if pedal > 0 else 0} for key, pedal in PEDALS.items()},
    }
    idle_action = (3, 6)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.args.action == "continuous":
            pedals = {key: {0: 0.75 if pedal > 0 else -1} for key, pedal in PEDALS.items()}
            self.keys = {**{key: {1: 0.5 * side} for key, side in STEER.items()}, **pedals}  # type: ignore[misc]
            self.idle_action = (0, 0)  # type: ignore[misc]

    @classmethod
    def check(cls, a: SimpleNamespace) -> None:
        if a.max_steps == 0 and "stop" in (a.on_collision, a.on_offroad):
            raise ConfigError(
                "drive: max_steps must be above 0 with on_collision or on_offroad 'stop', got 0: cars would never go"
            )
        if a.scenario:
            a.num_cars = count_cars(pack_scenario(a.scenario))

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        actions = MultiDiscrete([7, 13]) if a.action == "discrete" else Box(-1, 1, (2,), np.float32)
        return Box(-1, 1, (284,), np.float32), actions

    @classmethod
    def agents(cls, a: SimpleNamespace) -> int:
        return int(a.num_cars)
