"""Checkpoints: what goes on, what is refused, and what happens to broken files."""

from __future__ import annotations

import os
import stat
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from pufferlib.errors import CheckpointError
from pufferlib.loading import load_policy
from pufferlib.train.checkpoint import DamagedCheckpointError, latest_checkpoint
from pufferlib.train.puffe_rl import PuffeRL


@pytest.fixture
def fresh(scripted: Any, small_policy: Any) -> Any:
    """make(name="mlp", env settings, **trainer settings) -> a PuffeRL of 10 rollouts of 100 steps."""
    made = []

    def make(name: str = "mlp", env: Any = None, hidden_size: int = 16, **settings: Any) -> PuffeRL:
        vec, _ = scripted(10, **{"lengths": (10,), **(env or {})})
        policy = small_policy(vec, name, hidden_size=hidden_size)
        defaults = {"batch_size": 100, "minibatch_size": 40, "total_timesteps": 1000, "learning_rate": 1e-3}
        made.append(PuffeRL(env=vec, policy=policy, device="cpu", anneal_schedule="linear", **{**defaults, **settings}))
        return made[-1]

    yield make
    for trainer in made:
        trainer.close()


def go(trainer: PuffeRL, rollouts: int) -> None:
    for _ in range(rollouts):
        trainer.evaluate()
        trainer.train()


@pytest.mark.parametrize(("name", "optimizer"), [("mlp", "adam"), ("mlp", "muon"), ("lstm", "adam")])
def test_a_run_stopped_at_400_of_1000_steps_goes_on_where_it_was(fresh: Any, tmp_path: Any, name: str, optimizer: str) -> None:
    """Episodes have the rollout's length here, so that resetting the envs at the resume changes nothing."""
    size = {"optimizer": optimizer, "minibatch_size": 50}
    whole, part, rest = fresh(name, **size), fresh(name, **size), fresh(name, seed=99, **size)
    go(whole, 10)
    go(part, 4)
    part.save_checkpoint(tmp_path / "400.pt")
    rest.load_checkpoint(tmp_path / "400.pt")
    assert rest.global_step == 400 and rest.epoch == 4 and rest.learning_rate == pytest.approx(6e-4)
    assert [logs["global_step"] for logs in rest] == [500, 600, 700, 800, 900, 1000]
    assert rest.learning_rate == 0.0
    for ours, theirs in zip(rest.policy.parameters(), whole.policy.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)
    last = rest.optimizer.parts[-1].state_dict()["state"]
    assert {int(entry["step"]) for entry in last.values()} == {20}, "two updates a rollout, ten rollouts"


def test_the_file_holds_only_plain_data_and_says_what_it_is(fresh: Any, tmp_path: Any) -> None:
    trainer = fresh()
    go(trainer, 2)
    trainer.learning_rate = 4e-4
    trainer.save_checkpoint(tmp_path / "deep" / "200.pt")
    content = torch.load(tmp_path / "deep" / "200.pt", weights_only=True)
    assert content["config"]["learning_rate"] == 1e-3 and content["global_step"] == 200 and content["versions"]["torch"]
    other = fresh()
    other.load_checkpoint(tmp_path / "deep" / "200.pt")
    assert other.learning_rate == pytest.approx(4e-4)
    assert os.listdir(tmp_path / "deep") == ["200.pt"], "no temporary file is left"
    assert stat.S_IMODE(os.stat(tmp_path / "deep" / "200.pt").st_mode) & stat.S_IRUSR


def test_random_generators_go_on_from_their_states(fresh: Any, tmp_path: Any) -> None:
    trainer = fresh()
    go(trainer, 1)
    trainer.save_checkpoint(tmp_path / "1.pt")
    expected = torch.rand(3, generator=trainer.generator), torch.rand(3), np.random.random(3)
    other = fresh(seed=5)
    other.load_checkpoint(tmp_path / "1.pt")
    found = torch.rand(3, generator=other.generator), torch.rand(3), np.random.random(3)
    assert all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))


