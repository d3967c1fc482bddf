"""Minibatches in training: which samples each of them holds, whatever the sizes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from pufferlib.errors import ConfigError
from pufferlib.train.puffe_rl import PuffeRL


@pytest.mark.parametrize(("num_envs", "horizon", "minibatch_size"), [(1, 1, 1), (1, 33, 32), (2, 5, 64), (3, 7, 4), (1, 8, 1)])
@pytest.mark.parametrize("epochs", [1, 3])
def test_minibatches_of_any_size_keep_weights_finite_and_use_every_sample(
    scripted: Any, small_policy: Any, num_envs: int, horizon: int, minibatch_size: int, epochs: int
) -> None:
    vec, _ = scripted(num_envs)
    trainer = PuffeRL(
        env=vec, policy=small_policy(vec), batch_size=num_envs * horizon, minibatch_size=minibatch_size, update_epochs=epochs
    )
    seen: list[int] = []
    own = trainer.learner.gradients

    def watch(batch: Any) -> Any:
        seen.extend(batch.samples.tolist())
        assert len(batch.samples) == len(batch.actions) <= minibatch_size
        return own(batch)

    trainer.learner.gradients = watch  # type: ignore[method-assign]
    for _ in range(3):
        trainer.evaluate()
        trainer.train()
    assert sorted(seen) == sorted(list(range(num_envs * horizon)) * 3 * epochs)
    assert all(torch.isfinite(p).all() for p in trainer.policy.parameters())
    trainer.close()


@pytest.mark.parametrize("learner", ["auto", "torch"])
def test_big_minibatches_hold_every_sample_once_and_pair_them_rightly(scripted: Any, small_policy: Any, learner: str) -> None:
    vec, _ = scripted(64, lengths=(5, 7))
    trainer = PuffeRL(env=vec, policy=small_policy(vec), batch_size=64 * 256, minibatch_size=4096, learner=learner)
    trainer.evaluate()
    seen = []

    def watch(batch: Any) -> Any:
        rollout = trainer.rollout
        flat = rollout.observations[:-1].flatten(0, 1)
        assert torch.equal(batch.observations, flat[batch.samples] if learner == "torch" else flat)
        assert torch.equal(batch.actions, rollout.actions.flatten()[batch.samples])
        assert torch.equal(batch.old_log_prob, rollout.log_probs.flatten()[batch.samples])
        seen.append(batch.samples)
        return own(batch)

    own, trainer.learner.gradients = trainer.learner.gradients, watch  # type: ignore[method-assign]
    trainer.train()
    assert [len(part) for part in seen] == [4096] * 4 and torch.cat(seen).sort().values.equal(torch.arange(64 * 256))
    trainer.close()


def test_a_minibatch_that_would_cut_segments_is_refused(scripted: Any, small_policy: Any) -> None:
    vec, _ = scripted(6)
    with pytest.raises(ConfigError, match=r"minibatch_size.*20.*horizon=8.*16, 24"):
        PuffeRL(env=vec, policy=small_policy(vec, "lstm"), batch_size=48, minibatch_size=20)
    PuffeRL(env=vec, policy=small_policy(vec, "lstm"), batch_size=48, minibatch_size=1000).close()


def test_prioritised_sampling_prefers_large_advantages_and_corrects_for_it(scripted: Any, small_policy: Any) -> None:
    vec, _ = scripted(8)
    trainer = PuffeRL(env=vec, policy=small_policy(vec), batch_size=8 * 4, minibatch_size=8, prio_alpha=1.0, prio_beta0=1.0)
    trainer.evaluate()
    from pufferlib.train.minibatches import Minibatches

    minibatches = Minibatches(trainer.rollout, trainer.rollout.masks, trainer.config, trainer.generator)
    advantage = torch.ones(4, 8)
    advantage[:, 5] = 9.0
    counts, weights = torch.zeros(8), {}
    for _ in range(200):
        for batch in minibatches.epoch(advantage, torch.zeros(4, 8), 1.0):
            rows = batch.samples.reshape(4, -1)[0]
            counts += torch.bincount(rows, minlength=8)
            assert batch.weights is not None
            weights.update(zip(rows.tolist(), batch.weights[: len(rows)].tolist(), strict=True))
    assert counts[5] / counts.sum() == pytest.approx(9 / 16, abs=0.04)
    assert weights[0] / weights[5] == pytest.approx(9.0, rel=1e-4)
    trainer.train()
    trainer.close()
