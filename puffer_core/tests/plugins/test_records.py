"""Records are checked when they are made; the registry finds, resolves and refuses."""

import importlib

import pytest

from pufferlib.errors import EnvNotFoundError, PluginError
from pufferlib.plugins import BackendSpec, EnvFamily, EnvSpec, Plugin, Registry
from pufferlib.plugins.hints import near, provider


@pytest.mark.parametrize(
    "make",
    [
        lambda: EnvSpec("", "a:b"),
        lambda: EnvSpec("has space", "a:b"),
        lambda: EnvSpec(3, "a:b"),
        lambda: EnvSpec("x", "a.b"),
        lambda: EnvSpec("x", "a:"),
        lambda: EnvSpec("x", None),
        lambda: EnvSpec("x", "a:b", "two\nlines"),
        lambda: EnvSpec("x", "a:b", kwargs=[1]),
        lambda: EnvSpec("x", "a:b", aliases="y"),
        lambda: EnvSpec("x", "a:b", preset=3),
        lambda: EnvFamily("", "a:b", "a:c"),
        lambda: EnvFamily("x", "a:b", "nowhere"),
        lambda: EnvFamily("x", "a:b", "a:c", presets=3),
        lambda: BackendSpec("x", 3),
    ],
)
def test_a_record_that_cannot_work_is_refused_at_once(make):
    with pytest.raises(PluginError, match="must be"):
        make()


def plugin(name, *records, status="ok"):
    return Plugin(
        name, "pufferlib.plugins.builtin", f"dist-{name}", "1.0", status, "why" if status != "ok" else "", list(records)
    )


def test_a_clash_leaves_the_second_plugin_out_as_a_whole_and_names_both():
    registry = Registry(
        [
            plugin("one", EnvSpec("maze", "json:dumps")),
            plugin("two", EnvSpec("tower", "json:dumps"), EnvSpec("castle", "json:dumps", aliases=("maze",))),
            plugin("three", EnvSpec("tower", "json:dumps")),
        ]
    )
    assert registry.find_env("maze").name == "maze" and registry.plugin_of(registry.find_env("maze")).name == "one"
    (failed,) = registry.failures()
    assert failed.name == "two" and "'maze'" in failed.reason and "'one'" in failed.reason and "dist-two" in failed.reason
    with pytest.raises(PluginError, match=r"'castle' belongs to plugin 'two' .*left out.*'maze'.*'one'"):
        registry.find_env("castle")
    assert registry.plugin_of(registry.find_env("tower")).name == "three", "a plugin that is left out takes no names"


def test_two_plugins_of_one_name_and_a_name_used_twice():
    registry = Registry([plugin("same", EnvSpec("a", "json:dumps")), plugin("same", EnvSpec("b", "json:dumps"))])
    assert [p.status for p in registry.plugins()] == ["ok", "failed"] and "already has this plugin's name" in registry.failures()[
        0
    ].reason
    registry = Registry([plugin("twice", EnvSpec("a", "json:dumps"), EnvSpec("a", "json:loads"))])
    assert "'a' twice" in registry.failures()[0].reason and registry.envs() == []


def test_one_name_may_stand_for_different_kinds():
    registry = Registry([plugin("one", EnvSpec("x", "json:dumps"), BackendSpec("x", "json:loads"))])
    assert registry.find_env("x").kind == "env" and registry.find("backend", "x").kind == "backend"


def test_targets_are_imported_when_they_are_used():
    spec = EnvSpec("x", "no_such_package.env:Env")
    registry = Registry([plugin("one", spec, EnvSpec("y", "json:no_such_attribute"))])
    assert registry.resolve("json:JSONDecoder.decode").__name__ == "decode"
    with pytest.raises(
        PluginError, match=r"env 'x' of plugin 'one' .*'no_such_package.env:Env'.*No module named 'no_such_package'"
    ):
        registry.resolve(registry.find_env("x").target, spec)
    with pytest.raises(PluginError, match="no_such_attribute"):
        registry.resolve(registry.find_env("y").target)


