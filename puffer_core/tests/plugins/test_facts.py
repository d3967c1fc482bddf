"""Facts of envs, measured once and kept beside a plugin: read, and shown by `puffer list --long`."""

import sys

import pytest

from pufferlib.cli.list_envs import run
from pufferlib.plugins import registry
from pufferlib.plugins.facts import read_facts, shown_facts

FACTS = """
status = "works"
license = "MIT"

[envs.gym-CartPole-v1]
observations = "float32[4]"
actions = "Discrete(2)"
agents = 1
steps = 118000
steps_2 = 240000

[envs.gym-Acrobot-v1]
agents = 2
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Every plugin's folder is this one, with these facts in it."""
    (tmp_path / "facts.toml").write_text(FACTS, encoding="utf-8")
    (tmp_path / "presets" / "gym").mkdir(parents=True)
    module = sys.modules["pufferlib.plugins.registry"]  # the package's attribute of that name is the function
    monkeypatch.setattr(module, "folder_of", lambda plugin: tmp_path)
    return tmp_path


def test_what_is_not_known_is_left_empty(folder):
    facts = shown_facts(folder)
    assert facts["gym-CartPole-v1"] == {
        "observations": "float32[4]", "actions": "Discrete(2)", "agents": "1", "steps/s, one env": "118,000",
        "steps/s, 2 workers": "240,000", "license": "MIT", "status": "works",
    }  # fmt: skip
    assert facts["gym-Acrobot-v1"]["agents"] == "2" and facts["gym-Acrobot-v1"]["steps/s, one env"] == ""


def test_a_plugin_without_facts_has_none(tmp_path):
    assert read_facts(tmp_path) == {} and shown_facts(tmp_path) == {}


def test_an_envs_facts_are_those_of_its_plugin(folder):
    (family,) = (family for family in registry().families() if family.prefix == "gym")
    assert registry().facts("gym-CartPole-v1", family)["agents"] == "1"
    assert registry().facts("gym-Taxi-v4", family) == {}
    assert registry().facts("gym-CartPole-v1", registry().find_env("gym-CartPole-v1"))["license"] == "MIT"


def test_list_shows_them_on_request(folder, capsys, monkeypatch):
    monkeypatch.setattr(type(registry()), "presets", lambda self, family: {})  # whatever plugins there are
    assert run(["gym-CartPole-v1", "--long"]) == 0
    said = capsys.readouterr().out
    assert "steps/s, 2 workers: 240,000" in said and "status: works" in said
    assert run(["gym-CartPole-v1"]) == 0
    assert "240,000" not in capsys.readouterr().out
