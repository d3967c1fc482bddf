"""Callbacks: their order, their errors, what a checkpoint keeps of them; settings and envs that they change."""

from __future__ import annotations

import numpy as np
import pytest

import pufferlib
from pufferlib.cli.main import main
from pufferlib.errors import CallbackError, ConfigError, SpaceError
from pufferlib.policies import build_policy
from pufferlib.train.callbacks import Callback, load_callbacks


def trainer_on(env_name="ocean-squared", *, num_envs=8, **kwargs):
    env_kwargs = kwargs.pop("env_kwargs", {})
    env = pufferlib.make(env_name, num_envs=num_envs, seed=1, **env_kwargs)
    policy = build_policy("mlp", env.single_observation_space, env.single_action_space, hidden_size=8, seed=1)
    settings = {"horizon": 8, "minibatch_size": 32, "total_timesteps": 192, "device": "cpu", "learner": "torch", **kwargs}
    return pufferlib.PuffeRL(env, policy, **settings)


class Witness(Callback):
    """Writes down what it is told."""

    def __init__(self, name="", said=None):
        self.name, self.said, self.count = name, [] if said is None else said, 0

    def on_start(self, trainer):
        self.said.append(f"{self.name}start")

    def on_rollout(self, trainer):
        self.said.append(f"{self.name}rollout {trainer.global_step}")

    def on_update(self, trainer, losses):
        assert np.isfinite(float(losses.policy_loss))
        self.said.append(f"{self.name}update")

    def on_epoch(self, trainer):
        self.count += 1
        self.said.append(f"{self.name}epoch {trainer.epoch}")

    def on_log(self, trainer, row):
        row[f"witness/{self.name}count"] = self.count

    def on_end(self, trainer):
        self.said.append(f"{self.name}end")

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


def test_hooks_come_in_the_stated_order_of_every_callback_in_turn():
    said = []
    trainer = trainer_on(callbacks=[Witness("a ", said), Witness("b ", said)], total_timesteps=128)
    rows = list(trainer)
    trainer.close()
    trainer.close()
    one = ["rollout {}", "update", "update", "epoch {}"]
    expected = ["start", *(line.format(64 if "roll" in line else 1) for line in one)]
    expected += [*(line.format(128 if "roll" in line else 2) for line in one), "end"]
    assert said == [f"{who} {line}" for line in expected for who in ("a", "b")]
    assert [row["witness/a count"] for row in rows] == [1, 2]


@pytest.mark.parametrize("method", ["on_start", "on_rollout", "on_update", "on_epoch", "on_log"])
def test_an_error_ends_training_with_the_callbacks_name_and_the_line(method):
    class Breaks(Callback):
        pass

    def broken(self, *arguments):
        return {}["key"]

    setattr(Breaks, method, broken)
    trainer = trainer_on(callbacks=[Breaks()])
    with pytest.raises(CallbackError, match=rf"callback Breaks, {method}\(\): KeyError: 'key' \(test_callbacks.py:\d+\)"):
        trainer.fit()
    trainer.close()


def test_what_is_no_callback_is_refused():
    with pytest.raises(ConfigError, match=r"must be instances of pufferlib\.Callback, got <function"):
        trainer_on(callbacks=[lambda trainer: None])
    wrong = {
        "json": "not of the form module:Name",
        "json:nope": "no attribute",
        "json:loads": "cannot be made",
        "json:JSONDecoder": "must be a",
        "no_such_module:A": "No module",
    }
    for path, words in wrong.items():
        with pytest.raises(ConfigError, match=words):
            load_callbacks([path])


def test_stop_ends_training_after_the_iteration():
    class StopAtTwo(Callback):
        def on_rollout(self, trainer):
            if trainer.global_step == 128:
                trainer.stop()

    trainer = trainer_on(callbacks=[StopAtTwo()])
    assert trainer.fit()["epoch"] == 2
    trainer.close()


def test_a_checkpoint_holds_states_changed_settings_and_env_arguments(tmp_path):
    first = trainer_on("ocean-pong", callbacks=[Witness()])
    first.fit(128)
    first.set_settings(ent_coef=0.5)
    first.set_env_arguments(bot_speed=1.25)
    first.save_checkpoint(tmp_path / "a.pt")
    second = trainer_on("ocean-pong", callbacks=[Witness()])
    second.load_checkpoint(tmp_path / "a.pt")
    assert second.callbacks.all[0].count == 2
    assert second.config.ent_coef == 0.5
    assert second.env.changed_arguments == {"bot_speed": 1.25}
    second.fit(256)
    assert second.global_step == 256
    first.close(), second.close()


def test_a_checkpoint_without_a_callbacks_state_leaves_it_as_it_is(tmp_path, caplog):
    trainer_on().save_checkpoint(tmp_path / "a.pt")
    trainer = trainer_on(callbacks=[Witness()])
    trainer.load_checkpoint(tmp_path / "a.pt")
    assert "no state of callback 0/Witness" in caplog.text
    trainer.close()


