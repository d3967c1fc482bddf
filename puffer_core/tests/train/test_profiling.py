"""Profiles: every part is seen, the parts add up, training goes on unchanged, the trace can be opened."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pufferlib.cli.main import main
from pufferlib.train.floor import BareLoop
from pufferlib.train.profiling import PARTS, Stopwatch, profile, seams
from pufferlib.train.puffe_rl import PuffeRL


@pytest.fixture
def trainer(scripted: Any, small_policy: Any) -> Any:
    """make(name="mlp", **settings) -> a PuffeRL whose minibatches are learnt by torch."""
    made = []

    def make(name: str = "mlp", **settings: Any) -> PuffeRL:
        vec, _ = scripted(8, end="truncation")
        defaults = {"horizon": 8, "minibatch_size": 16, "device": "cpu", "learner": "torch", "update_epochs": 2}
        made.append(PuffeRL(env=vec, policy=small_policy(vec, name), **{**defaults, **settings}))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("name", ["mlp", "lstm"])
def test_every_part_takes_time_and_all_add_up(trainer: Any, name: str, tmp_path: Any) -> None:
    report = profile(trainer(name), tmp_path / "trace.json", iterations=3, warmup=1)
    unseen = {part for part, spent in report.parts.items() if not spent}
    assert list(report.parts) == list(PARTS) and unseen == {"kernel"}
    assert report.steps == 64 and report.wall > 0 and report.floor > 0
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    named = {event["name"].removeprefix("pufferlib: ") for event in events if event.get("name", "").startswith("pufferlib: ")}
    assert named == set(PARTS) - {"kernel", "other"}


def test_kernels_are_a_part_of_their_own(trainer: Any, tmp_path: Any) -> None:
    one = trainer(learner="auto")
    if one.native is None:
        pytest.skip("this machine has no kernels for the policy")
    parts = profile(one, tmp_path / "trace.json", iterations=1, warmup=0).parts
    assert parts["kernel"] > 0 and not parts["backward"] and not parts["learn forward"]


def test_a_part_inside_another_counts_for_itself_alone(monkeypatch: Any) -> None:
    now = 0.0
    monkeypatch.setattr("pufferlib.train.profiling.time", SimpleNamespace(perf_counter=lambda: now))

    def spend(seconds: float) -> None:
        nonlocal now
        now += seconds

    def work() -> None:
        with watch.part("env"):
            spend(1.0)
            with watch.part("sample"):
                spend(5.0)
            spend(2.0)
        spend(4.0)

    watch = Stopwatch(torch.device("cpu"))
    parts = watch.measure(work)
    assert {part: spent for part, spent in parts.items() if spent} == {"env": 3.0, "sample": 5.0, "other": 4.0}


def test_profiling_changes_nothing_that_is_learnt_and_leaves_nothing_behind(trainer: Any, tmp_path: Any) -> None:
    profiled, plain = trainer(), trainer()
    before = {(id(owner), name): getattr(owner, name) for _, owner, name in seams(profiled)}
    profile(profiled, tmp_path / "trace.json", iterations=1, warmup=1, traced=1)
    assert {(id(owner), name): getattr(owner, name) for _, owner, name in seams(profiled)} == before
    while plain.global_step < profiled.global_step:
        plain.evaluate()
        plain.train()
    assert plain.epoch == 4
    for ours, theirs in zip(profiled.policy.parameters(), plain.policy.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


@pytest.mark.parametrize("name", ["mlp", "lstm"])
def test_the_floor_does_as_many_forwards_and_steps_as_training(trainer: Any, name: str) -> None:
    one = trainer(name, update_epochs=3)
    counted = {"rows": 0, "steps": 0}
    loop = BareLoop(one.policy, torch.rand(8, 8, 3), 16, update_epochs=3)
    body = one.policy.body[0]
    body.register_forward_hook(lambda module, inputs, output: counted.update(rows=counted["rows"] + len(output)))
    loop.optimizer.register_step_post_hook(lambda *args: counted.update(steps=counted["steps"] + 1))
    loop.run()
    assert counted == {"rows": 64 + 3 * 64, "steps": 3 * 4}


def test_the_command_prints_the_table_the_floor_and_the_trace(tmp_path: Any, capsys: Any, monkeypatch: Any) -> None:
    pytest.importorskip("pufferlib_ocean", reason="the ocean package is not installed")
    monkeypatch.chdir(tmp_path)
    small = ["--vec.num-envs", "8", "--vec.backend", "serial", "--train.horizon", "8", "--train.device", "cpu"]
    assert main(["profile", "ocean-squared", *small, "--iterations", "1"]) == 0
    shown = capsys.readouterr().out
    for text in ("8 rows x 8 steps", "env", "optimizer", "100.0%", "floor", "ratio", "profile-ocean-squared.json"):
        assert text in shown
    assert json.loads((tmp_path / "profile-ocean-squared.json").read_text())["traceEvents"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "which environment"),
        (["ocean-sqared"], "ocean-squared"),
        (["ocean-squared", "--iterations", "0"], "--iterations"),
        (["ocean-squared", "--out", "no/such/t.json"], "no folder no/such"),
        (["ocean-squared", "--train.horizn", "8"], "--train.horizon"),
    ],
)
def test_wrong_requests_exit_2_and_say_what_is_wrong(capsys: Any, arguments: list[str], words: str) -> None:
    assert main(["profile", *arguments]) == 2
    assert words in capsys.readouterr().err
