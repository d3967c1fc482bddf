"""What every game promises, checked through Python: spaces, seeds, threads, arguments, truncation."""

import re

import numpy as np
import pytest

import pufferlib
from pufferlib.native import Bool, Choice, File, Int
from pufferlib.vector.seeding import env_seeds
from pufferlib_ocean.testing import random_actions

WORLDS = 14
"""Divides by 1, 2 and 7 threads."""


def copies(env):
    return [part.copy() for part in (env.observations, env.rewards, env.terminals, env.truncations, env.masks)]


def same(a, b):
    return all(x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))


def test_100000_random_steps_stay_in_the_spaces(game):
    rows = game.cls().num_agents
    env = game.cls(num_envs=max(1, 200 // rows))
    space, rng = env.single_observation_space, np.random.default_rng(0)
    observations, _ = env.reset(seed=0)
    for _ in range(-(-100_000 // env.num_agents)):
        assert np.isfinite(observations).all() and (observations >= space.low).all() and (observations <= space.high).all()
        observations, rewards, terminals, truncations, infos = env.step(random_actions(env, rng))
        ended = terminals | truncations
        finals = env.final_observations[ended]
        assert np.isfinite(finals).all() and (finals >= space.low).all() and (finals <= space.high).all()
        assert np.isfinite(rewards).all() and not (terminals & truncations).any() and infos == []
    log = env.drain_log()
    assert not log or (0 <= log["perf"] <= 1 and log["invalid_actions"] == 0 and all(np.isfinite(list(log.values()))))


def trace_of_vec(game, backend, workers, steps):
    env = pufferlib.make(f"ocean-{game.name}", num_envs=WORLDS, num_workers=workers, backend=backend)
    rng = np.random.default_rng(3)
    trace = [[env.reset(seed=11)[0].copy()]]
    single = game.cls(num_envs=WORLDS)
    for _ in range(steps):
        outputs = [part.copy() for part in env.step(random_actions(single, rng))[:4]]
        ended = outputs[2] | outputs[3]
        trace.append([*outputs, env.storage.final_observations.reshape(outputs[0].shape)[ended].copy()])
    log = env.drain_log()
    env.close()
    return trace, log


def test_same_bits_serial_and_with_1_2_and_7_threads(game):
    steps = min(300, 40_000 // game.cls().num_agents)  # traces of very many rows would fill the memory
    reference, log = trace_of_vec(game, "serial", 1, steps)
    for workers in (1, 2, 7):
        trace, other_log = trace_of_vec(game, "threads", workers, steps)
        assert all(same(a, b) for a, b in zip(reference, trace, strict=True)), f"{workers} threads"
        assert log == other_log, f"{workers} threads: logs are summed in world order"


def test_a_world_alone_equals_the_same_world_among_many(game):
    many, alone = game.cls(num_envs=5), game.cls()
    seeds, world = env_seeds(4, 5), 3
    rows = slice(world * alone.num_agents, (world + 1) * alone.num_agents)
    many.reset(seed=seeds), alone.reset(seed=[seeds[world]])
    rng = np.random.default_rng(0)
    for _ in range(500):
        assert same([part[rows] for part in copies(many)], copies(alone))
        actions = random_actions(many, rng)
        many.step(actions), alone.step(np.ascontiguousarray(actions[rows]))


def test_reset_with_a_seed_starts_the_same_1000_steps(game):
    env = game.cls(num_envs=2)

    def run():
        rng, trace = np.random.default_rng(5), []
        env.reset(seed=9)
        for _ in range(1000):
            trace.append(copies(env))
            env.step(random_actions(env, rng))
        return trace

    assert all(same(a, b) for a, b in zip(run(), run(), strict=True))


def test_reset_clears_rewards_and_flags_and_none_goes_on(game):
    env = game.cls(num_envs=3)
    env.reset(seed=9)
    rng = np.random.default_rng(0)
    for _ in range(20):
        env.step(random_actions(env, rng))
    for seed in (None, 9):
        env.rewards[:], env.terminals[:], env.truncations[:], env.masks[:] = 5, True, True, False
        env.reset(seed=seed)
        assert not env.rewards.any() and not env.terminals.any() and not env.truncations.any() and env.masks.all()


def test_every_argument_works_at_its_limits(game):
    for corner, arguments in game.limits().items():
        largest = game.hints.get("largest", {})
        capped = {name: min(value, largest[name]) if name in largest else value for name, value in arguments.items()}
        env = game.cls(**capped)
        env.reset(seed=0)
        env.step(random_actions(env, np.random.default_rng(0)))
        assert env.single_observation_space.contains(env.observations[0]), corner
        env.close()


def outside(argument):
    """Values just outside, and of another kind."""
    if isinstance(argument, Bool):
        return ["yes", 2]
    if isinstance(argument, Choice):
        return ["nonsense", 0]
    if isinstance(argument, File):
        return ["no/such/file", 3]
    if isinstance(argument, Int):
        return [argument.low - 1, argument.high + 1, "many", argument.low + 0.5]
    step = 1e-3 * max(1.0, abs(argument.low), abs(argument.high))
    return [argument.low - step, argument.high + step, float("nan"), "much"]


def test_every_argument_is_refused_outside_of_its_limits(game):
    for argument in game.cls.arguments:
        for value in outside(argument):
            with pytest.raises(ValueError, match=f"{game.name}: {argument.name} must be ") as caught:
                game.cls(**{argument.name: value})
            said = str(caught.value)
            shown = f"{value:g}" if isinstance(value, float) and not isinstance(argument, Int) else str(value)
            assert said.rstrip("'").endswith(shown), said
            if not isinstance(argument, (Bool, Choice, File)):
                assert re.search(r"\[.+, .+\]", said), said


def test_unknown_arguments_and_numbers_of_envs_are_refused(game):
    near = game.argument_names[0] if game.argument_names else None
    with pytest.raises(TypeError, match=near or "none"):
        game.cls(**{f"{near or 'some'}_": 1})
    for num_envs in (0, 2**20 + 1):
        with pytest.raises(ValueError, match=rf"{game.name}: num_envs must be in \[1, 1048576\], got {num_envs}"):
            game.cls(num_envs=num_envs)


def test_max_steps_5_truncates_at_5_with_what_an_untruncated_twin_shows(game):
    if "max_steps" not in game.argument_names:
        assert game.hints.get("max_steps") is False, "a game without max_steps says so in checks.toml: max_steps = false"
        return
    others = game.hints.get("with", {}).get("max_steps", {})
    cut, twin = game.cls(num_envs=64, max_steps=5, **others), game.cls(num_envs=64, max_steps=0, **others)
    cut.reset(seed=2), twin.reset(seed=2)
    shown = np.ones(int(np.prod(cut.single_observation_space.shape)), bool)
    shown[game.hints.get("clock", [])] = False
    alive, rng = np.ones(cut.num_agents, bool), np.random.default_rng(0)
    for t in range(1, 6):
        actions = random_actions(cut, rng)
        cut.step(actions), twin.step(actions)
        alive_before = alive.copy()
        alive &= ~twin.terminals
        assert (cut.rewards == twin.rewards).all() and (cut.terminals == twin.terminals)[alive_before].all()
        assert (cut.truncations[alive_before] == (alive if t == 5 else np.zeros_like(alive))[alive_before]).all(), f"step {t}"
    assert alive.any(), "some episode is longer than five steps"
    finals, seen = cut.final_observations[alive].reshape(alive.sum(), -1), twin.observations[alive].reshape(alive.sum(), -1)
    assert (finals[:, shown] == seen[:, shown]).all()


def test_drawn_frames_are_painted(game):
    env = game.cls(render_mode="rgb_array")
    env.reset(seed=0)
    frame = env.render()
    commands = env.draw_commands()
    assert frame.shape == (commands.height, commands.width, 3) and frame.dtype == np.uint8
    assert len(np.unique(frame.reshape(-1, 3), axis=0)) >= 3 and not commands.overflow
    assert (frame == env.render()).all()


def test_keys_are_actions(game):
    env = game.cls()
    space = env.single_action_space
    for key, action in game.cls.keys.items():
        assert key == key.lower()
        if isinstance(action, dict):
            full = np.zeros(space.shape, space.dtype)
            for axis, value in action.items():
                full[axis] = value
            assert space.contains(full), key
        else:
            assert space.contains(np.int64(action)), key
