"""Key names become actions."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from pufferlib.errors import ConfigError
from pufferlib.render.keys import KeyMap
from pufferlib.render.play import describe_keys


def test_discrete_keys_the_last_one_down_wins_and_none_is_idle():
    keys = KeyMap({"left": 1, "a": 1, "right": 2}, 0, Discrete(3))
    assert keys.names == ("left", "a", "right")
    assert [int(keys.action(down)) for down in ([], ["left"], ["left", "right"], ["right", "left"], ["q"])] == [0, 1, 2, 1, 0]
    assert keys.action(["a"]).dtype == np.int32


def test_a_chord_wins_over_its_parts():
    keys = KeyMap({"left": 1, "space": 2, "left+space": 3}, 0, Discrete(4))
    assert int(keys.action(["space", "left"])) == 3
    assert int(keys.action(["space"])) == 2
    assert set(keys.names) == {"left", "space"}


def test_multi_discrete_keys_set_their_axis_and_combine():
    keys = KeyMap({"up": {0: 1}, "down": {0: 2}, "space": {1: 1}}, (0, 0), MultiDiscrete([3, 2]))
    assert keys.action(["up", "space"]).tolist() == [1, 1]
    assert keys.action(["up", "down"]).tolist() == [2, 0]
    assert KeyMap({"up": {0: 1}}, 0, MultiDiscrete([3, 2])).idle.tolist() == [0, 0]


def test_box_keys_set_their_axis():
    keys = KeyMap({"left": {0: -1.0}, "up": {1: 0.5}}, 0, Box(-1, 1, (2,)))
    assert keys.action(["left", "up"]).tolist() == [-1.0, 0.5]
    assert keys.action([]).dtype == np.float32


@pytest.mark.parametrize(
    ("table", "idle", "space", "words"),
    [
        ({"left": 3}, 0, Discrete(3), "'left'"),
        ({"left": -1}, 0, Discrete(3), "'left'"),
        ({"left": 0}, 5, Discrete(3), "idle_action"),
        ({"left": {2: 1}}, 0, MultiDiscrete([2, 2]), "'left'"),
        ({"left": {0: 2}}, 0, MultiDiscrete([2, 2]), "'left'"),
        ({"left": "x"}, 0, Discrete(3), "'left'"),
        ({"left": {0: 2.0}}, 0, Box(-1, 1, (2,)), "'left'"),
    ],
)
def test_actions_outside_of_the_space_are_refused_by_name(table, idle, space, words):
    with pytest.raises(ConfigError, match=words):
        KeyMap(table, idle, space)


def test_keys_are_described_in_few_words():
    assert describe_keys(("left", "a", "right", "d")) == "left/right, A/D"
    assert describe_keys(("up", "w", "right", "d", "down", "s", "left", "a", "space")) == "arrows, WASD, space"
    assert describe_keys(tuple("1234567")) == "1-7"
