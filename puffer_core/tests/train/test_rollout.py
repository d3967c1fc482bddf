"""What a rollout holds, slot by slot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from pufferlib.train.puffe_rl import PuffeRL


class Echo(torch.nn.Module):
    """Always chooses action 1; its value is the observation's second number, the steps in the episode, times ten."""

    def __init__(self) -> None:
        super().__init__()
        self.logits = torch.nn.Parameter(torch.tensor([-50.0, 50.0]))

    def forward(self, observations: torch.Tensor) -> Any:
        return self.logits.expand(len(observations), 2), 10 * observations[:, 1:2]


def trainer_on(scripted: Any, policy: Any, horizon: int = 5, **arguments: Any) -> Any:
    vec, built = scripted(**arguments)
    rows = vec.num_agents
    return PuffeRL(env=vec, policy=policy, device="cpu", batch_size=rows * horizon, minibatch_size=rows * horizon), built


def test_a_slot_holds_an_observation_its_action_and_what_that_caused(scripted: Any) -> None:
    trainer, _ = trainer_on(scripted, Echo(), num_envs=2, lengths=(3,))
    trainer.evaluate()
    rollout = trainer.rollout
    assert rollout.observations[:, 1].tolist() == [[1, 0, 0], [1, 1, 1], [1, 2, 1], [1, 0, 0], [1, 1, 1], [1, 2, 1]]
    assert rollout.rewards[:, 1].tolist() == [1, 2, 3, 1, 2]
    assert rollout.terminals[:, 0].tolist() == [False, False, True, False, False]
    assert rollout.values[:, 0].tolist() == [0, 10, 20, 0, 10, 20], "with the value after the rollout at the end"
    assert rollout.actions[:, 0].tolist() == [1] * 5 and rollout.log_probs.abs().max() < 1e-6
    trainer.close()


def test_the_last_observation_is_acted_on_first_in_the_next_rollout(scripted: Any) -> None:
    trainer, built = trainer_on(scripted, Echo(), num_envs=2, lengths=(7,))
    trainer.evaluate()
    trainer.evaluate()
    assert trainer.rollout.observations[:, 0, 1].tolist() == [5, 6, 0, 1, 2, 3]
    assert len(built[0].received) == 10 and len(built[0].seeds) == 1, "ten steps, one reset"
    trainer.close()


def test_truncations_are_valued_at_the_true_last_observation(scripted: Any) -> None:
    trainer, _ = trainer_on(scripted, Echo(), num_envs=2, lengths=(3, 2), end="truncation")
    trainer.evaluate()
    cut = trainer.rollout.truncations
    assert cut[:, 0].tolist() == [False, False, True, False, False]
    assert trainer.rollout.bootstrap[cut].tolist() == [20, 30, 20], "rows by step: (1, 1), (2, 0), (3, 1)"
    trainer.close()


