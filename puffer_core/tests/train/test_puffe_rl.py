"""The trainer as a whole."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from pufferlib.config.train_config import TrainConfig
from pufferlib.errors import ClosedError, ConfigError, NonFiniteError
from pufferlib.policies import build_policy
from pufferlib.train.puffe_rl import PuffeRL
from pufferlib.vector import make_vec


def weights_of(trainer: Any) -> list[torch.Tensor]:
    return [p.detach().clone() for p in trainer.policy.parameters()]


def same(first: list[torch.Tensor], second: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_three_iterations_count_and_change_weights(scripted: Any, small_policy: Any) -> None:
    vec, _ = scripted(8)
    trainer = PuffeRL(env=vec, policy=small_policy(vec), device="cpu", batch_size=8 * 16)
    before = weights_of(trainer)
    for _ in range(3):
        trainer.evaluate()
        trainer.train()
        logs = trainer.mean_and_log()
    assert trainer.global_step == logs["global_step"] == 3 * 8 * 16 and trainer.epoch == 3 and trainer.config.horizon == 16
    assert not same(before, weights_of(trainer))
    assert all(math.isfinite(value) for value in logs.values())
    assert logs["environment/episode_return"] == 6.0, "episodes of three steps: 1 + 2 + 3"
    for name in ("policy_loss", "value_loss", "entropy", "approx_kl", "clipfrac", "explained_variance", "grad_norm"):
        assert f"losses/{name}" in logs
    for name in ("env", "forward", "copy", "learn"):
        assert logs[f"time/{name}"] >= 0
    trainer.close()
    trainer.close()
    with pytest.raises(ClosedError):
        trainer.evaluate()


def test_env_and_policy_are_enough(scripted: Any, small_policy: Any) -> None:
    vec, _ = scripted(4)
    trainer = PuffeRL(env=vec, policy=small_policy(vec))
    trainer.evaluate()
    trainer.train()
    assert trainer.global_step == 4 * TrainConfig().horizon
    trainer.close()


def test_iterating_ends_at_total_timesteps(scripted: Any, small_policy: Any) -> None:
    vec, _ = scripted(4)
    trainer = PuffeRL(env=vec, policy=small_policy(vec), batch_size=40, total_timesteps=100)
    assert [logs["global_step"] for logs in trainer] == [40, 80, 120]
    assert trainer.fit(200)["global_step"] == 200
    trainer.close()


def test_a_batch_size_that_does_not_fit_is_refused_with_near_ones(scripted: Any, small_policy: Any) -> None:
    vec, _ = scripted(8)
    with pytest.raises(ConfigError, match=r"batch_size.*100.*num_agents=8.*96, 104"):
        PuffeRL(env=vec, policy=small_policy(vec), batch_size=100)
    vec.close()


def test_an_unknown_setting_is_refused_with_its_near_match(scripted: Any, small_policy: Any) -> None:
    vec, _ = scripted(8)
    with pytest.raises(ConfigError, match=r"learning_rte.*learning_rate"):
        PuffeRL(env=vec, policy=small_policy(vec), learning_rte=1)
    vec.close()


def test_train_needs_a_fresh_rollout(scripted: Any, small_policy: Any) -> None:
    vec, _ = scripted(4)
    trainer = PuffeRL(env=vec, policy=small_policy(vec), batch_size=16)
    with pytest.raises(ConfigError, match="evaluate"):
        trainer.train()
    trainer.evaluate()
    trainer.train()
    with pytest.raises(ConfigError, match="evaluate"):
        trainer.train()
    trainer.close()


def test_rows_with_mask_0_weigh_nothing(scripted: Any, small_policy: Any) -> None:
    results = []
    for junk in (0.0, 1e6):
        vec, built = scripted(4)
        built[0].bad = {"masks": (2, False), "rewards": (2, junk)}
        trainer = PuffeRL(env=vec, policy=small_policy(vec), batch_size=4 * 8, minibatch_size=12)
        trainer.evaluate()
        trainer.train()
        results.append(weights_of(trainer))
        assert trainer.mean_and_log()["agent_steps"] == 24
        trainer.close()
    assert same(*results)


@pytest.mark.parametrize("name", ["lstm", "mingru"])
@pytest.mark.parametrize("end", ["terminal", "truncation"])
@pytest.mark.parametrize("own_sequence", [True, False])
def test_training_replays_the_states_of_acting(scripted: Any, small_policy: Any, name: str, end: str, own_sequence: bool) -> None:
    vec, _ = scripted(6, num_workers=2, batch_size=3, lengths=(2, 3, 5, 40), end=end)
    policy = small_policy(vec, name)
    if not own_sequence:
        type(policy).forward_sequence, kept = None, type(policy).forward_sequence
    try:
        trainer = PuffeRL(env=vec, policy=policy, batch_size=6 * 8, minibatch_size=16, learning_rate=1e-3)
        first: list[torch.Tensor] = []
        own = trainer.learner.gradients

        def watch(batch: Any) -> Any:
            losses, ratio, value = own(batch)
            if not first:
                first.append(ratio)
                torch.testing.assert_close(value, batch.old_value, atol=1e-5, rtol=0)
            return losses, ratio, value

        trainer.learner.gradients = watch  # type: ignore[method-assign]
        for _ in range(3):
            first.clear()
            trainer.evaluate()
            trainer.train()
            assert (first[0] - 1).abs().max() < 1e-5, "before the rollout's first update every ratio is 1"
        trainer.close()
    finally:
        if not own_sequence:
            type(policy).forward_sequence = kept


def test_ratios_are_1_before_the_first_update_of_a_box_policy(scripted: Any, small_policy: Any) -> None:
    box = spaces.Box(np.array([-1, 0, -np.inf], np.float32), np.array([3, 0.5, np.inf], np.float32), dtype=np.float32)
    vec, _ = scripted(8, action_space=box)
    trainer = PuffeRL(env=vec, policy=small_policy(vec), batch_size=8 * 8, minibatch_size=64)
    trainer.evaluate()
    own, ratios = trainer.learner.gradients, []

    def watch(batch: Any) -> Any:
        found = own(batch)
        ratios.append(found[1])
        return found

    trainer.learner.gradients = watch  # type: ignore[method-assign]
    trainer.train()
    assert (ratios[0] - 1).abs().max() < 1e-5 and abs(trainer.mean_and_log()["losses/approx_kl"]) < 1e-6
    trainer.close()


@pytest.mark.parametrize("place", ["rewards", "observations", "final_observations"])
def test_nan_from_the_env_is_named_and_changes_no_weight(scripted: Any, small_policy: Any, place: str) -> None:
    vec, built = scripted(4, lengths=(2,), end="truncation")
    trainer = PuffeRL(env=vec, policy=small_policy(vec), batch_size=4 * 6)
    before = weights_of(trainer)
    built[0].bad[place] = (3, math.nan)
    trainer.evaluate()
    with pytest.raises(NonFiniteError, match=rf"{place} \(row 3\)"):
        trainer.train()
    assert same(before, weights_of(trainer)) and not trainer.optimizer.parts[0].state_dict()["state"]
    trainer.close()


@pytest.mark.parametrize("name", ["mlp", "lstm"])
def test_skipping_leaves_the_bad_row_out_and_goes_on(scripted: Any, small_policy: Any, name: str) -> None:
    vec, built = scripted(4, lengths=(50,))
    trainer = PuffeRL(env=vec, policy=small_policy(vec, name), batch_size=4 * 6, nonfinite="skip")
    built[0].bad["observations"] = (3, math.inf)
    before = weights_of(trainer)
    for _ in range(2):
        trainer.evaluate()
        trainer.train()
    logs = trainer.mean_and_log()
    assert logs["losses/skipped_rows"] == 2 and logs["agent_steps"] == 2 * 3 * 6
    assert not same(before, weights_of(trainer)) and all(torch.isfinite(p).all() for p in trainer.policy.parameters())
    built[0].bad.clear()
    for _ in range(2):
        trainer.evaluate()
        trainer.train()
    assert trainer.mean_and_log()["agent_steps"] >= 2 * 3 * 6 + 3 * 6 + 4 * 6, "the row is back once its numbers are finite"
    trainer.close()


class Explosive(torch.nn.Module):
    """Finite outputs, infinite gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(2))

    def forward(self, observations: torch.Tensor) -> Any:
        root = (self.weight.square().sum()).sqrt()  # the slope of sqrt at 0
        return self.weight.expand(len(observations), 2), root.expand(len(observations))


