"""bfloat16, torch.compile and checks that do not wait for the device, on a CPU with the code that a GPU runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from pufferlib.errors import ConfigError, NonFiniteError
from pufferlib.policies.layers import InputLinear
from pufferlib.train.puffe_rl import PuffeRL


@pytest.fixture
def make(scripted: Any, small_policy: Any) -> Any:
    """make(**settings) -> a trainer of 8 rows and 6 steps that learns by torch; with `box`, of continuous actions."""

    def build(box: bool = False, name: str = "mlp", **settings: Any) -> PuffeRL:
        vec, _ = scripted(8, lengths=(3, 4, 5), action_space=spaces.Box(-1, 1, (2,), np.float32) if box else None)
        chosen = {"horizon": 6, "minibatch_size": 18, "learning_rate": 0.01, "learner": "torch", "seed": 1, **settings}
        return PuffeRL(env=vec, policy=small_policy(vec, name), device="cpu", **chosen)

    return build


def rollouts(trainer: PuffeRL, number: int) -> dict[str, torch.Tensor]:
    for _ in range(number):
        trainer.evaluate()
        trainer.train()
    return trainer.policy.state_dict()


def check_close(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor], tolerance: float) -> None:
    for name, value in ours.items():
        torch.testing.assert_close(value, theirs[name], atol=tolerance, rtol=tolerance, msg=name)


@pytest.mark.parametrize("name", ["mlp", "lstm", "mingru"])
def test_bfloat16_is_of_products_alone(make: Any, name: str) -> None:
    trainer = make(name=name, precision="bfloat16", box=name == "mlp")
    made: list[torch.dtype] = []
    trainer.policy.heads.linear.register_forward_hook(lambda module, inputs, output: made.append(output.dtype))
    plain = make(name=name, box=name == "mlp")
    plain.evaluate()
    trainer.evaluate()
    apart = (trainer.rollout.values[0] - plain.rollout.values[0]).abs().max()
    assert 0 < apart < 0.03, "the same weights and observations; later ones differ, as actions do"
    trainer.train()
    after = rollouts(trainer, 1)
    assert set(made) == {torch.bfloat16}
    assert {value.dtype for value in after.values()} == {torch.float32}
    assert {p.grad.dtype for p in trainer.policy.parameters() if p.grad is not None} == {torch.float32}
    assert {t.dtype for part in trainer.optimizer.parts for s in part.state.values() for t in s.values()} == {torch.float32}


def test_inputs_far_from_zero_are_standardised_before_they_are_cut_to_16_bits() -> None:
    generator = torch.Generator().manual_seed(1)
    layer = InputLinear(3, 5, floor=1e-6)
    inputs = 1000 + 0.05 * torch.randn(400, 3, generator=generator)
    layer.update(inputs)
    exact = layer(inputs)
    with torch.autocast("cpu", torch.bfloat16):
        rough = layer(inputs)
    assert rough.dtype == torch.bfloat16
    assert (rough.float() - exact).abs().max() < 0.03 * exact.abs().max()


def test_compiled_training_learns_the_same_and_tells_what_compiling_took(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch._inductor.config.compile_threads", 1)  # other processes would have to import torch first
    compiled, plain = make(box=True, compile=True), make(box=True)
    check_close(rollouts(compiled, 2), rollouts(plain, 2), 1e-4)
    seconds = compiled.mean_and_log()["time/compile"]
    assert seconds > 0 and "time/compile" not in plain.mean_and_log()
    rollouts(compiled, 1)
    assert "time/compile" not in compiled.mean_and_log(), "minibatches of 18, 18 and 12: the last one is never compiled"


def test_a_network_that_cannot_be_compiled_is_refused_with_the_setting(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> None:
        raise torch._dynamo.exc.InternalTorchDynamoError("no C++ compiler found\nmore")

    monkeypatch.setattr(torch, "compile", lambda function, **options: refuse)
    with pytest.raises(ConfigError, match=r"compile \(--train.compile\).* no C\+\+ compiler found$"):
        make(compile=True).evaluate()


@pytest.mark.parametrize("nonfinite", ["raise", "skip"])
def test_updates_that_a_gpu_leaves_out_by_itself_change_no_weight(make: Any, nonfinite: str) -> None:
    """The fifth update has an infinite gradient. Late: the optimizer's kernel is told by a tensor, and nobody looks at it."""
    results = []
    for late in (False, True):
        trainer = make(nonfinite=nonfinite)
        trainer.optimizer.on_gpu = late
        assert trainer.optimizer.skips_on_device is late
        seen: list[Any] = []

        def spoil(gradient: Any, seen: list[Any] = seen) -> Any:
            seen.append(None)
            return gradient * (np.inf if len(seen) == 5 else 1.0)

        trainer.policy.heads.linear.weight.register_hook(spoil)
        rollouts(trainer, 1)
        if nonfinite == "raise":
            with pytest.raises(NonFiniteError):
                rollouts(trainer, 1)
            before = trainer.policy.state_dict()
        else:
            before = rollouts(trainer, 2)
            assert trainer.mean_and_log()["losses/skipped_updates"] == 1
            assert trainer.mean_and_log().get("losses/policy_loss") is None
        assert all(torch.isfinite(value).all() for value in before.values())
        steps = {float(state["step"]) for part in trainer.optimizer.parts for state in part.state.values()}
        results.append((before, steps))
    assert results[0][1] == results[1][1] == ({4.0} if nonfinite == "raise" else {8.0})
    check_close(results[0][0], results[1][0], 0.0)


def test_losses_are_means_over_the_updates_that_were_made(make: Any) -> None:
    """Late or at once, the row is the same."""
    rows = []
    for late in (False, True):
        trainer = make()
        trainer.optimizer.on_gpu = late
        rollouts(trainer, 2)
        rows.append({k: v for k, v in trainer.mean_and_log().items() if k.startswith("losses/")})
    assert rows[0] == pytest.approx(rows[1])