def test_schedules_reach_the_losses_and_the_optimizer():
    seen, rates = [], []

    class Note(Callback):
        def on_update(self, trainer, losses):
            rates.append(trainer.optimizer.parts[0].param_groups[0]["lr"])
            seen.append((trainer.config.gamma, trainer.config.update_epochs))

    schedules = {"gamma": "linear 0.9 0.6", "update_epochs": "steps 0:1 0.5:2", "learning_rate": lambda p: 1e-3 * (1 + p)}
    trainer = trainer_on(callbacks=[Note()], schedules=schedules, minibatch_size=64)
    rows = list(trainer)
    assert [gamma for gamma, _ in seen] == pytest.approx([0.9, 0.8, 0.7, 0.7])  # one rollout of three, of its first step
    assert [epochs for _, epochs in seen] == [1, 1, 2, 2]
    assert rates == pytest.approx([1e-3 * (1 + p) for p in (0, 1 / 3, 2 / 3, 2 / 3)])
    assert [row["schedule/gamma"] for row in rows] == pytest.approx([0.9, 0.8, 0.7])
    assert [row["learning_rate"] for row in rows] == pytest.approx([1e-3 * (1 + p) for p in (1 / 3, 2 / 3, 1)])
    trainer.learning_rate = 4e-3
    assert trainer.learning_rate == pytest.approx(4e-3)
    trainer.close()


def test_settings_may_be_changed_from_outside_unless_they_cannot_or_have_a_schedule():
    trainer = trainer_on(schedules={"gamma": 0.9})
    trainer.set_settings(clip_coef=0.1, learning_rate=1e-4)
    assert trainer.config.clip_coef == 0.1
    assert trainer.learning_rate == pytest.approx(1e-4)
    for settings, words in (
        ({"horizon": 4}, "cannot change"),
        ({"gamma": 0.5}, "has a schedule"),
        ({"ent_coef": 1, "clip_coef": -1}, "clip_coef"),
    ):
        with pytest.raises(ConfigError, match=words):
            trainer.set_settings(**settings)
    assert trainer.config.ent_coef == 0.01
    trainer.close()


def test_envs_change_while_training_and_the_next_rollout_begins_with_a_reset():
    trainer = trainer_on("ocean-squared", env_kwargs={"max_steps": 4})
    trainer.fit(64)
    assert trainer.recent_episodes["episode_length"] <= 4
    trainer.set_env_arguments(max_steps=1)
    trainer.fit(128)
    assert trainer.recent_episodes["episode_length"] == 1
    assert trainer.rollout.starts[0].all()
    with pytest.raises(SpaceError, match="observation_space"):
        trainer.set_env_arguments(radius=2)
    trainer.close()


CALLBACK = """
from pufferlib import Callback

class Level(Callback):
    level = 0
    def on_epoch(self, trainer):
        self.level += 1
        if self.level == 3:
            trainer.set_env_arguments(max_steps=7)
    def on_log(self, trainer, row):
        row["curriculum/level"] = self.level
    def state_dict(self):
        return {"level": self.level}
    def load_state_dict(self, state):
        self.level = state["level"]

class Wrong(Callback):
    def on_epoch(self, trainer):
        raise ValueError("no more")
"""


def test_callbacks_and_schedules_from_the_command_line_and_after_resume(tmp_path, monkeypatch, capsys):
    (tmp_path / "my_level.py").write_text(CALLBACK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    settings = {
        "run-dir": "run", "vec.num-envs": "8", "train.horizon": "8", "train.minibatch-size": "64", "train.device": "cpu",
        "train.learner": "torch", "train.log-interval-s": "0", "policy.hidden-size": "8",
    }  # fmt: skip
    run = ["train", "ocean-squared", *(word for name, value in settings.items() for word in (f"--{name}", value))]
    extra = ["--callback", "my_level:Level", "--schedule.ent-coef", "linear 0.1 0", "--train.total-timesteps", "256"]
    assert main([*run, *extra]) == 0
    assert main(["train", "--resume", "run", "--train.total-timesteps", "512"]) == 0
    from pufferlib.train.run_dir import RunDirectory

    rows = RunDirectory.open("run").rows()
    assert [row["curriculum/level"] for row in rows] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert rows[-1]["schedule/ent_coef"] == pytest.approx(0.1 * (1 - 448 / 512))
    assert max(row.get("environment/episode_length", 0) for row in rows[4:]) <= 7
    capsys.readouterr()
    run[3] = "wrong"
    assert main([*run, "--callback", "my_level:Wrong", "--train.total-timesteps", "256"]) == 1
    assert "callback Wrong, on_epoch(): ValueError: no more (my_level.py:" in capsys.readouterr().err
    run[3] = "none"
    assert main([*run, "--callback", "my_level:Missing"]) == 2
