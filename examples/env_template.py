"""Environments to copy, one of each style, and what to test them with.

GridWorld: declarative style, one agent in plain Python, with every common kind of observation and action to choose from.
Navigation: native style, several agents that share a reward, written straight into the batch arrays.

python examples/env_template.py      # checks them and compares scripted with random play
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

import pufferlib
from pufferlib import Buffers, PufferEnv
from pufferlib.testing import check_env

MOVES = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]])
"""What the discrete actions stay, up, down, left, right add to (row, column)."""


class GridWorld(PufferEnv):
    """Walk to the goal: reward 1 there, minus a little at every other step. Cut off (truncated) after `max_steps`.

    size: cells of a side. observation: "vector", "image" or "dict". action: "discrete", "multi_discrete" or "continuous".
    """

    def __init__(
        self, buf: Buffers | None = None, size: int = 6, max_steps: int = 40, step_cost: float = 0.02,
        observation: Literal["vector", "image", "dict"] = "vector",
        action: Literal["discrete", "multi_discrete", "continuous"] = "discrete",
    ) -> None:  # fmt: skip
        super().__init__(buf)
        if size < 2:
            raise ValueError(f"size must be at least 2, got {size}")
        self.size, self.max_steps, self.step_cost, self.action = size, max_steps, step_cost, action
        self.observe = {"vector": self.vector, "image": self.image, "dict": self.parts}[observation]
        self.observation_space = {
            "vector": self.make_space((4,), low=0, high=1),
            "image": self.make_space((size, size, 3), low=0, high=255, dtype="uint8"),
            "dict": spaces.Dict(
                {"agent": self.make_space((2,), low=0, high=1), "map": self.make_space((size, size), 0, 1, "uint8")}
            ),
        }[observation]
        self.action_space = {
            "discrete": self.make_discrete(len(MOVES)),
            "multi_discrete": self.make_multi_discrete([3, 3]),  # up, stay, down; left, stay, right
            "continuous": self.make_space((2,), low=-1, high=1),
        }[action]
        self.rng = np.random.default_rng()

    def reset(self, seed: int | None = None) -> Any:
        if seed is not None:  # only the first reset is seeded: later episodes go on with the generator
            self.rng = np.random.default_rng(seed)
        self.t = 0
        self.agent, self.goal = (np.array(divmod(cell, self.size)) for cell in self.rng.choice(self.size**2, 2, replace=False))
        return self.observe()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.t += 1
        self.agent = np.clip(self.agent + self.move(action), 0, self.size - 1)
        arrived = bool((self.agent == self.goal).all())
        cut = self.t >= self.max_steps and not arrived
        info = {"arrived": float(arrived), "steps": self.t} if arrived or cut else {}  # numbers are averaged into the metrics
        return self.observe(), 1.0 if arrived else -self.step_cost, arrived, cut, info

    def move(self, action: Any) -> np.ndarray:
        if self.action == "discrete":
            return MOVES[int(action)]
        if self.action == "multi_discrete":
            return np.asarray(action) - 1
        return np.rint(action).astype(int)

    def vector(self) -> np.ndarray:
        return np.concatenate([self.agent, self.goal]).astype(np.float32) / (self.size - 1)

    def image(self) -> np.ndarray:
        """uint8[size, size, 3]: the agent is red, the goal green."""
        picture = np.zeros((self.size, self.size, 3), np.uint8)
        picture[tuple(self.goal)] = (0, 255, 0)
        picture[tuple(self.agent)] = (255, 0, 0)
        return picture

    def parts(self) -> dict[str, np.ndarray]:
        goal_map = np.zeros((self.size, self.size), np.uint8)
        goal_map[tuple(self.goal)] = 1
        return {"agent": self.agent.astype(np.float32) / (self.size - 1), "map": goal_map}

    def render(self) -> np.ndarray:
        """uint8[height, width, 3]"""
        return self.image().repeat(16, 0).repeat(16, 1)


class Navigation(PufferEnv):
    """Cover all landmarks: the agents of a world share the reward, minus the mean distance from a landmark to the nearest agent.

    num_agents: of one world, and so many landmarks. Each agent sees its own place, where the others and the landmarks are from
    there, and chooses to stay or to go in one of four directions. An episode has `max_steps` steps.
    """

    def __init__(self, buf: Buffers | None = None, num_agents: int = 3, max_steps: int = 25, stride: float = 0.1) -> None:
        self.single_observation_space = spaces.Box(-2, 2, (4 * num_agents,), np.float32)
        self.single_action_space = spaces.Discrete(len(MOVES))
        self.num_agents, self.max_steps, self.stride = num_agents, max_steps, stride
        super().__init__(buf)
        self.rng = np.random.default_rng()
        self.returns: list[float] = []

    def reset(self, seed: Any = None) -> Any:
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.start()
        self.observations[:] = self.observe()
        return self.observations, []

    def step(self, actions: np.ndarray) -> Any:
        self.t += 1
        self.agents = np.clip(self.agents + self.stride * MOVES[actions], -1, 1)
        distances = np.linalg.norm(self.landmarks[:, None] - self.agents, axis=-1)  # [landmarks, agents]
        self.rewards[:] = -distances.min(1).mean()
        self.episode_return += float(self.rewards[0])
        if self.t == self.max_steps:  # a time limit: the episode is cut off, not over by its rules
            self.truncations[:] = True
            self.final_observations[:] = self.observe()
            self.returns.append(self.episode_return)
            self.start()
        self.observations[:] = self.observe()  # of the next episode, where one ended: the env resets itself
        return self.observations, self.rewards, self.terminals, self.truncations, []

    def start(self) -> None:
        self.t, self.episode_return = 0, 0.0
        self.agents, self.landmarks = self.rng.uniform(-1, 1, (2, self.num_agents, 2))

    def observe(self) -> np.ndarray:
        others = self.agents[None] - self.agents[:, None]  # [agents, agents, 2]
        apart = others[~np.eye(self.num_agents, dtype=bool)].reshape(self.num_agents, -1)
        goals = (self.landmarks[None] - self.agents[:, None]).reshape(self.num_agents, -1)
        return np.concatenate([self.agents, apart, goals], 1)

    def drain_log(self) -> dict[str, float]:
        if not self.returns:
            return {}
        log = {"episode_return": float(np.mean(self.returns)), "n": float(len(self.returns))}
        self.returns.clear()
        return log


# ---------------------------------------------------------------- test helpers


def mean_reward(env: Any, choose: Callable[[np.ndarray], np.ndarray], steps: int = 400, seed: int = 1) -> float:
    """The mean reward of a step where `choose` gives the actions for observations [rows, *shape]. Closes the env."""
    observations, _ = env.reset(seed=seed)
    total = 0.0
    for _ in range(steps):
        observations, rewards, *_ = env.step(choose(observations))
        total += float(np.mean(rewards))
    env.close()
    return total / steps


def at_random(env: Any, seed: int = 1) -> Callable[[np.ndarray], np.ndarray]:
    """Random actions for all rows of `env`."""
    env.action_space.seed(seed)
    return lambda observations: env.action_space.sample()


def walk_to_goal(observations: np.ndarray) -> np.ndarray:
    """Discrete actions for GridWorld's vectors: first up or down, then left or right."""
    rows, columns = np.rint(1e3 * (observations[:, 2:] - observations[:, :2])).T
    return np.where(rows, np.where(rows < 0, 1, 2), np.where(columns < 0, 3, np.where(columns > 0, 4, 0)))


