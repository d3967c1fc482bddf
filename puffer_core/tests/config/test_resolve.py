"""defaults < preset < --config FILE < flags, and errors that name the flag, or the file and the table."""

from __future__ import annotations

import sys
import textwrap

import pytest

from pufferlib.cli.flags import scan
from pufferlib.config.files import dump_toml, flat
from pufferlib.config.resolve import resolve
from pufferlib.errors import ConfigError, PufferError
from pufferlib.plugins import EnvSpec, registry

MODULE = """
    from pufferlib.native.arguments import Bool, Choice, Float, Int

    class Declared:
        arguments = (
            Int("radius", 5, 1, 15, help="Half of the side."), Int("max_steps", lambda a: 8 * a.radius, 0, 1000),
            Float("slip", 0.0, 0, 1), Bool("dense", True), Choice("opponent", "bot", ("bot", "self")),
        )

    def closed(size=3, *, color="red", num_envs=1, buf=None): ...
    def open_ended(size=3, **rest): ...
"""


@pytest.fixture
def envs(tmp_path, monkeypatch):
    """Three envs that nobody can build, in a module of their own: only what they declare is looked at."""
    (tmp_path / "declared_envs.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    specs = {
        "test-declared": EnvSpec("test-declared", "declared_envs:Declared", kwargs={"slip": 0.25}),
        "test-closed": EnvSpec("test-closed", "declared_envs:closed"),
        "test-open": EnvSpec("test-open", "declared_envs:open_ended"),
    }
    found, looked_up = registry(), registry().find_env
    monkeypatch.setattr(found, "find_env", lambda name: specs.get(name) or looked_up(name))
    preset = tmp_path / "preset.toml"
    monkeypatch.setattr(found, "preset_path", lambda spec: preset if preset.exists() else None)
    yield tmp_path
    sys.modules.pop("declared_envs", None)


def settings(*argv, env="test-declared", file=None):
    return resolve(env, scan(argv).flags, file)


def test_flags_win_over_the_file_over_the_preset_over_the_defaults(envs):
    (envs / "preset.toml").write_text("[train]\nseed = 2\ngamma = 0.5\nhorizon = 8\n[env]\nradius = 3\n")
    (envs / "my.toml").write_text("[train]\nseed = 3\ngamma = 0.6\n[env]\ndense = false\n")
    config = settings("--train.seed", "4", file="my.toml")
    assert (config.train.seed, config.train.gamma, config.train.horizon, config.train.gae_lambda) == (4, 0.6, 8, 0.95)
    assert config.env == {"radius": 3, "max_steps": 24, "slip": 0.25, "dense": False, "opponent": "bot"}


# argv tail, dotted key, expected value, or None for "refused with this text"
CLI = [
    (["--train.anneal-lr", "False"], "train.anneal_lr", False, ""),
    (["--train.anneal-lr", "0"], "train.anneal_lr", False, ""),
    (["--train.anneal-lr", "maybe"], "", None, "anneal-lr"),
    (["--train.learning-rate", "1e-3"], "train.learning_rate", 0.001, ""),
    (["--train.learning-rte", "0.1"], "", None, "learning-rate"), (["--vec.num-envs", "four"], "", None, "num-envs"),
    (["--train.total-timesteps", "1e6"], "train.total_timesteps", 1_000_000, ""),
    (["--train.total-timesteps", "1_000_000"], "train.total_timesteps", 1_000_000, ""),
    (["--train.total-timesteps", "1.5"], "", None, "total-timesteps"),
    (["--train.learning-rate", "nan"], "", None, "learning-rate"),
    (["--train.seed", "-1"], "", None, "seed"), (["--tag", "007"], "tag", "007", ""),
    (["--vec.num-envs"], "", None, "num-envs"),
    (["--train.seed=5"], "train.seed", 5, ""), (["--train.learning_rate", "0.5"], "train.learning_rate", 0.5, ""),
    (["--train.anneal-lr"], "", None, "--train.anneal-lr: needs a value"),
    (["--train.no-anneal-lr", "1"], "", None, "--train.anneal-lr"),
    (["--train.seed", "1", "--train.seed", "2"], "train.seed", 2, ""), (["--tag="], "tag", "", ""),
    (["--tag=--x"], "tag", "--x", ""),
    (["--tag", "--x", "1"], "", None, "--tag: needs a value"), (["--tag", "-1"], "tag", "-1", ""),
    (["--train.optimizer", "sgd"], "", None, "adam, muon"), (["--train.gamma", "1.5"], "", None, "gamma"),
    (["--train.seed", "4", "--train.seed", "x"], "", None, "'x'"),
    (["--vec.num-workers", "auto"], "vec.num_workers", None, ""),
    (["--vec.num-workers", "2"], "vec.num_workers", 2, ""), (["--seed", "2"], "", None, "--train.seed"),
    (["-s", "2"], "", None, "--"),
    (["--trian.seed", "2"], "", None, "--train.seed"), (["--logger", "a", "--logger", "b"], "logger", ["a", "b"], ""),
    (["--env.radius", "16"], "", None, "[1, 15]"), (["--env.radius", "3.5"], "", None, "--env.radius"),
    (["--env.radios", "3"], "", None, "--env.radius"), (["--env.zzz", "3"], "", None, "--env.opponent"),
    (["--env.opponent", "me"], "", None, "bot, self"), (["--env.dense", "0"], "env.dense", False, ""),
    (["--env.slip", "1"], "env.slip", 1.0, ""), (["--env", "1"], "", None, "--env"),
    (["--policy.name", "lsmt"], "", None, "lstm"),
    (["--policy.hidden-size", "32"], "policy.hidden_size", 32, ""),
    (["--policy.hiden-size", "32"], "", None, "--policy.hidden-size"),
    (["--policy.encode", "onehot"], "policy.encode", "onehot", ""),
    (["--policy.encode", "two"], "", None, "scale, onehot, mixed"),
]  # fmt: skip


