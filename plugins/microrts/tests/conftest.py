"""gym-microrts' interface without Java: what the batch needs, recorded from version 0.6.0."""

from types import SimpleNamespace

import numpy as np
import pytest

from pufferlib_microrts import env as adapter


class Engine:
    """A world of 1 x 2 cells with 3 planes. An action has two parts, of 2 and 3 choices. Game k is over after `ends[k]` steps."""

    height, width, action_space_dims = 1, 2, [2, 3]

    def __init__(self, num_envs, map_name, opponents, partial_obs, ends=(2, 10**9)):
        self.sides = 2 if list(opponents) == ["self"] else 1
        rows = num_envs * self.sides
        self.obs, self.actions = np.zeros((rows, 1, 2, 3), np.int32), np.zeros((rows, 2, 2), np.int32)
        self.mask = np.zeros((rows, 2, 5), np.int32)
        self.mask[:, 0] = [1, 1, 0, 0, 0]  # a unit that has nowhere to go
        self.ends, self.ages, self.given, self.closed = ends, [0] * num_envs, [], 0
        games = [self.game(k) for k in range(num_envs)]
        self.vec_client = SimpleNamespace(
            clients=games if self.sides == 1 else [], selfPlayClients=games if self.sides == 2 else [], close=self.close
        )

    def game(self, k):
        rows = slice(k * self.sides, (k + 1) * self.sides)

        def show():
            self.obs[rows] = [[[1, self.ages[k] % 2, 0], [0, 0, 1]]]

        def reset(*side):
            self.ages[k] = 0
            show()

        def step(*side):
            self.given.append(self.actions[rows].copy())
            self.ages[k] += 1
            show()
            return response(0)

        def response(side):
            over = self.ages[k] >= self.ends[k]
            return SimpleNamespace(reward=[(1 - 2 * side) * float(over), 2.0, 0.0, 0.0, 0.0, 0.5], done=[over] * 6)

        return SimpleNamespace(reset=reset, gameStep=step, getResponse=response)

    def get_action_mask(self):
        return self.mask

    def close(self):
        self.closed += 1


@pytest.fixture
def recorded(monkeypatch):
    """MicroRTS makes such an engine."""
    monkeypatch.setattr(adapter, "engine", Engine)
    return Engine
