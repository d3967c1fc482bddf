"""Rewards are scaled, then clipped, on their way to the advantage only."""

from __future__ import annotations

from typing import Any

import pytest

from pufferlib.train import learner
from pufferlib.train.puffe_rl import PuffeRL


@pytest.mark.parametrize(
    ("scale", "clip", "seen"),
    [(1.0, 0.0, [1, 2, 3, 1, 2]), (0.5, 0.0, [0.5, 1, 1.5, 0.5, 1]), (-1.0, 1.5, [-1, -1.5, -1.5, -1, -1.5])],
)
def test_the_advantage_sees_scaled_and_clipped_rewards_and_the_log_sees_neither(
    scripted: Any, small_policy: Any, monkeypatch: Any, scale: float, clip: float, seen: list[float]
) -> None:
    rewards, own = [], learner.advantages

    def watch(given: Any, *arrays: Any, **settings: Any) -> Any:
        rewards.append(given[:, 0].tolist())
        return own(given, *arrays, **settings)

    monkeypatch.setattr(learner, "advantages", watch)
    vec, _ = scripted(2, lengths=(3,))
    trainer = PuffeRL(env=vec, policy=small_policy(vec), batch_size=2 * 5, reward_scale=scale, reward_clip=clip)
    trainer.evaluate()
    trainer.train()
    assert rewards == [seen]
    assert trainer.mean_and_log()["environment/episode_return"] == 6.0, "1 + 2 + 3"
    trainer.close()