@pytest.mark.parametrize(("argv", "key", "value", "text"), CLI)
def test_command_line_table(envs, argv, key, value, text):
    if text:
        with pytest.raises(PufferError) as refused:
            settings(*argv)
        assert text in str(refused.value)
        return
    config = settings(*argv)
    found = {**config.tables(), "logger": config.logger}
    for part in key.split("."):
        found = found[part]
    expected = "auto" if value is None else value
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ("[train]\nlearning_rte = 0.1", ["my.toml [train] learning_rte", "did you mean train.learning_rate"]),
        ("[train]\nlearning-rate = 0.1", ["[train] learning-rate", "train.learning_rate"]),
        ("[train]\nseed = -1", ["my.toml [train] seed", "-1"]),
        ("[train]\nanneal_lr = 'False'", ["my.toml [train] anneal_lr", "'False'", "true or false"]),
        ("[train]\nlearning_rate = nan", ["my.toml [train] learning_rate", "nan"]),
        ("[train]\ntotal_timesteps = 1.5", ["my.toml [train] total_timesteps", "1.5"]),
        ("[vec]\nnum_envs = 'four'", ["my.toml [vec] num_envs", "'four'"]),
        ("[vec]\nnum_envs = true", ["my.toml [vec] num_envs", "True"]),
        ("tag = 7", ["my.toml tag", 'write "7" in quotes']),
        ("tga = 'x'", ["my.toml tga", "did you mean tag"]),
        ("[trian]\nseed = 1", ["my.toml [trian]", "did you mean train"]),
        ("[env]\nradios = 1", ["my.toml [env] radios", "env.radius"]),
        ("[env]\nradius = 99", ["my.toml [env] radius", "[1, 15]"]),
        ("[policy]\nhiden_size = 1", ["my.toml [policy] hiden_size", "policy.hidden_size"]),
        ("[train]\nseed = 007", ["my.toml", "line 2"]),
        ("[train\nseed = 1", ["my.toml", "line 1"]),
        ("[train]\nseed = 1\nseed = 2", ["my.toml", "not valid TOML"]),
        ("[train.seed]\nx = 1", ["my.toml [train] seed", "integer"]),
    ],
)  # fmt: skip
def test_the_same_rules_hold_in_a_file(envs, body, texts):
    (envs / "my.toml").write_text(body)
    with pytest.raises(ConfigError) as refused:
        settings(file="my.toml")
    assert all(text in str(refused.value) for text in texts), str(refused.value)


def test_a_wrong_value_is_refused_even_where_a_flag_overrides_it(envs):
    (envs / "my.toml").write_text("[train]\nseed = 'x'")
    with pytest.raises(ConfigError, match=r"my\.toml"):
        settings("--train.seed", "1", file="my.toml")