def go_to_own_landmark(observations: np.ndarray, num_agents: int = 3) -> np.ndarray:
    """Navigation's agent k goes to landmark k, along the longer axis first."""
    own = np.arange(len(observations)) % num_agents
    first = 2 * num_agents + 2 * own
    way = np.stack([observations[np.arange(len(own)), first], observations[np.arange(len(own)), first + 1]], 1)
    along_rows = np.abs(way[:, 0]) >= np.abs(way[:, 1])
    moves = np.where(along_rows, np.where(way[:, 0] < 0, 1, 2), np.where(way[:, 1] < 0, 3, 4))
    return np.where(np.abs(way).max(1) < 0.05, 0, moves)


def main() -> None:
    for observation in ("vector", "image", "dict"):
        for action in ("discrete", "multi_discrete", "continuous"):
            check_env(GridWorld, observation=observation, action=action, size=4, max_steps=12)
    check_env(Navigation)
    for kind, scripted in ((GridWorld, walk_to_goal), (Navigation, go_to_own_landmark)):
        env = pufferlib.emulate(kind, num_envs=32)
        by_chance = mean_reward(env, at_random(env))
        planned = mean_reward(pufferlib.emulate(kind, num_envs=32), scripted)
        print(f"{kind.__name__}: mean reward {planned:.3f} by plan, {by_chance:.3f} at random")


if __name__ == "__main__":
    main()
