"""`puffer export` on a run made here."""

from __future__ import annotations

import json

import pytest
import torch

import pufferlib
from pufferlib.cli.main import main

pytest.importorskip("pufferlib_ocean", reason="the ocean package is not installed")


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    """A short run of an LSTM on ocean-memory."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    settings = {
        "policy.name": "lstm", "policy.hidden-size": 16, "vec.num-envs": 8, "vec.backend": "serial", "train.horizon": 8,
        "train.total-timesteps": 128, "train.checkpoint-interval": 1, "train.device": "cpu",
    }  # fmt: skip
    flags = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    assert main(["train", "ocean-memory", "--run-dir", str(folder), *flags]) == 0
    return folder


def test_a_run_is_exported_and_the_difference_is_printed(run_dir, tmp_path, capsys):
    assert main(["export", str(run_dir), "--out", str(tmp_path / "memory.torchscript")]) == 0
    shown = capsys.readouterr().out
    for text in (
        "lstm of ocean-memory, checkpoint 128.pt", "observations float32 [rows, 2], state_0 float32 [rows, 16]",
        "logits float32 [rows, 2], value float32 [rows]", "largest difference ", "memory.torchscript, ",
    ):  # fmt: skip
        assert text in shown
    policy, module = pufferlib.load_policy(run_dir), torch.jit.load(tmp_path / "memory.torchscript")
    observations, state = torch.ones(3, 2), policy.initial_state(3)
    torch.testing.assert_close(module(observations, *state)[0], policy(observations, state)[0])


def test_a_chosen_checkpoint_goes_beside_the_run_where_no_place_is_named(run_dir, capsys):
    assert main(["export", str(run_dir), "--format", "flat", "--checkpoint", "64.pt"]) == 0
    assert "checkpoint 64.pt" in capsys.readouterr().out
    record = json.loads((run_dir / "policy" / "policy.json").read_text())
    assert record["env"] == "ocean-memory"
    assert record["state"]["size"] == 32
    assert (run_dir / "policy" / "weights.bin").stat().st_size == 4 * record["weights"]["count"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "puffer export RUN"),
        (["none"], "no such run directory"),
        (["RUN", "--format", "keras"], "onnx, torchscript, pt2, flat"),
        (["RUN", "--out", "policy.bin"], "which --format?"),
        (["RUN", "--out", "no/such/p.onnx"], "no folder no/such"),
        (["RUN", "--checkpoint", "7.pt"], "no checkpoint '7.pt'"),
        (["RUN", "--formats", "onnx"], "--format"),
        (["RUN", "more"], "'more'"),
    ],
)
def test_wrong_requests_exit_2_and_say_what_is_wrong(run_dir, capsys, arguments, words):
    assert main(["export", *(str(run_dir) if word == "RUN" else word for word in arguments)]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert shown.out == ""
