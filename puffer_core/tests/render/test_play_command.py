"""`puffer play`, with a scripted window in place of a real one."""

from __future__ import annotations

import numpy as np
import pytest

from pufferlib.cli.main import main
from pufferlib.render import play as player
from pufferlib.render.window import Input

pytest.importorskip("pufferlib_ocean", reason="the ocean package is not installed")


@pytest.fixture
def play(monkeypatch, capsys):
    """play(words, inputs) -> (exit code, what was printed, what was said, every help text); then the window closes."""

    def play(words, inputs):
        helps, given = [], list(inputs)

        class Scripted:
            def __init__(self, width, height, title):
                assert (width, height) == (640, 480) and title.endswith(" - pufferlib")

            def __enter__(self):
                return self

            def __exit__(self, *exc):
                helps.append("closed")

            def show(self, picture, help_line):
                helps.append(help_line)

            def poll(self):
                return given.pop(0) if given else Input(closed=True)

        clock = iter(np.arange(0, 1e6, 1 / 60))
        monkeypatch.setattr(player, "Window", Scripted)
        monkeypatch.setattr("pufferlib.render.play.time.monotonic", lambda: float(next(clock)))
        code = main(["play", *words])
        said = capsys.readouterr()
        return code, said.out, said.err, helps

    return play


def press(*names, down=()):
    return Input(down=list(down), pressed=list(names))


def test_without_a_policy_the_user_plays_and_sees_what_is_reached(play):
    held = press("right", down=["right"])
    code, out, _, helps = play(["ocean-squared", "--seed", "0", "--fps", "960", "--env.max-steps", "3"], [held] * 3)
    assert code == 0 and helps[-1] == "closed"
    assert helps[0].startswith("you play  return 0  step 0  960 steps/s\narrows, WASD: play")
    assert "last score 0" in helps[-2], "three steps to the right are not enough"
    assert [line.split()[2] for line in out.splitlines()[1:3]] == ["3", "3"]


def test_a_policy_is_taken_over_from_stepped_by_hand_and_handed_back_to(play):
    inputs = [Input(), press("p"), press("n"), press("n"), press("left", down=["left"]), press("enter"), press("r")]
    code, _, err, helps = play(["ocean-squared", "--policy", "random", "--fps", "60", "--env.max-steps", "0"], inputs)
    assert code == 0 and "no episode was finished" in err
    firsts = [text.split("\n")[0] for text in helps[:-1]]
    assert all(("paused" in text) == (i >= 2) for i, text in enumerate(firsts))
    steps = [int(text.split("step ")[1].split()[0]) for text in firsts]
    assert steps[2] + 2 == steps[4] == steps[6] and steps[7] == 0
    assert [text.split("  ")[0] for text in firsts[4:7]] == ["the policy plays", "you play", "the policy plays"]


def test_a_run_is_played_by_its_own_policy(play, tmp_path):
    train = ["--train.total-timesteps", "64", "--vec.num-envs", "8", "--train.horizon", "8", "--train.minibatch-size", "32"]
    assert main(["train", "ocean-squared", "--run-dir", str(tmp_path / "run"), "--train.device", "cpu", *train]) == 0
    code, _, _, helps = play([str(tmp_path / "run")], [Input()])
    assert code == 0 and helps[0].startswith("the policy plays")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "`puffer play RUN_OR_ENV`"),
        (["ocean-pong", "--video", "x.mp4"], "`puffer eval` records"),
        (["ocean-pong", "--num-envs", "2"], "`puffer eval` plays several worlds"),
        (["ocean-pog"], "ocean-pong"),
        (["ocean-pong", "--polcy", "random"], "did you mean"),
    ],
)
def test_a_wrong_request_exits_2_with_what_would_work(play, words, said):
    code, _, err, _ = play(words, [])
    assert code == 2 and said in err
