"""Arguments that hypothesis finds: valid ones play, invalid ones are refused with the range that they have to keep."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pufferlib.errors import ConfigError
from pufferlib.native import Choice, Float, Int
from pufferlib_ocean.strategies import invalid_argument, valid_arguments
from pufferlib_ocean.testing import random_actions

quick = settings(max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
STEPS = 30


@quick
@given(data=st.data())
def test_valid_arguments_play_within_the_spaces_or_are_refused_together(game, data):
    arguments = data.draw(valid_arguments(game.cls, game.hints.get("largest", {})))
    try:
        env = game.cls(**arguments)
    except ConfigError as refused:  # each in range, but not together
        said = str(refused)
    else:
        plays(env)
        return
    assert any(argument.name in said for argument in game.cls.arguments), said


def plays(env):
    """Some steps, all within the spaces."""
    space, rng = env.single_observation_space, np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(STEPS if env.num_agents < 100 else 3):
        observations, rewards, terminals, truncations, _ = env.step(random_actions(env, rng))
        assert np.isfinite(rewards).all() and not (terminals & truncations).any()
        assert (observations >= space.low).all() and (observations <= space.high).all()
    env.close()


@quick
@given(data=st.data())
def test_invalid_arguments_are_refused_with_their_range(game, data):
    if not game.cls.arguments:
        pytest.skip("takes none")
    argument, value = data.draw(invalid_argument(game.cls))
    with pytest.raises(ValueError, match=f"^{game.name}: {argument.name} must be ") as caught:
        game.cls(**{argument.name: value})
    said = str(caught.value)
    if isinstance(argument, Int):
        assert f"[{argument.low}, {argument.high}]" in said
    elif isinstance(argument, Float):
        assert f"[{argument.low:g}, {argument.high:g}]" in said
    elif isinstance(argument, Choice):
        assert all(repr(choice) in said for choice in argument.choices)
    else:
        assert "True or False" in said
