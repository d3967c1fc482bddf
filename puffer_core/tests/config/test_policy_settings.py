"""The command line knows the built-in policies' settings without importing torch; here the two are held together."""

from __future__ import annotations

import inspect
from dataclasses import fields

from pufferlib.config.run_config import BUILT_IN_POLICIES, BuiltInPolicy
from pufferlib.plugins import registry


def test_the_flags_are_the_keywords_of_the_policies():
    keywords = set()
    for name in BUILT_IN_POLICIES:
        parameters = inspect.signature(registry().resolve(registry().find("policy", name).target)).parameters
        keywords |= set(parameters) - {"observation_space", "action_space"}
    assert {part.name for part in fields(BuiltInPolicy)} == keywords


def test_the_built_in_policies_are_those_of_the_core():
    own = [spec for spec in registry().policies() if registry().plugin_of(spec).module == "pufferlib.plugins.builtin"]
    assert {spec.name for spec in own} == set(BUILT_IN_POLICIES)