def test_an_unknown_name_gets_near_matches_hints_and_reasons():
    registry = Registry([plugin("one", EnvSpec("ocean-breakout", "json:dumps")), plugin("off", status="disabled")])
    with pytest.raises(EnvNotFoundError, match=r"(?s)'ocean-brekout'.*Near matches: ocean-breakout.*'off'.*is disabled: why"):
        registry.find_env("ocean-brekout")
    with pytest.raises(EnvNotFoundError, match=r"pip install 'pufferlib\[atari\]'"):
        registry.find_env("atari-pong")
    with pytest.raises(EnvNotFoundError, match="text"):
        registry.find_env(3)
    with pytest.raises(PluginError, match=r"no backend is named 'ray'.*"):
        registry.find("backend", "ray")


def test_an_installed_plugin_gets_no_install_hint():
    assert provider("ocean-x", {"ocean"}) is None and provider("ocean-x", set()) == "pip install 'pufferlib[ocean]'"
    assert provider("wandb", set()) == "pip install 'pufferlib[wandb]'" and provider("mine", set()) is None
    assert near("Gym-Cartpole", ["gym-CartPole", "x"]) == ["gym-CartPole"]


def test_a_family_makes_a_record_for_each_id():
    family = EnvFamily("letters", target=lambda name: name.upper, names=lambda: ["a", "b"])
    registry = Registry([plugin("one", family)])
    assert registry.find_env("letters-a").target() == "A"
    assert registry.family_names(family) == ["letters-a", "letters-b"]
    assert registry.envs() == [] and registry.families() == [family]
    assert registry.plugin_of(registry.find_env("letters-a")).name == "one"
    assert registry.presets(family) == {} and registry.preset_path(registry.find_env("letters-a")) is None


def test_presets_of_a_family_are_files_named_for_ids(tmp_path, monkeypatch):
    """Also for ids with a slash, and for those that are found by their module."""
    family = EnvFamily("letters", target=lambda name: name.upper, names=list, presets="mine")
    registry = Registry([plugin("one", family)])
    monkeypatch.setattr(importlib.import_module("pufferlib.plugins.registry"), "folder_of", lambda plugin: tmp_path)
    with pytest.raises(PluginError, match=r"'letters' of plugin 'one'.*mine are missing"):
        registry.find_env("letters-a")
    for file in ("a.toml", "Old/b-v1.toml", "c.txt"):
        (tmp_path / "mine" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / file).touch()
    assert list(registry.presets(family)) == ["letters-Old/b-v1", "letters-a"]
    paths = {name: registry.preset_path(registry.find_env(name)) for name in ("letters-a", "letters-x.y:Old/b-v1", "letters-c")}
    assert paths == {
        "letters-a": tmp_path / "mine" / "a.toml",
        "letters-x.y:Old/b-v1": tmp_path / "mine" / "Old" / "b-v1.toml",
        "letters-c": None,
    }


def test_a_script_may_register_the_same_thing_again_but_nothing_elses_name():
    registry = Registry([plugin("one", EnvSpec("maze", "json:dumps"))])
    registry.register(EnvSpec("mine", dict))
    registry.register(EnvSpec("mine", dict))
    assert registry.find_env("mine").target is dict
    with pytest.raises(PluginError, match=r"'mine' is already registered by plugin 'script'"):
        registry.register(EnvSpec("mine", list))
    with pytest.raises(PluginError, match=r"'maze' is already registered by plugin 'one'"):
        registry.register(EnvSpec("other", dict, aliases=("maze",)))
    with pytest.raises(EnvNotFoundError):
        registry.find_env("other")


def test_a_preset_lies_beside_the_plugins_module():
    found = EnvSpec("a", "json:dumps", preset="builtin.py")
    lost = EnvSpec("b", "json:dumps", preset="nowhere.toml")
    registry = Registry([plugin("one", found, lost, EnvSpec("c", "json:dumps"))])
    assert registry.preset_path(found).name == "builtin.py" and registry.preset_path(registry.find_env("c")) is None
    with pytest.raises(PluginError, match=r"env 'b' of plugin 'one'.*nowhere.toml is missing"):
        registry.preset_path(lost)
