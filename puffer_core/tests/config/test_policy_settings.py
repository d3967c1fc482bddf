"""The command line knows the built-in policies' settings without importing torch; here the two are held together."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest

from pufferlib.config.resolve import resolve
from pufferlib.config.run_config import BUILT_IN_POLICIES, BuiltInPolicy, Given
from pufferlib.plugins import registry


@pytest.mark.parametrize("name", BUILT_IN_POLICIES)
def test_a_policy_is_known_to_take_what_its_signature_names(name):
    parameters = inspect.signature(registry().resolve(registry().find("policy", name).target)).parameters.values()
    own = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    if any(p.kind is p.VAR_KEYWORD for p in parameters):  # passed on to a policy of any other name
        own = own.union(*(BUILT_IN_POLICIES[other] for other in BUILT_IN_POLICIES if other != name))
    assert own == BUILT_IN_POLICIES[name]


@pytest.mark.parametrize("name", ["gru", "mingru", "attention"])
def test_policies_with_a_memory_have_one_default_for_what_they_share(name):
    """Their constructors repeat one another, so that help() and type checkers show each whole."""
    lstm, other = (inspect.signature(registry().resolve(registry().find("policy", n).target)).parameters for n in ("lstm", name))
    assert set(lstm) <= set(other)
    assert [other[key] for key in lstm] == list(lstm.values())


def test_there_is_a_flag_for_every_setting():
    assert {part.name for part in fields(BuiltInPolicy)} == set().union(*BUILT_IN_POLICIES.values())


def test_another_policy_on_the_command_line_keeps_what_both_take_of_the_file(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text('[policy]\nname = "attention"\nhidden_size = 32\nwindow = 4\ncore_layers = 2\n')

    def kwargs_of(name):
        return resolve("ocean-memory", [Given("policy.name", name, "--policy.name", True)], file).policy.kwargs

    assert kwargs_of("attention") == {"hidden_size": 32, "window": 4, "core_layers": 2}
    assert kwargs_of("mingru") == {"hidden_size": 32, "core_layers": 2}
    assert kwargs_of("impala") == {"hidden_size": 32}


def test_the_built_in_policies_are_those_of_the_core():
    own = [spec for spec in registry().policies() if registry().plugin_of(spec).module == "pufferlib.plugins.builtin"]
    assert {spec.name for spec in own} == set(BUILT_IN_POLICIES)
