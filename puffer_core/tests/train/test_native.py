"""The kernels' way to train the default policy against torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from pufferlib import PuffeRL
from pufferlib.errors import ShapeError
from pufferlib.policies import build_policy
from pufferlib.train import native

BOX = spaces.Box(np.array([-1, 0], np.float32), np.array([3, 0.5], np.float32), dtype=np.float32)

pytestmark = pytest.mark.skipif(native._dense is None, reason="built only where the compiler has vector types")


@pytest.fixture
def both(scripted: Any) -> Any:
    """Trainers that differ only in who runs the policy."""

    def make(num_envs: int = 8, policy: dict[str, Any] | None = None, env: dict[str, Any] | None = None, **settings: Any) -> Any:
        trainers = []
        for learner in ("auto", "torch"):
            vec, _ = scripted(num_envs, **(env or {}))
            torch.manual_seed(3)
            arguments = {"name": "mlp", **(policy or {})}
            made = build_policy(arguments.pop("name"), vec.single_observation_space, vec.single_action_space, **arguments)
            trainers.append(PuffeRL(env=vec, policy=made, batch_size=num_envs * 16, learner=learner, **settings))
        assert trainers[0].native is not None and trainers[1].native is None
        return trainers

    return make


def train(trainer: PuffeRL, rollouts: int = 3) -> tuple[dict[str, float], dict[str, torch.Tensor]]:
    for _ in range(rollouts):
        trainer.evaluate()
        trainer.train()
    logs = trainer.mean_and_log()
    trainer.close()
    return logs, trainer.policy.state_dict()


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"minibatch_size": 48, "update_epochs": 2, "target_kl": 10.0},
        {"minibatch_size": 32, "prio_alpha": 0.8, "update_epochs": 2},
        {"optimizer": "muon", "weight_decay": 0.01, "ent_coef": 0.1, "vf_clip_coef": 0.0, "normalize_advantages": False},
        {"policy": {"hidden_size": 20, "num_layers": 1}},
        {"policy": {"standardise": False, "num_layers": 4}},
        {"env": {"action_space": spaces.MultiDiscrete([3, 2]), "action_mask": [1, 0, 1, 1, 1]}},
        {"env": {"observation_space": spaces.Box(0, 16, (3,), np.uint8)}},
        {"env": {"observation_space": spaces.Box(0, 16, (3,), np.uint8)}, "policy": {"encode": "onehot"}},
        {
            "env": {"observation_space": spaces.Box(np.array([0, 0, 0]), np.array([7, 16, 1]), dtype=np.uint8)},
            "policy": {"name": "lstm", "hidden_size": 16, "encode": "onehot"},
            "minibatch_size": 32,
        },
        {
            "env": {"observation_space": spaces.Box(np.array([0, 0, 0]), np.array([7, 255, 1]), dtype=np.uint8)},
            "policy": {"encode": "mixed", "hidden_size": 20},
        },
        {"num_envs": 300, "minibatch_size": 3000},
        {"env": {"action_space": BOX}, "update_epochs": 2},
        {"env": {"action_space": BOX}, "policy": {"log_std": "output", "squash": True}},
        {"env": {"action_space": BOX}, "policy": {"name": "lstm", "hidden_size": 16}, "minibatch_size": 32},
        {"env": {"action_space": spaces.Discrete(70)}},
        {"policy": {"name": "lstm", "hidden_size": 32}, "minibatch_size": 48, "update_epochs": 2},
        {"policy": {"name": "lstm", "hidden_size": 16}, "env": {"lengths": (3, 5, 40), "end": "truncation"}, "num_envs": 70},
        {"policy": {"name": "mingru", "hidden_size": 32, "core_layers": 2}, "env": {"lengths": (3, 5, 40)}, "minibatch_size": 32},
    ],
)
def test_a_few_rollouts_end_where_torchs_end(both: Any, given: dict[str, Any]) -> None:
    fast, slow = both(**given)
    (fast_logs, fast_weights), (slow_logs, slow_weights) = train(fast), train(slow)
    for name, weight in slow_weights.items():
        torch.testing.assert_close(
            fast_weights[name], weight, atol=2e-4, rtol=2e-3, msg=lambda text, name=name: f"{name}: {text}"
        )
    for name in ("losses/policy_loss", "losses/value_loss", "losses/entropy", "losses/approx_kl", "losses/explained_variance"):
        assert fast_logs[name] == pytest.approx(slow_logs[name], rel=1e-2, abs=1e-3), name


def test_gradients_of_frozen_parameters_stay_none(both: Any) -> None:
    fast, _ = both()
    frozen = fast.policy.body[0].weight.requires_grad_(False)
    before = frozen.clone()
    train(fast)
    assert torch.equal(frozen, before) and frozen.grad is None


def test_what_the_kernels_cannot_run_is_torchs(scripted: Any) -> None:
    vec, _ = scripted(4)
    spaces_of_env = vec.single_observation_space, vec.single_action_space

    class Own(type(build_policy("mlp", *spaces_of_env))):  # type: ignore[misc]
        """A subclass may do anything in its forward."""

    hooked = build_policy("mlp", *spaces_of_env)
    hooked.body[1].register_forward_hook(lambda module, inputs, output: None)
    changed = build_policy("mlp", *spaces_of_env)
    changed.body[1] = torch.nn.Tanh()
    for policy in (
        Own(*spaces_of_env),
        hooked,
        changed,
        build_policy("gru", *spaces_of_env),
        build_policy("lstm", *spaces_of_env, hidden_size=20),
    ):
        assert PuffeRL(env=vec, policy=policy, batch_size=4 * 16).native is None
    vec.close()


def test_a_policy_that_changes_its_shape_is_refused(both: Any) -> None:
    fast, _ = both()
    fast.evaluate()
    fast.policy.body[0].weight.data = torch.zeros(2, 2)
    with pytest.raises(ShapeError, match=r"float32\[128, 3\]"):
        fast.train()
    fast.close()


@pytest.mark.parametrize("change", ["data", "in place", "new memory", "statistics"])
def test_weights_that_a_callback_changes_are_the_ones_that_act(both: Any, change: str) -> None:
    fast, slow = both()
    for trainer in (fast, slow):
        trainer.evaluate()
        trainer.train()
        weight = trainer.policy.body[0].weight
        with torch.no_grad():
            if change == "data":
                weight.data.mul_(1.5)
            elif change == "in place":
                weight.mul_(1.5)
            elif change == "new memory":
                weight.data = weight.data * 1.5
            else:
                trainer.policy.body[0].variance.mul_(4)
        trainer.evaluate()
    torch.testing.assert_close(fast.rollout.values[0], slow.rollout.values[0], atol=1e-4, rtol=1e-4)
    fast.close()
    slow.close()
