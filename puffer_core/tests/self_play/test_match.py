"""Matches: seats are fair, results are right and reproducible, and `puffer match` says what it cannot do."""

from __future__ import annotations

import numpy as np
import pytest

from pufferlib.cli.main import main
from pufferlib.errors import ConfigError
from pufferlib.self_play import play_match


def leftmost(observations, action_masks):
    return np.argmax(action_masks, axis=1)


def rightmost(observations, action_masks):
    return 6 - np.argmax(action_masks[:, ::-1], axis=1)


@pytest.mark.parametrize("games", [2, 6, 8, 130])
def test_a_sits_on_both_sides_as_often(games):
    result = play_match("ocean-connect4", "random", "random", games=games)
    assert result.total.games == games
    assert abs(result.by_side[0].games - result.by_side[1].games) <= 2
    assert result.by_side[0].wins + result.by_side[1].wins == result.total.wins


def test_every_world_lets_each_side_begin_in_half_of_its_games():
    """Whoever begins wins here: both fill their own column, so a fair match is a draw in all."""
    result = play_match("ocean-connect4", leftmost, rightmost, games=64)
    assert (result.total.wins, result.total.draws, result.total.losses) == (32, 0, 32)
    assert [tally.score for tally in result.by_side] == [0.5, 0.5]


def test_the_same_seed_gives_the_same_match_and_another_seed_another():
    def line(seed):
        result = play_match("ocean-connect4", "random", "random", games=40, seed=seed)
        return [(tally.wins, tally.draws, tally.losses) for tally in (result.total, *result.by_side)]

    assert line(3) == line(3)
    assert len({str(line(seed)) for seed in range(6)}) > 1


def test_the_better_side_is_told_from_the_worse():
    def follow(observations, action_masks):
        return np.where(observations[:, 3] < observations[:, 0], 1, 2)

    for a, b, score in ((follow, "random", 1.0), ("random", follow, 0.0)):
        result = play_match("ocean-pong", a, b, games=12, env_kwargs={"points": 2})
        assert result.score == score
    low, high = play_match("ocean-pong", follow, "random", games=12, env_kwargs={"points": 2}).elo_difference[1:]
    assert 0 < low < high == np.inf


def test_the_games_own_bot_as_the_second_side():
    result = play_match("ocean-connect4", "random", "bot", games=60)
    assert result.score < 0.2
    assert result.by_side[1].games == 0
    assert 0.3 < play_match("ocean-connect4", "random", "bot", games=200, env_kwargs={"bot_epsilon": 1.0}).score < 0.7


def test_what_cannot_be_played_is_refused():
    for a, b, games, env, words in (
        ("random", "random", 3, "ocean-connect4", "games .* must be an even number.* got 3"),
        ("bot", "random", 4, "ocean-connect4", "can only be the second"),
        ("random", "random", 4, "ocean-squared", "opponent='self'"),
        ("random", 7, 4, "ocean-connect4", "a side must be a policy, a function, 'random' or 'bot', got 7"),
    ):
        with pytest.raises(ConfigError, match=words):
            play_match(env, a, b, games=games)


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    path = tmp_path_factory.mktemp("match") / "run"
    settings = {
        "run-dir": str(path), "env.opponent": "self", "self-play.enabled": "True", "self-play.snapshot-interval": "2",
        "vec.num-envs": "8", "train.horizon": "8", "train.minibatch-size": "64", "train.total-timesteps": "512",
        "train.device": "cpu", "train.learner": "torch", "policy.hidden-size": "8",
    }  # fmt: skip
    assert main(["train", "ocean-connect4", *(word for name, value in settings.items() for word in (f"--{name}", value))]) == 0
    return path


def test_the_command_plays_runs_checkpoints_snapshots_bots_and_scripts(run_dir, tmp_path, monkeypatch, capsys):
    snapshot = sorted((run_dir / "snapshots").iterdir())[0]
    (tmp_path / "my_script.py").write_text("def first(observations, action_masks):\n    return action_masks.argmax(axis=1)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    said = []
    for b in (run_dir, snapshot, "random", "bot", "my_script:first", run_dir):
        assert main(["match", str(run_dir), str(b), "--games", "8", "--seed", "5"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[-1], "reproducible"
    assert "ocean-connect4" in said[0]
    assert "A as side 1" in said[0]
    assert "A as side 1" not in said[3]
    assert "Elo A - B" in said[0]


def test_a_run_that_normalises_observations_plays_as_it_learnt(tmp_path, capsys):
    path = tmp_path / "run"
    settings = {
        "run-dir": str(path), "env.opponent": "self", "self-play.enabled": "True", "wrappers.normalize-observations": "True",
        "vec.num-envs": "8", "train.horizon": "8", "train.minibatch-size": "64", "train.total-timesteps": "256",
        "train.device": "cpu", "train.learner": "torch", "policy.hidden-size": "8",
    }  # fmt: skip
    assert main(["train", "ocean-connect4", *(word for name, value in settings.items() for word in (f"--{name}", value))]) == 0
    assert main(["match", str(path), str(path / "snapshots" / "0.pt"), "--games", "4"]) == 0
    assert "Elo A - B" in capsys.readouterr().out


def test_the_command_refuses_in_words(run_dir, tmp_path, capsys):
    for arguments, words in (
        ([], "who plays whom?"),
        ([str(run_dir)], "who plays whom?"),
        (["random", "bot"], "at least one side must be a run"),
        ([str(run_dir), str(tmp_path / "nothing")], "no such run directory or checkpoint"),
        ([str(run_dir), "random", "--games", "5"], "--games must be an even number"),
        ([str(run_dir), "no_such_module:play"], "cannot be imported"),
        ([str(run_dir), "random", "--gamez", "5"], "did you mean --games"),
        (["bot", str(run_dir)], "can only be the second"),
    ):
        assert main(["match", *arguments]) == 2
        assert words in capsys.readouterr().err