@pytest.mark.parametrize("nonfinite", ["raise", "skip"])
def test_an_infinite_gradient_makes_no_update(scripted: Any, nonfinite: Any) -> None:
    vec, _ = scripted(4)
    trainer = PuffeRL(env=vec, policy=Explosive(), batch_size=16, nonfinite=nonfinite)
    trainer.evaluate()
    if nonfinite == "raise":
        with pytest.raises(NonFiniteError, match="gradients of weight"):
            trainer.train()
    else:
        trainer.train()
        assert trainer.mean_and_log()["losses/skipped_updates"] == 1
    assert trainer.policy.weight.tolist() == [0, 0]
    trainer.close()


def test_target_kl_ends_the_epochs(scripted: Any, small_policy: Any) -> None:
    updates = []
    for target_kl in (0.0, 1e-6):
        vec, _ = scripted(4)
        trainer = PuffeRL(
            env=vec, policy=small_policy(vec), batch_size=64, minibatch_size=16, update_epochs=5, target_kl=target_kl,
            learning_rate=0.01,
        )  # fmt: skip
        trainer.evaluate()
        trainer.train()
        updates.append(int(trainer.optimizer.parts[0].state_dict()["state"][0]["step"]))
        trainer.close()
    assert updates == [20, 2], "the second update is the first one that sees a changed policy"