def test_resuming_resets_the_envs_with_a_seed_of_their_own(scripted: Any, small_policy: Any, tmp_path: Any) -> None:
    seeds = []
    for rollouts in (1, 2):
        vec, _ = scripted(10)
        trainer = PuffeRL(env=vec, policy=small_policy(vec), batch_size=100, seed=7)
        go(trainer, rollouts)
        trainer.save_checkpoint(tmp_path / "x.pt")
        trainer.close()
        again, built = scripted(10)
        resumed = PuffeRL(env=again, policy=small_policy(again), batch_size=100, seed=7)
        resumed.load_checkpoint(tmp_path / "x.pt")
        go(resumed, 1)
        seeds.append(built[0].seeds[0])
        resumed.close()
    fresh_vec, built = scripted(10)
    PuffeRL(env=fresh_vec, policy=small_policy(fresh_vec), batch_size=100, seed=7).evaluate()
    assert seeds[0] != seeds[1] and built[0].seeds[0] not in seeds
    fresh_vec.close()


def refuses(trainer: PuffeRL, path: Any, words: str) -> None:
    before = [p.detach().clone() for p in trainer.policy.parameters()]
    with pytest.raises(CheckpointError, match=words):
        trainer.load_checkpoint(path)
    assert all(torch.equal(a, b) for a, b in zip(before, trainer.policy.parameters(), strict=True)) and trainer.global_step == 0


def test_another_network_space_name_or_optimizer_is_refused_before_weights_are_touched(fresh: Any, tmp_path: Any) -> None:
    path = tmp_path / "1.pt"
    trainer = fresh()
    trainer.env.name = "ocean-breakout"
    go(trainer, 1)
    trainer.save_checkpoint(path)
    refuses(fresh(hidden_size=32), path, r"\(16, 3\).*\(32, 3\)")
    refuses(fresh("lstm"), path, "core.*nothing")
    refuses(fresh(env={"action_space": spaces.Discrete(5)}), path, r"action space Discrete\(2\).*Discrete\(5\)")
    renamed = fresh()
    renamed.env.name = "ocean-pong"
    refuses(renamed, path, "ocean-breakout.*ocean-pong")
    refuses(fresh(optimizer="muon"), path, "adam.*muon")
    refuses(fresh(), tmp_path / "missing.pt", "missing")


@pytest.mark.parametrize("damage", ["half", "empty", "garbage", "other", "flipped"])
def test_a_damaged_file_is_refused_and_passed_over(fresh: Any, tmp_path: Any, caplog: Any, damage: str) -> None:
    trainer = fresh()
    go(trainer, 1)
    for name in ("100.pt", "1000.pt"):
        trainer.save_checkpoint(tmp_path / name)
    newest = tmp_path / "1000.pt"
    whole = newest.read_bytes()
    middle = len(whole) // 2
    content = {
        "half": whole[:middle], "empty": b"", "garbage": b"not a checkpoint" * 99, "other": b"",
        "flipped": whole[:middle] + bytes(byte ^ 0xFF for byte in whole[middle : middle + 64]) + whole[middle + 64 :],
    }[damage]  # fmt: skip
    newest.write_bytes(content)
    if damage == "other":
        torch.save({"weights": torch.zeros(2)}, newest)
    with pytest.raises(DamagedCheckpointError, match=r"1000\.pt"):
        fresh().load_checkpoint(newest)
    assert latest_checkpoint(tmp_path) == tmp_path / "100.pt"
    assert "1000.pt" in caplog.text


def test_without_checkpoints_there_is_no_latest_one(tmp_path: Any) -> None:
    (tmp_path / "notes.pt").write_bytes(b"")
    assert latest_checkpoint(tmp_path) is None


def test_a_failed_write_leaves_the_old_file(fresh: Any, tmp_path: Any, monkeypatch: Any) -> None:
    trainer = fresh()
    trainer.save_checkpoint(tmp_path / "1.pt")
    before = (tmp_path / "1.pt").read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CheckpointError, match="No space left"):
        trainer.save_checkpoint(tmp_path / "1.pt")
    assert (tmp_path / "1.pt").read_bytes() == before and os.listdir(tmp_path) == ["1.pt"]


def test_a_policy_can_be_rebuilt_from_its_checkpoint(fresh: Any, tmp_path: Any) -> None:
    trainer = fresh("mingru", minibatch_size=50)
    go(trainer, 1)
    trainer.save_checkpoint(tmp_path / "1.pt")
    policy = load_policy(tmp_path / "1.pt", env=trainer.env)
    observations = torch.randn(5, 3)
    state = policy.initial_state(5)  # type: ignore[operator]
    torch.testing.assert_close(policy(observations, state), trainer.policy(observations, state))
    with pytest.raises(CheckpointError, match="action_space"):
        load_policy(tmp_path / "1.pt", env=fresh(env={"action_space": spaces.Discrete(9)}).env)
