"""What a run changed beside its preset, how runs differ, and which belong together."""

from __future__ import annotations

import pytest

from pufferlib.analysis.groups import make_groups
from pufferlib.analysis.index import read_run
from pufferlib.analysis.settings import changed_settings, differing, setting_rows
from pufferlib.analysis.tables import comparison, comparison_lines, letter
from pufferlib.cli.flags import scan
from pufferlib.config.resolve import resolve
from pufferlib.train.run_dir import RunDirectory


@pytest.fixture
def resolved(tmp_path):
    """resolved("name", *flags) -> a run of gym-CartPole-v1, which has a preset, as `puffer train` would write its settings."""

    def make(name, *flags, policy_defaults=()):
        directory = RunDirectory(tmp_path / name)
        tables = resolve("gym-CartPole-v1", scan(flags).flags).tables()
        tables["policy"].update(policy_defaults)
        directory.write_config(tables, {"command": ["puffer", "train", "gym-CartPole-v1", *flags]})
        return read_run(directory.path)

    return make


def changed(run):
    return {row.key: (row.value, row.usual) for row in changed_settings(run)[0]}


def test_a_run_with_its_preset_changed_nothing(resolved):
    run = resolved("a", policy_defaults={"log_std": "parameter"}.items())
    assert changed(run) == {}
    origins = {row.origin for row in setting_rows(run)[0]}
    assert origins == {"preset", "default"}


def test_what_a_flag_changed_stands_beside_the_preset_rather_than_the_librarys_default(resolved):
    usual = read_run(resolved("plain").path).settings["train.learning_rate"]
    run = resolved("a", "--train.learning-rate", "0.5", "--train.seed", "7", "--policy.num-layers", "3")
    assert changed(run)["train.learning_rate"] == (0.5, usual)
    assert changed(run)["train.seed"] == (7, 1)
    assert changed(run)["policy.num_layers"][0] == 3


def test_another_policy_is_a_change_and_its_own_defaults_are_none(resolved):
    run = resolved("a", "--policy.name", "lstm", policy_defaults={"core": 5}.items())
    assert changed(run)["policy.name"] == ("lstm", "mlp")
    assert "policy.core" not in changed(run)


def test_an_env_that_is_not_installed_is_compared_with_the_librarys_defaults_and_that_is_said(make_run):
    run = read_run(make_run("a", env_name="nowhere-game", learning_rate=0.5))
    rows, remark = changed_settings(run)
    assert {row.key for row in rows} == {"train.total_timesteps", "train.learning_rate"}
    assert "library's defaults" in remark and "nowhere-game" in remark


def test_settings_that_differ_without_seed_tag_and_what_is_not_learnt_from(make_run):
    a = read_run(make_run("a", seed=1, tag="x", learning_rate=0.1, keep_checkpoints=3))
    b = read_run(make_run("b", seed=2, tag="y", learning_rate=0.2, keep_checkpoints=9))
    assert differing([a, b]) == ["train.learning_rate"]
    assert differing([a]) == []


def test_a_setting_that_an_older_version_did_not_know_counts_as_its_default(make_run):
    old, new = make_run("old"), make_run("new")
    text = (old / "config.toml").read_text()
    (old / "config.toml").write_text(text.replace("adam_eps = 1e-08\n", ""))
    assert "train.adam_eps" not in read_run(old).settings
    assert differing([read_run(old), read_run(new)]) == []
    assert len(make_groups([read_run(old), read_run(new)])) == 1


def test_runs_that_differ_only_in_their_seed_are_one_group(make_run):
    paths = [make_run(f"s{seed}", seed=seed) for seed in (1, 2)] + [make_run("other", seed=1, gamma=0.5)]
    groups = make_groups([read_run(path) for path in paths])
    assert [(group.label, len(group.runs)) for group in groups] == [("gamma=0.99", 2), ("gamma=0.5", 1)]
    assert groups[0].title == "gamma=0.99 (2 seeds)"


def test_runs_of_two_envs_or_of_unknown_settings_are_never_one_group(make_run):
    lost = [make_run("lost1"), make_run("lost2")]
    for path in lost:
        (path / "config.toml").unlink()
    paths = [make_run("a"), make_run("b", env_name="ocean-pong"), *lost]
    assert len(make_groups([read_run(path) for path in paths])) == 4


def test_groups_with_too_many_differences_go_by_their_tags_or_names(make_run):
    many = {"gamma": 0.5, "gae_lambda": 0.5, "learning_rate": 0.5, "ent_coef": 0.5}
    tagged = [read_run(make_run("a", tag="old")), read_run(make_run("b", tag="new", **many))]
    assert [group.label for group in make_groups(tagged)] == ["old", "new"]
    untagged = [read_run(make_run("c")), read_run(make_run("d", **many))]
    assert [group.label for group in make_groups(untagged)] == ["c", "d"]


def test_comparison_has_means_and_deviations_over_seeds(make_run, row):
    finals = {"a": (0.2, 0.4, 0.6), "b": (0.9,)}
    paths = [
        make_run(f"{name}{i}", [row(1000, perf=value)], seed=i, gamma=0.9 if name == "a" else 0.5)
        for name, values in finals.items() for i, value in enumerate(values)
    ]  # fmt: skip
    groups = make_groups([read_run(path) for path in paths])
    found = comparison(groups)
    assert found["settings"] == {"train.gamma": [0.9, 0.5]}
    first, second = found["metrics"]["environment/perf"]
    assert first == {"mean": pytest.approx(0.4), "std": pytest.approx(0.2), "n": 3}
    assert second == {"mean": 0.9, "std": None, "n": 1}
    lines = comparison_lines(groups, found)
    words = [line.split() for line in lines]
    assert ["perf", "0.4", "±0.2", "0.9"] in words and ["train.gamma", "0.9", "0.5"] in words
    assert lines[-1].startswith("mean ±standard deviation over seeds")


def test_a_metric_that_a_group_lacks_is_a_dash(make_run, row):
    groups = make_groups([read_run(make_run("a", [row(1000, perf=0.5)])), read_run(make_run("b", [row(1000)], gamma=0.5))])
    found = comparison(groups)
    assert found["metrics"]["environment/perf"][1] == {"mean": None, "std": None, "n": 0}
    line = next(line for line in comparison_lines(groups, found) if line.startswith("perf"))
    assert line.split() == ["perf", "0.5", "-"]


def test_letters_go_on_after_z():
    assert [letter(i) for i in (0, 25, 26, 27, 51, 52)] == ["A", "Z", "AA", "AB", "AZ", "BA"]
