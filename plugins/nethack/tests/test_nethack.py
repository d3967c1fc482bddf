"""The real packages: names, keys, seeds, ends of episodes, rendering."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import pufferlib
from pufferlib.errors import ConfigError, EnvError, EnvNotFoundError
from pufferlib.testing import check_plugin
from pufferlib_nethack import names
from pufferlib_nethack.envs import DEFAULT_KEYS, RENDER_MODES
from pufferlib_nethack.names import import_package, list_minihack, list_nethack, make_game, make_minihack, make_nethack

pytest.importorskip("nle", reason=names.INSTALL)
import_package("minihack")
HP, TURN = 10, 20
"""Places in blstats."""
LOOK = ("glyphs", "blstats")


def id_of(factory):
    """The class that it makes."""
    env = factory()
    env.close()
    return type(env.env).__name__


def play(env, actions, seed=None):
    """Everything seen on the way."""
    rows = [env.reset(seed=seed)[0]["glyphs"].copy()]
    for action in actions:
        observation, reward, terminal, truncation, _ = env.step(action)
        rows += [observation["glyphs"].copy(), reward]
        if terminal or truncation:
            rows.append(env.reset()[0]["glyphs"].copy())
    return rows


def same(a, b):
    return len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


# ------------------------------------------------------------ names


def test_every_id_has_a_name():
    nethack = [make_nethack(name).args[0] for name in list_nethack()]
    minihack = [make_minihack(name).args[0] for name in list_minihack()]
    assert sorted([*nethack, "NetHack-v0"]) == sorted(i for i in gymnasium.registry if i.startswith("NetHack"))
    assert sorted(minihack) == sorted(i for i in gymnasium.registry if i.startswith("MiniHack"))
    assert {"score", "staircase-pet", "challenge"} <= set(list_nethack()) and len(minihack) > 100


def test_short_names_are_the_smallest_levels():
    assert make_minihack("room").args[0] == "MiniHack-Room-5x5-v0"
    assert make_minihack("corridor").args[0] == "MiniHack-Corridor-R2-v0"
    assert make_minihack("key-room").args[0] == "MiniHack-KeyRoom-S5-v0"
    assert id_of(make_game) == "NLE" and id_of(make_nethack("staircasepet")) == "NetHackStaircasePet"


@pytest.mark.parametrize(("name", "near"), [("nethack-scor", "nethack-score"), ("minihack-rom-5x5", "minihack-room-5x5")])
def test_wrong_names_get_near_ones(name, near):
    with pytest.raises(EnvNotFoundError, match=near):
        pufferlib.make(name)


def test_listing_imports_no_env_package():
    code = (
        "import sys, pufferlib; from pufferlib.plugins import registry; assert 'nethack' in pufferlib.list_envs();"
        "assert {'nethack', 'minihack'} <= {family.prefix for family in registry().families()};"
        "assert {'nethack', 'nethack-lstm'} <= {policy.name for policy in registry().policies()};"
        "heavy = {'nle', 'minihack', 'torch', 'gymnasium', 'numpy'} & set(sys.modules); assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_the_packages_an_error_says_how_to_install_them(monkeypatch):
    monkeypatch.setitem(sys.modules, "nle", None)
    with pytest.raises(EnvError, match="pip install --no-deps nle"):
        make_game()


def test_presets():
    check_plugin("nethack", steps=10)


# ------------------------------------------------------------ observations


def test_the_keys_are_the_observation():
    vec = pufferlib.make("minihack-room", num_envs=2, seed=0, observation_keys=["glyphs_crop", "blstats", "tty_chars"])
    observations, _ = vec.reset()
    seen = pufferlib.unflatten(observations, vec.single_observation_space.structure)
    assert {key: (part.shape[1:], part.dtype.name) for key, part in seen.items()} == {
        "blstats": ((27,), "int64"), "glyphs_crop": ((9, 9), "int16"), "tty_chars": ((24, 80), "uint8"),
    }  # fmt: skip
    assert b"Hello Agent" in seen["tty_chars"][0].tobytes()
    vec.close()


def test_rows_hold_nles_own_numbers():
    env = make_game()
    vec = pufferlib.emulate(lambda: env, backend="serial", check="always")
    for step in range(30):
        observations = vec.step(np.array([step % 8]))[0] if step else vec.reset(seed=3)[0]
        seen = pufferlib.unflatten(observations[0], vec.single_observation_space.structure)
        own = dict(zip(env.env._observation_keys, env.env.last_observation, strict=True))
        assert set(seen) == set(DEFAULT_KEYS)
        assert all(np.array_equal(seen[key], own[key]) and seen[key].dtype == own[key].dtype for key in seen)
    x, y = seen["blstats"][:2]
    assert seen["glyphs"][y, x] < 381  # a monster's glyph: the agent
    vec.close()


@pytest.mark.parametrize("keys", ["glyphs", [], ["glyph"], None])
def test_unknown_keys_are_refused_with_the_known_ones(keys):
    with pytest.raises(ConfigError, match=r"observation_keys must be a list of glyphs, .*glyphs_crop"):
        make_game(observation_keys=keys)


# ------------------------------------------------------------ episodes


@pytest.mark.parametrize("name", ["nethack-score", "nethack-challenge", "minihack-room-random-5x5"])
def test_time_truncates_and_the_last_observation_is_the_agents(name):
    """NLE says terminated, and shows what is left after it quit the game: a blank screen."""
    vec = pufferlib.make(name, num_envs=1, seed=1, max_episode_steps=4, observation_keys=LOOK, backend="serial")
    vec.reset()
    for _ in range(3):
        observations, _, terminals, truncations, _ = vec.step(np.array([0]))
        assert not terminals.any() and not truncations.any()
    structure = vec.single_observation_space.structure
    before = pufferlib.unflatten(observations[0].copy(), structure)
    _, _, terminals, truncations, _ = vec.step(np.array([0]))
    assert truncations.tolist() == [True] and not terminals.any()
    last = pufferlib.unflatten(vec.storage.final_observations[0][0], structure)
    changed = (last["glyphs"] != before["glyphs"]).sum()  # a step, not a blank screen
    assert changed < 100 and last["blstats"][HP] > 0 and last["blstats"][TURN] >= before["blstats"][TURN] >= 1
    vec.close()


def test_the_stairs_terminate_with_success():
    """In Room-5x5 the stairs lie down to the right of the agent."""
    env = make_minihack("room-5x5")()
    env.reset(seed=0)
    south_east = list(env.env.actions).index(ord("n"))
    for _ in range(4):
        observation, reward, terminal, truncation, info = env.step(south_east)
    assert (terminal, truncation, reward) == (True, False, 1.0)
    assert info == {"end_status": "TASK_SUCCESSFUL", "success": True, "is_ascended": False}
    assert observation["blstats"][HP] > 0
    env.close()


def test_death_terminates():
    """The dungeon's own quit command is a death to NLE."""
    env = make_nethack("challenge")()
    env.reset()
    actions = list(env.env.actions)
    for key in (0x80 | ord("q"), ord("y"), *[ord("\r")] * 20):
        *_, terminal, truncation, info = env.step(actions.index(key))
        if terminal:
            break
    assert terminal and not truncation and info["end_status"] == "DEATH" and not info["success"]
    env.close()


