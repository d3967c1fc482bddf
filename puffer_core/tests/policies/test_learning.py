"""Every kind of policy learns a task that needs what it is made of, and a policy without that does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

import pufferlib
from pufferlib import PufferEnv, PuffeRL
from pufferlib.policies import build_policy
from pufferlib.vector import make_vec

ROWS = 64
Question = Callable[[np.random.Generator, int], tuple[Any, Any]]
Grade = Callable[[Any, Any], Any]


class Quiz(PufferEnv):
    """Episodes of one step: `question(rng, rows)` gives observations and right answers, `grade(actions, answers)` rewards."""

    def __init__(self, num_envs: int, observation_space: Any, action_space: Any, question: Question, grade: Grade, agents: int):
        self.num_envs, self.num_agents = num_envs, num_envs * agents
        self.structure = pufferlib.structure_of(observation_space)
        self.single_observation_space, self.single_action_space = self.structure.box, action_space
        self.question, self.grade = question, grade
        super().__init__(None)

    def reset(self, seed: Any = None) -> Any:
        self.rng = np.random.default_rng(seed)
        self.masks[:] = True
        self._ask()
        return self.observations, []

    def step(self, actions: Any) -> Any:
        self.rewards[:] = self.grade(actions, self.answers)
        self.terminals[:] = True
        self.final_observations[:] = self.observations
        self._ask()
        return self.observations, self.rewards, self.terminals, self.truncations, []

    def _ask(self) -> None:
        shown, self.answers = self.question(self.rng, self.num_agents)
        if self.structure.is_plain:
            self.observations[:] = shown
        else:
            self.observations[:] = [self.structure.flatten(part) for part in shown]


def right(actions: Any, answers: Any) -> Any:
    return actions == answers


def trained(
    env: Any, name: str, steps: int, *, horizon: int = 4, learning_rate: float = 3e-3, ent_coef: float = 0.0, **settings: Any
) -> tuple[PuffeRL, float]:
    """The trainer after `steps`, and the mean reward of its last rollout."""
    policy = build_policy(name, env.single_observation_space, env.single_action_space, seed=0, hidden_size=32, **settings)
    trainer = PuffeRL(
        env, policy, device="cpu", seed=1, horizon=horizon, minibatch_size=16 * horizon, update_epochs=4,
        learning_rate=learning_rate, total_timesteps=steps, ent_coef=ent_coef, gamma=0.9,
    )  # fmt: skip
    trainer.fit()
    trainer.close()
    return trainer, float(trainer.rollout.rewards.mean())


def quiz(observation_space: Any, action_space: Any, question: Question, grade: Grade = right, agents: int = 1) -> Any:
    def maker(num_envs: int = 1) -> Quiz:
        return Quiz(num_envs, observation_space, action_space, question, grade, agents)

    return make_vec(maker, num_envs=ROWS // agents, backend="serial")


def bars(side: int, length: int = 3) -> Question:
    """A line of a few pixels anywhere in an image: does it lie or stand?"""

    def question(rng: np.random.Generator, rows: int) -> tuple[Any, Any]:
        images, standing = np.zeros((rows, side, side, 1), np.uint8), rng.integers(0, 2, rows)
        for image, stands in zip(images, standing, strict=True):
            along, across = rng.integers(0, side - length + 1), rng.integers(0, side)
            (image[along : along + length, across] if stands else image[across, along : along + length])[:] = 255
        return images, standing

    return question


def pixels(side: int) -> spaces.Box:
    return spaces.Box(0, 255, (side, side, 1), np.uint8)


@pytest.mark.parametrize(("name", "side", "steps"), [("impala", 12, 3_000), ("nature", 36, 6_000)])
def test_convolutions_see_a_shape_wherever_it_is(name: str, side: int, steps: int) -> None:
    _, reward = trained(quiz(pixels(side), spaces.Discrete(2), bars(side, 3 + side // 18)), name, steps, learning_rate=1e-3)
    assert reward > 0.9


def test_an_mlp_does_not_in_that_time() -> None:
    _, reward = trained(quiz(pixels(12), spaces.Discrete(2), bars(12)), "mlp", 3_000, learning_rate=1e-3)
    assert reward < 0.8


def test_multi_input_joins_an_image_and_a_code() -> None:
    space = spaces.Dict({"camera": pixels(8), "code": spaces.Discrete(6)})
    flips = np.array([0, 1, 1, 0, 1, 0])

    def question(rng: np.random.Generator, rows: int) -> tuple[Any, Any]:
        images, standing = bars(8)(rng, rows)
        codes = rng.integers(0, 6, rows)
        return [{"camera": image, "code": code} for image, code in zip(images, codes, strict=True)], standing ^ flips[codes]

    _, reward = trained(quiz(space, spaces.Discrete(2), question), "multi", 10_000)
    assert reward > 0.9


def nearest(rng: np.random.Generator, rows: int) -> tuple[Any, Any]:
    """Up to 16 others, each a bearing and a distance in any order: on which side is the nearest?"""
    others = np.stack([rng.uniform(-1, 1, (rows, 16)), rng.uniform(0.1, 1, (rows, 16))], axis=2)
    others[rng.random((rows, 16)) < 0.5] = 0
    distances = np.where(others[:, :, 1] > 0, others[:, :, 1], np.inf)
    return others, (others[np.arange(rows), distances.argmin(1), 0] > 0).astype(np.int64)


def test_what_is_learnt_of_one_entity_holds_for_all() -> None:
    """A network of its own for each place has to learn sixteen times."""
    env = [quiz(spaces.Box(-1, 1, (16, 2)), spaces.Discrete(2), nearest) for _ in range(2)]
    (_, sets), (_, flat) = trained(env[0], "entities", 20_000), trained(env[1], "mlp", 20_000)
    assert sets > 0.9 and flat < 0.8


def test_residual_blocks_learn_parity() -> None:
    def question(rng: np.random.Generator, rows: int) -> tuple[Any, Any]:
        bits = rng.integers(0, 2, (rows, 3))
        return bits * 2 - 1, bits.sum(1) % 2

    env = quiz(spaces.Box(-1, 1, (3,)), spaces.Discrete(2), question)
    _, reward = trained(env, "residual", 15_000, learning_rate=1e-3)
    assert reward > 0.95


@pytest.mark.parametrize("name", ["lstm", "gru", "mingru", "attention"])
def test_memories_answer_what_was_shown_before(name: str) -> None:
    env = pufferlib.make("ocean-memory", num_envs=ROWS, delay=3)
    trainer, _ = trained(env, name, 25_000, horizon=16)
    assert trainer.rollout.rewards.sum() / trainer.rollout.terminals.sum() > 0.9


def test_a_window_that_is_too_short_does_not() -> None:
    env = pufferlib.make("ocean-memory", num_envs=ROWS, delay=3)
    trainer, _ = trained(env, "attention", 10_000, horizon=16, window=3)
    assert 0.4 < trainer.rollout.rewards.sum() / trainer.rollout.terminals.sum() < 0.6


@pytest.mark.parametrize(("name", "settings"), [("independent", {"agents": 2}), ("mlp", {})])
def test_agents_that_see_the_same_need_networks_of_their_own_to_differ(name: str, settings: dict[str, Any]) -> None:
    def question(rng: np.random.Generator, rows: int) -> tuple[Any, Any]:
        return np.zeros((rows, 1)), np.arange(rows) % 2

    env = quiz(spaces.Box(-1, 1, (1,)), spaces.Discrete(2), question, agents=2)
    _, reward = trained(env, name, 3_000, **settings)
    assert reward > 0.95 if settings else 0.3 < reward < 0.7


AIM = spaces.Box(np.array([-1, -3], np.float32), np.array([3, 0], np.float32))


def aims(rng: np.random.Generator, rows: int) -> tuple[Any, Any]:
    shown = rng.uniform(-1, 1, (rows, 2))
    return shown, (AIM.low + AIM.high) / 2 + 0.35 * (AIM.high - AIM.low) * shown


def nearness(actions: Any, answers: Any) -> Any:
    return 1 - (np.abs(actions - answers) / (AIM.high - AIM.low)).mean(1)


@pytest.mark.parametrize("settings", [{}, {"squash": True}, {"log_std": "output"}, {"squash": True, "log_std": "output"}])
def test_continuous_actions_find_their_aim(settings: dict[str, Any]) -> None:
    env = quiz(spaces.Box(-1, 1, (2,)), AIM, aims, nearness)
    trainer, _ = trained(env, "mlp", 10_000, **settings)
    shown, answers = aims(np.random.default_rng(5), 500)
    with torch.no_grad():
        parameters, _ = trainer.policy(torch.as_tensor(shown, dtype=torch.float32))
        actions = trainer.distribution.to_env(trainer.distribution.mode(parameters))
    assert nearness(actions.numpy(), answers).mean() > 0.93


def test_deviations_that_the_network_puts_out_follow_what_it_sees() -> None:
    """Where the action counts it becomes exact; where it does not, the entropy bonus spreads it out."""

    def question(rng: np.random.Generator, rows: int) -> tuple[Any, Any]:
        counts = rng.integers(0, 2, rows)
        return counts[:, None] * 2 - 1, counts

    def grade(actions: Any, answers: Any) -> Any:
        return -answers * np.abs(actions[:, 0])

    env = quiz(spaces.Box(-1, 1, (1,)), spaces.Box(-2, 2, (1,)), question, grade)
    trainer, _ = trained(env, "mlp", 10_000, ent_coef=0.02, log_std="output")
    with torch.no_grad():
        (_, log_std), _ = trainer.policy(torch.tensor([[-1.0], [1.0]]))
    assert log_std[0] - log_std[1] > 0.7