def test_same_seed_same_weights_and_another_seed_others(scripted: Any, small_policy: Any) -> None:
    def run(seed: int) -> list[torch.Tensor]:
        vec, _ = scripted(4)
        trainer = PuffeRL(env=vec, policy=small_policy(vec), batch_size=64, minibatch_size=16, seed=seed)
        for _ in range(2):
            trainer.evaluate()
            trainer.train()
        trainer.close()
        return weights_of(trainer)

    assert same(run(1), run(1)) and not same(run(1), run(2))


def test_the_learning_rate_follows_the_schedule_and_can_be_set(scripted: Any, small_policy: Any) -> None:
    vec, _ = scripted(4)
    trainer = PuffeRL(
        env=vec, policy=small_policy(vec), batch_size=100, total_timesteps=1000, learning_rate=1e-3, anneal_schedule="linear"
    )
    used = []
    for _ in range(4):
        trainer.evaluate()
        trainer.train()
        used.append(trainer.optimizer.parts[0].param_groups[0]["lr"])
    assert used == pytest.approx([1e-3, 9e-4, 8e-4, 7e-4]) and trainer.learning_rate == pytest.approx(6e-4)
    trainer.learning_rate = 3e-4
    assert trainer.learning_rate == pytest.approx(3e-4)
    trainer.evaluate()
    trainer.train()
    assert trainer.learning_rate == pytest.approx(2.5e-4), "half of the schedule from now on"
    with pytest.raises(ConfigError, match="learning_rate"):
        trainer.learning_rate = math.nan
    trainer.close()