# ------------------------------------------------------------ seeds


@pytest.mark.parametrize("factory", [make_nethack("score"), make_minihack("room-random-5x5"), make_minihack("corridor")])
def test_a_seed_gives_the_same_games_one_after_the_other(factory):
    actions = [int(action) for action in np.random.default_rng(0).integers(0, 8, 60)]
    first, second = (factory(max_episode_steps=15, observation_keys=LOOK) for _ in range(2))
    played = play(first, actions, seed=5)
    assert same(played, play(second, actions, seed=5)) and same(played, play(first, actions, seed=5))
    assert not same(played, play(second, actions, seed=6))
    begun = [second.reset(seed=seed)[0]["glyphs"].tobytes() for seed in (5, *[None] * 9)]
    assert len(set(begun)) > 1
    first.close(), second.close()


def test_levels_chosen_by_minihack_follow_the_seed():
    seeds = list(range(20))
    first, second = (make_minihack("room-random-5x5")(seeds=seeds, observation_keys=LOOK) for _ in range(2))
    assert same(*([env.reset(seed=3 if k == 0 else None)[0]["glyphs"].copy() for k in range(6)] for env in (first, second)))
    first.close(), second.close()


def test_processes_give_the_same_numbers():
    kept = []
    for options in ({"backend": "serial"}, {"backend": "processes", "num_workers": 2}):
        vec = pufferlib.make("minihack-room-random-5x5", num_envs=2, seed=4, observation_keys=LOOK, **options)
        rng, rows = np.random.default_rng(0), [vec.reset()[0].copy()]
        for _ in range(60):
            rows += [part.copy() for part in vec.step(rng.integers(0, 8, 2))[:4]]
        vec.close()
        kept.append(rows)
    assert same(*kept)


# ------------------------------------------------------------ rendering


@pytest.mark.parametrize("mode", RENDER_MODES)
@pytest.mark.parametrize("factory", [make_nethack("score"), make_minihack("room")])
def test_rendering(mode, factory, capsys):
    env = factory(render_mode=mode, observation_keys=LOOK)
    assert set(env.reset(seed=0)[0]) == set(LOOK)
    frame = env.render()
    if mode == "rgb_array":
        assert frame.shape == (336, 1264, 3) and frame.dtype == np.uint8 and frame.any() and frame is not env.render()
    elif mode == "ansi":
        assert "@" in frame
    else:
        assert frame is None and "@" in capsys.readouterr().out
    env.close()
    env.close()


def test_no_mode_draws_nothing(capsys):
    env = make_minihack("room")()
    env.reset()
    assert env.render() is None and env.render_mode is None and not capsys.readouterr().out
    env.close()
    with pytest.raises(ConfigError, match="render_mode must be one of human, ansi, rgb_array"):
        make_game(render_mode="pixels")