def test_whole_floats_and_missing_files(envs):
    (envs / "my.toml").write_text("[train]\ntotal_timesteps = 1e6\nlearning_rate = 1\n")
    assert settings(file="my.toml").train.total_timesteps == 1_000_000
    with pytest.raises(ConfigError, match=r"no\.toml: cannot be read"):
        settings(file="no.toml")
    (envs / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        settings(file="bytes.toml")


def test_an_env_without_declared_arguments_takes_those_of_its_signature(envs):
    assert settings("--env.size", "4", "--env.color", "blue", env="test-closed").env == {"size": 4, "color": "blue"}
    with pytest.raises(ConfigError, match=r"did you mean --env\.size"):
        settings("--env.siez", "4", env="test-closed")
    with pytest.raises(ConfigError, match="--env"):
        settings("--env.buf", "4", env="test-closed")


def test_an_env_with_keyword_arguments_takes_any(envs):
    config = settings("--env.map_name", "8x8", "--env.is_slippery", "False", "--env.k", "[1, 2]", env="test-open")
    assert config.env == {"map_name": "8x8", "is_slippery": False, "k": [1, 2]}


def test_written_settings_read_back_equal(envs):
    config = settings(
        "--tag", "007", "--logger", "jsonl", "--env.radius", "4", "--policy.name", "lstm", "--policy.num-layers", "3",
        "--vec.num-workers", "2", "--train.learning-rate", "1e-3",
    )  # fmt: skip
    (envs / "config.toml").write_text(dump_toml({**config.tables(), "run": {"versions": {"python": "3"}}}))
    assert settings(file="config.toml") == config
    assert resolve("test-declared", base=config.tables()) == config


def test_another_policy_keeps_what_it_shares_with_the_presets_and_nothing_else(envs):
    (envs / "preset.toml").write_text("[policy]\nname = 'mingru'\nhidden_size = 64\ncore_layers = 2\n")
    assert settings().policy.kwargs == {"hidden_size": 64, "core_layers": 2}
    assert settings("--policy.name", "lstm").policy.kwargs == {"hidden_size": 64}
    assert settings("--policy.name", "mingru", "--policy.core-layers", "3").policy.kwargs == {"hidden_size": 64, "core_layers": 3}


def test_a_plugins_policy_takes_its_own_settings_only(envs, monkeypatch):
    looked_up = registry().find
    monkeypatch.setattr(registry(), "find", lambda kind, name: None if name == "acme" else looked_up(kind, name))
    (envs / "preset.toml").write_text("[policy]\nhidden_size = 64\n")
    policy = settings("--policy.name", "acme", "--policy.widths", "[8, 8]", "--policy.act", "tanh").policy
    assert (policy.name, policy.kwargs) == ("acme", {"widths": [8, 8], "act": "tanh"})


PRESETS = [name for family in registry().families() for name in registry().presets(family)]


@pytest.mark.parametrize("name", [spec.name for spec in registry().envs()] + PRESETS)
def test_every_shipped_preset_is_valid(name):
    config = resolve(name)
    assert config.env_name == name
    assert resolve(name, base=config.tables()) == config


def test_an_id_of_a_family_has_its_preset_and_others_have_none():
    assert "gym-CartPole-v1" in PRESETS and "gym-CartPole-v0" not in PRESETS
    assert resolve("gym-CartPole-v1").train.gae_lambda == 0.9
    assert resolve("gym-gymnasium:CartPole-v1").train == resolve("gym-CartPole-v1").train
    assert resolve("gym-CartPole-v0").train == resolve("gym-Taxi-v4").train != resolve("gym-CartPole-v1").train


def test_every_setting_is_recorded(envs):
    tables = settings().tables()
    assert tables["train"]["adam_beta1"] == 0.9
    assert tables["vec"]["num_workers"] == "auto"
    assert tables["env"]["max_steps"] == 40


def test_nested_tables_by_dotted_key():
    tables = {"env_name": "e", "logger": ["a", "b"], "train": {"seed": 1}, "loggers": {"wandb": {"tags": []}}, "env": {}}
    assert flat(tables) == {"env_name": "e", "logger": ["a", "b"], "train.seed": 1, "loggers.wandb.tags": []}