class MatchTheColour:
    """Builds a one-step game: show one of four colours, pay 1 for naming it."""

    def __new__(cls, num_envs: int = 1) -> Any:
        from pufferlib.env import PufferEnv

        class Colours(PufferEnv):
            def __init__(self) -> None:
                self.num_envs = self.num_agents = num_envs
                self.single_observation_space = spaces.Box(0, 3, (1,), np.uint8)
                self.single_action_space = spaces.Discrete(4)
                super().__init__()

            def reset(self, seed: Any = None) -> Any:
                self.random = np.random.default_rng(seed)
                self.show()
                return self.observations, []

            def step(self, actions: Any) -> Any:
                self.rewards[:] = actions == self.colour
                self.terminals[:] = True
                self.show()
                return self.observations, self.rewards, self.terminals, self.truncations, []

            def show(self) -> None:
                self.colour = self.random.integers(0, 4, num_envs)
                self.observations[:, 0] = self.colour

        return Colours()


@pytest.mark.parametrize(
    ("name", "optimizer", "epochs"), [("mlp", "adam", 1), ("mlp", "muon", 3), ("lstm", "adam", 2), ("mingru", "muon", 1)]
)
def test_a_contextual_bandit_is_learned(name: str, optimizer: Any, epochs: int) -> None:
    vec = make_vec(MatchTheColour, num_envs=64, backend="serial")
    policy = build_policy(
        name, vec.single_observation_space, vec.single_action_space, seed=0, hidden_size=32, num_layers=1, encode="onehot"
    )
    trainer = PuffeRL(
        env=vec, policy=policy, batch_size=64 * 16, minibatch_size=256, update_epochs=epochs, optimizer=optimizer,
        learning_rate=0.01, total_timesteps=40_000, gamma=0.0,
    )  # fmt: skip
    for _ in trainer:
        pass
    assert trainer.rollout.rewards.mean() > 0.9
    trainer.close()


def test_later_epochs_correct_advantages_by_the_ratios_last_seen(scripted: Any, small_policy: Any) -> None:
    from pufferlib.train.advantage import advantages

    vec, _ = scripted(4, lengths=(3, 5))
    trainer = PuffeRL(
        env=vec, policy=small_policy(vec), batch_size=4 * 8, minibatch_size=32, update_epochs=3, learning_rate=0.02,
        vf_clip_coef=0.0,
    )  # fmt: skip
    trainer.evaluate()
    rollout, own, epochs = trainer.rollout, trainer.learner.gradients, []

    def watch(batch: Any) -> Any:
        losses, ratio, value = own(batch)
        order = batch.samples.argsort()
        epochs.append([x[order].reshape(8, 4) for x in (batch.advantage, batch.target, ratio, value)])
        return losses, ratio, value

    trainer.learner.gradients = watch  # type: ignore[method-assign]
    trainer.train()
    for epoch in (1, 2):
        seen_ratios, seen_values = epochs[epoch - 1][2:]
        values = torch.cat([seen_values, rollout.values[-1:]])
        expected = advantages(
            rollout.rewards, values, rollout.bootstrap, rollout.terminals, rollout.truncations, rollout.masks, seen_ratios,
            gamma=0.99, lam=0.95,
        )  # fmt: skip
        torch.testing.assert_close(epochs[epoch][0], expected[0])
        torch.testing.assert_close(epochs[epoch][1], expected[1])
    assert (epochs[1][2] - 1).abs().max() > 0.01, "the policy has moved by then"
    trainer.close()


@pytest.mark.parametrize("name", ["mlp", "lstm"])
def test_a_rollout_without_a_single_real_step_makes_no_update(scripted: Any, small_policy: Any, name: str) -> None:
    vec, built = scripted(1)
    built[0].bad = {"masks": (0, False), "rewards": (0, math.nan)}
    trainer = PuffeRL(env=vec, policy=small_policy(vec, name), batch_size=8)
    before = weights_of(trainer)
    trainer.evaluate()
    trainer.train()
    assert same(before, weights_of(trainer)) and not trainer.optimizer.parts[0].state_dict()["state"]
    trainer.close()
