"""`puffer eval`, on a run made here."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import pufferlib
from pufferlib.cli.main import main
from pufferlib.env import PufferEnv
from pufferlib.loading import find_checkpoint
from pufferlib.render.commands import Frame

pytest.importorskip("pufferlib_ocean", reason="the ocean package is not installed")


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    """A short run of an LSTM on ocean-memory, with two checkpoints."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    settings = {
        "policy.name": "lstm", "policy.hidden-size": 16, "vec.num-envs": 8, "vec.backend": "serial", "train.horizon": 8,
        "train.total-timesteps": 128, "train.checkpoint-interval": 1, "train.device": "cpu", "env.delay": 3,
    }  # fmt: skip
    flags = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    assert main(["train", "ocean-memory", "--run-dir", str(folder), *flags]) == 0
    assert len(list((folder / "checkpoints").iterdir())) >= 2
    return folder


@pytest.fixture
def run_dir(finished_run, tmp_path):
    """A copy that a test may damage."""
    shutil.copytree(finished_run, tmp_path / "run")
    return tmp_path / "run"


def rows_of(text):
    """The table's lines, as lists of words."""
    return [line.split() for line in text.splitlines()]


def test_a_run_is_evaluated_with_its_own_settings(run_dir, capsys):
    assert main(["eval", str(run_dir), "--episodes", "4", "--seed", "0"]) == 0
    table = rows_of(capsys.readouterr().out)
    assert table[0] == ["episode", "return", "length", "score"]
    assert [row[0] for row in table[1:]] == ["1", "2", "3", "4", "mean", "std", "min", "max"]
    assert {row[2] for row in table[1:5]} == {"4"}  # delay=3: the answer is the fourth step
    returns = [float(row[1]) for row in table[1:5]]
    assert float(table[5][1]) == pytest.approx(np.mean(returns), abs=1e-3)
    assert float(table[6][1]) == pytest.approx(np.std(returns), abs=1e-3)


def test_one_seed_prints_one_table_and_flags_override_the_run(run_dir, capsys):
    command = ["eval", str(run_dir), "--episodes", "6", "--seed", "5"]
    texts = []
    for extra in ([], [], ["--env.delay", "5"]):
        assert main([*command, *extra]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert {row[2] for row in rows_of(texts[2])[1:7]} == {"6"}


def test_a_checkpoint_file_and_an_env_with_a_policy_are_evaluated(run_dir, capsys):
    checkpoint = find_checkpoint(run_dir)
    assert main(["eval", str(checkpoint), "--episodes", "1", "--deterministic"]) == 0
    assert main(["eval", "ocean-memory", "--policy", str(run_dir), "--episodes", "1"]) == 0
    assert main(["eval", str(run_dir), "--policy", "random", "--episodes", "1", "--num-envs", "3"]) == 0
    assert main(["eval", "ocean-bandit", "--episodes", "3"]) == 0
    assert "score" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["out.mp4", "out.gif"])
def test_a_video_holds_a_frame_for_each_step_of_the_first_world(run_dir, tmp_path, capsys, name):
    imageio = pytest.importorskip("imageio.v2")
    path = tmp_path / name
    assert main(["eval", str(run_dir), "--episodes", "3", "--num-envs", "2", "--video", str(path), "--fps", "10"]) == 0
    assert f"{path}: 8 frames" in capsys.readouterr().out  # world 0 plays two episodes of 4 steps
    frames = [frame for frame in imageio.get_reader(path)]  # noqa: C416  list() would ask for a length it does not know
    assert len(frames) >= 2  # a GIF merges equal ones
    assert frames[0].shape[:2] == (480, 640)


class Walk(PufferEnv):
    """An env of a user's own, whose constructor knows no render_mode."""

    def __init__(self, buf=None, length=5):
        super().__init__(buf)
        self.length = length
        self.observation_space = self.make_space((1,))
        self.action_space = self.make_discrete(2)

    def reset(self, seed=None):
        self.time = 0
        return np.zeros(1, np.float32)

    def step(self, action):
        self.time += 1
        return np.zeros(1, np.float32), 1.0, self.time == self.length, {}

    def render(self):
        frame = Frame(64, 48)
        frame.rect(4 * self.time, 0, 4, 48, 0xFFFFFFFF)
        return frame.rgb()


@pytest.fixture(scope="module")
def own_env():
    """Registers Walk; gives its name."""
    pufferlib.register("test-walk", Walk)
    return "test-walk"