def test_batches_that_overlap_fill_the_same_arrays_as_one_batch(scripted: Any) -> None:
    rollouts = []
    for groups in (1, 2, 4):
        trainer, _ = trainer_on(scripted, Echo(), num_envs=4, num_workers=4, batch_size=4 // groups, lengths=(3, 2, 4, 5))
        trainer.evaluate()
        trainer.evaluate()
        rollout = trainer.rollout
        rollouts.append([rollout.rewards.clone(), rollout.terminals.clone(), rollout.values.clone(), rollout.actions.clone()])
        rollouts[-1].append(rollout.observations[:, :, 1].clone())
        trainer.close()
    for other in rollouts[1:]:
        assert all(torch.equal(a, b) for a, b in zip(rollouts[0], other, strict=True))


@pytest.mark.parametrize("favoured", [min, max])
def test_a_batch_that_runs_ahead_of_the_others_keeps_its_own_results(scripted: Any, favoured: Any) -> None:
    def rollouts(ahead: bool) -> list[Any]:
        trainer, _ = trainer_on(scripted, Echo(), num_envs=4, num_workers=2, batch_size=2, lengths=(3, 2, 4, 5))
        if ahead:
            trainer.env._wait = favoured  # one batch is always finished first: it is at the last slot before the other begins
        kept = []
        for _ in range(3):
            trainer.evaluate()
            kept.append(
                [getattr(trainer.rollout, name).clone() for name in ("observations", "actions", "rewards", "terminals", "values")]
            )
        trainer.close()
        return kept

    for ours, plain in zip(rollouts(True), rollouts(False), strict=True):
        assert all(torch.equal(a, b) for a, b in zip(ours, plain, strict=True))


def test_training_reads_the_envs_own_memory(scripted: Any) -> None:
    trainer, _ = trainer_on(scripted, Echo())
    rollout = trainer.rollout
    assert rollout.observations.data_ptr() == trainer.env.storage.observations.ctypes.data
    assert rollout.actions.data_ptr() == trainer.env.storage.actions.ctypes.data
    trainer.close()


@pytest.mark.parametrize("end", ["terminal", "truncation"])
def test_recurrent_state_is_cleared_before_the_first_step_of_an_episode(scripted: Any, step_counter: Any, end: str) -> None:
    trainer, _ = trainer_on(scripted, step_counter(), horizon=7, num_envs=2, lengths=(2, 3), end=end)
    trainer.evaluate()
    assert trainer.rollout.values[:7].tolist() == [[0, 0], [1, 1], [0, 2], [1, 0], [0, 1], [1, 2], [0, 0]]
    if end == "truncation":
        cut = trainer.rollout.truncations
        ages = trainer.rollout.bootstrap[cut].tolist()
        assert ages == [2, 3, 2, 2, 3], "the state that the row had after its last step, not the cleared one"
    trainer.evaluate()
    assert trainer.rollout.values[:3].tolist() == [[1, 1], [0, 2], [1, 0]], "the state lives on from rollout to rollout"
    assert trainer.rollout.segment_state.flatten().tolist() == [1, 1]
    trainer.close()


def test_a_step_that_was_not_real_clears_the_state_too(scripted: Any, step_counter: Any) -> None:
    trainer, built = trainer_on(scripted, step_counter(), horizon=4, num_envs=2, lengths=(9,))
    built[0].bad["masks"] = (1, False)
    trainer.evaluate()
    assert trainer.rollout.values[:4].tolist() == [[0, 0], [1, 0], [2, 0], [3, 0]]
    trainer.close()


ASYMMETRIC = spaces.Box(np.array([-1, 0, -np.inf], np.float32), np.array([3, 0.5, np.inf], np.float32), dtype=np.float32)
RAW = [9.0, -2.0, 1e3]


class Fixed(torch.nn.Module):
    """A Gaussian so narrow that its sample is its mean."""

    def __init__(self) -> None:
        super().__init__()
        self.mean = torch.nn.Parameter(torch.tensor(RAW))

    def forward(self, observations: torch.Tensor) -> Any:
        mean = self.mean.expand(len(observations), 3)
        return (mean, torch.full_like(mean, -20.0)), observations[:, :1]


def test_the_env_gets_a_clipped_action_and_the_learner_the_raw_one(scripted: Any) -> None:
    trainer, built = trainer_on(scripted, Fixed(), num_envs=2, action_space=ASYMMETRIC)
    trainer.evaluate()
    sent = built[0].received[0]
    assert sent.dtype == np.float32 and np.allclose(sent, [[3.0, 0.0, 1e3]] * 2, atol=1e-3)
    torch.testing.assert_close(trainer.rollout.actions[0], torch.tensor([RAW] * 2), atol=1e-3, rtol=0)
    trainer.close()


def test_masked_choices_are_never_taken(scripted: Any) -> None:
    class Uniform(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.logits = torch.nn.Parameter(torch.zeros(7))

        def forward(self, observations: torch.Tensor) -> Any:
            return torch.split(self.logits.expand(len(observations), 7), [4, 3], 1), observations[:, 0]

    arguments = {"action_space": spaces.MultiDiscrete([4, 3]), "action_mask": [0, 1, 1, 0, 0, 0, 1]}
    trainer, _ = trainer_on(scripted, Uniform(), horizon=50, num_envs=8, **arguments)
    trainer.evaluate()
    actions = trainer.rollout.actions.reshape(-1, 2)
    assert set(actions[:, 0].tolist()) == {1, 2} and set(actions[:, 1].tolist()) == {2}
    torch.testing.assert_close(trainer.rollout.log_probs, torch.full((50, 8), float(np.log(0.5))))
    trainer.train()
    assert trainer.mean_and_log()["losses/entropy"] == pytest.approx(np.log(2), abs=1e-5)
    trainer.close()


@pytest.mark.parametrize("name", ["mlp", "lstm"])
@pytest.mark.parametrize("space", [spaces.Discrete(3), spaces.Box(-1, 1, (2,))])
def test_a_learner_with_its_own_memory_sees_the_same_rollout(
    scripted: Any, small_policy: Any, monkeypatch: Any, name: str, space: Any
) -> None:
    """The path of a GPU, run on a CPU: every slot is copied."""
    results = []
    for shared in (True, False):
        monkeypatch.setattr("pufferlib.train.rollout.reads_host_memory", lambda device, shared=shared: shared)
        arguments = {"action_space": space, "action_mask": [1, 0, 1] if isinstance(space, spaces.Discrete) else None}
        vec, _ = scripted(6, num_workers=2, batch_size=3, lengths=(3, 4, 9), end="truncation", **arguments)
        trainer = PuffeRL(env=vec, policy=small_policy(vec, name), device="cpu", batch_size=6 * 5, minibatch_size=15)
        for _ in range(3):
            trainer.evaluate()
            trainer.train()
        rollout = trainer.rollout
        assert (rollout.observations.data_ptr() == vec.storage.observations.ctypes.data) == shared
        results.append([rollout.observations, rollout.actions.float(), rollout.values, rollout.log_probs, rollout.bootstrap,
                        rollout.starts, *trainer.policy.parameters()])  # fmt: skip
        trainer.close()
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
