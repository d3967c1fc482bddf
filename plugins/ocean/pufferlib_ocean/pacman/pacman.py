"""Pacman: eat a whole maze between four ghosts, each with its own way of chasing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Bool, Float, Int, NativeEnv


class Pacman(NativeEnv):
    """Observations: float32[161], each in [-1, 1].

    Pellets left (115, row by row), power pellets left (4); player x, y and direction (one-hot of up, right, down, left); lives;
    fright / 40; phase (1: ghosts chase, 0: they scatter); share of the food left; then for each ghost its offset from the
    player, direction (one-hot), frightened, at home. Actions: up, right, down, left; a blocked turn keeps the old direction.
    Reward: 0.1 a pellet, 0.5 a power pellet or a frightened ghost, 5 for the last one, `reward_death` for a lost life.
    """

    module = "pufferlib_ocean.pacman._pacman"
    arguments = (
        Int("max_steps", 4000, 0, 10**9, help="steps until truncation; 0: never"),
        Int("lives", 3, 1, 9, help="touches that end an episode"),
        Bool("random_start", True, help="start on a random pellet's cell, not below the house"),
        Float("reward_death", -1.0, -100, 100, help="for a lost life"),
    )
    keys = {"up": 0, "w": 0, "right": 1, "d": 1, "down": 2, "s": 2, "left": 3, "a": 3}

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (161,), np.float32), Discrete(4)