def test_an_env_of_ones_own_is_recorded(own_env, tmp_path, capsys):
    pytest.importorskip("imageio")
    assert main(["eval", own_env, "--episodes", "2", "--video", str(tmp_path / "walk.mp4")]) == 0
    assert "10 frames" in capsys.readouterr().out


def test_an_endless_env_is_cut_and_the_output_says_so(own_env, capsys):
    assert main(["eval", own_env, "--env.length", "0", "--num-envs", "2", "--episodes", "5", "--max-steps", "1500"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:3]] == [["1", "1500", "1500", "cut"], ["2", "1500", "1500", "cut"]]
    assert lines[-2:] == [
        "cut     2 episodes were cut after 1,500 steps (--max-steps): return and length are so far",
        "missing 3 of 5 episodes were not played: only the end of an episode begins another",
    ]
    assert main(["eval", own_env, "--episodes", "2", "--max-steps", "6"]) == 0
    shown = capsys.readouterr().out
    assert "cut" not in shown and "missing" not in shown


def test_an_endless_env_has_a_limit_without_a_flag(own_env, capsys, monkeypatch):
    monkeypatch.setattr("pufferlib.cli.eval.MAX_STEPS", 70)
    assert main(["eval", own_env, "--env.length", "0"]) == 0
    assert rows_of(capsys.readouterr().out)[1] == ["1", "70", "70", "cut"]


def test_a_score_is_told_of_the_episodes_that_ended(capsys):
    from pufferlib.cli.eval import print_table
    from pufferlib.eval import Episode

    print_table([Episode(0, 3.0, 3, 0.5), Episode(1, 9.0, 9, None, is_cut=True)])
    table = rows_of(capsys.readouterr().out)
    assert table[1:4] == [["1", "3", "3", "0.500"], ["2", "9", "9", "-", "cut"], ["mean", "6", "6", "0.500"]]
    print_table([])
    assert rows_of(capsys.readouterr().out)[0] == ["episode"], "no agent was ever there"


def test_a_video_of_an_endless_env_ends(own_env, tmp_path, capsys):
    pytest.importorskip("imageio")
    flags = ["--episodes", "2", "--max-steps", "12", "--video", str(tmp_path / "walk.gif")]
    assert main(["eval", own_env, "--env.length", "0", *flags]) == 0
    assert "12 frames" in capsys.readouterr().out


def test_an_env_without_frames_says_so(tmp_path, capsys):
    assert main(["eval", "ocean-performance_py", "--episodes", "1", "--video", str(tmp_path / "a.mp4")]) == 1
    assert "no frames" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "RUN_OR_ENV"),
        (["ocean-memry"], "ocean-memory"),
        (["runs/none"], "no such run directory"),
        (["ocean-memory", "--episodes", "0"], "--episodes"),
        (["ocean-memory", "--episodes", "many"], "--episodes"),
        (["ocean-memory", "--episode", "3"], "--episodes"),
        (["ocean-memory", "--render", "humn"], "human"),
        (["ocean-memory", "--video", "a.avi"], ".mp4"),
        (["ocean-memory", "--video", "no/such/a.mp4"], "no/such"),
        (["ocean-memory", "--policy", "no/such"], "no/such"),
        (["ocean-memory", "--render", "human", "--num-envs", "2"], "--num-envs 2"),
        (["ocean-memory", "--max-steps", "0"], "--max-steps"),
        (["ocean-memory", "--render", "human", "--max-steps", "9"], "--max-steps"),
        (["ocean-memory", "--render", "human", "--video", "a.mp4"], "--video"),
        (["ocean-memory", "--env.delai", "3"], "--env.delay"),
        (["ocean-memory", "--env.delay", "1000"], "delay"),
        (["ocean-memory", "ocean-pong"], "ocean-pong"),
        (["ocean-memory", "--seed"], "--seed"),
    ],
)
def test_wrong_requests_exit_2_and_say_what_is_wrong(capsys, arguments, words):
    assert main(["eval", *arguments]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert shown.out == ""


def test_a_policy_of_another_env_is_refused(run_dir, capsys):
    assert main(["eval", "ocean-pong", "--policy", str(run_dir)]) == 2
    assert "(2,)" in capsys.readouterr().err


def test_help_names_every_flag(capsys):
    from pufferlib.cli.eval import SETTINGS

    assert main(["eval", "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"--{key.replace('_', '-')} " in shown for key in SETTINGS)
