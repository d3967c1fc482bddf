"""What the envs promise: names, episodes, rewards, seeds, settings, and ALE's own vector env beside them."""

import sys

import numpy as np
import pytest

import pufferlib
from pufferlib.errors import ActionError, ConfigError, EnvNotFoundError
from pufferlib.plugins import registry
from pufferlib.testing import check_env
from pufferlib_atari.names import roms


def play(env, steps, seed=0):
    """Steps with random actions: yields (observations, rewards, terminals, truncations, infos), copies."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        *arrays, infos = env.step(rng.integers(env.single_action_space.n, size=env.num_agents))
        yield [array.copy() for array in arrays] + [infos]


def ends_of(env, steps, row=0):
    """(terminal, truncation, whether the game is over) of each end of an episode."""
    return [
        (bool(terminals[row]), bool(truncations[row]), bool(infos.get("_score", [False])[row]))
        for _, _, terminals, truncations, infos in play(env, steps)
        if terminals[row] or truncations[row]
    ]


def test_every_rom_of_the_wheel_has_a_name_and_gymnasiums_ids_too():
    names = set(pufferlib.list_envs())
    assert len(roms()) >= 100 and {f"atari-{rom.replace('_', '-')}" for rom in roms()} <= names
    assert {"atari-pong", "atari-tic-tac-toe-3d", "ALE/Pong-v5", "ALE/MsPacman-v5"} <= names
    assert registry().find_env("ALE/Pong-v5").kwargs == {"game": "pong", "sticky_actions": 0.25}


def test_ids_of_gymnasium_are_those_that_ale_registers():
    import ale_py
    import gymnasium

    gymnasium.register_envs(ale_py)
    assert {name for name in gymnasium.registry if name.startswith("ALE/")} == {
        name for name in pufferlib.list_envs() if name.startswith("ALE/")
    }


@pytest.mark.parametrize("name", ["atari-atlantis2", "atari-klax", "ALE/MontezumaRevenge-v5", "atari-air-raid"])
def test_unusual_roms_play(name):
    env = pufferlib.make(name)
    assert env.reset(seed=1)[0].shape == (1, 4, 84, 84)
    assert len(list(play(env, 5))) == 5
    env.close()


def test_the_plugin_module_does_not_import_ale():
    code = "import pufferlib_atari.plugin as p, sys; p.pufferlib_envs(); print('ale_py' in sys.modules)"
    import subprocess

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_rules_of_every_env():
    from pufferlib_atari.env import Atari

    check_env(lambda num_envs=2: Atari("breakout", num_envs=num_envs, episodic_life=True), steps=150)


def test_a_lost_life_ends_the_episode_but_not_the_game():
    env = pufferlib.make("atari-breakout", episodic_life=True, fire_reset=True)
    env.reset(seed=3)
    before, ends = None, []
    for observations, _, terminals, truncations, infos in play(env, 300):
        if terminals[0]:
            ends.append(bool(infos.get("_score", [False])[0]))
            assert (observations[0] == observations[0, -1]).all(), "an episode begins with copies of its first picture"
            assert (infos["final_obs"][0][:-1] == before[1:]).all(), "and its last observation goes on from the one before"
        assert not truncations[0]
        before = observations[0]
    assert ends[:5] == [False] * 4 + [True], "Breakout has five lives"
    log = env.drain_log()
    assert log["n"] == len(ends) and log["lives_played"] == 5
    env.close()


def test_without_episodic_life_only_the_games_end_is_terminal():
    env = pufferlib.make("atari-breakout", fire_reset=True)
    env.reset(seed=3)
    ends = ends_of(env, 400)
    assert ends and set(ends) == {(True, False, True)}
    env.close()


def test_a_time_limit_truncates():
    env = pufferlib.make("atari-pong", max_frames=100, noop_max=0)
    env.reset(seed=1)
    ends = ends_of(env, 60)
    assert ends == [(False, True, True)] * 2
    assert env.drain_log()["episode_length"] == 25
    env.close()


@pytest.mark.parametrize(("clip", "seen"), [(True, {0, 1}), (False, {0, 25})])
def test_rewards_are_signs_unless_asked_otherwise(clip, seen):
    env = pufferlib.make("atari-qbert", clip_rewards=clip)
    env.reset(seed=1)
    rewards = np.array([rewards[0] for _, rewards, *_ in play(env, 120)])
    assert set(rewards.tolist()) == seen
    env.close()


def test_the_score_is_the_games_own():
    clipped, own = (pufferlib.make("atari-qbert", clip_rewards=clip) for clip in (True, False))
    for env in (clipped, own):
        env.reset(seed=2)
        list(play(env, 400))
    assert (one := clipped.drain_log())["score"] == (other := own.drain_log())["score"] == other["episode_return"]
    assert one["episode_return"] < other["episode_return"]


def test_same_seed_gives_the_same_bits_in_one_process_and_in_two():
    settings = {"num_envs": 4, "sticky_actions": 0.25, "episodic_life": True}
    traces = []
    for shape in ({"num_workers": 1}, {"num_workers": 2}):
        env = pufferlib.make("atari-breakout", **settings, **shape)
        traces.append([env.reset(seed=9)[0].copy(), *(x for step in play(env, 60) for x in step[:4])])
        env.close()
    assert all((a == b).all() for a, b in zip(*traces, strict=True))
    assert not (traces[0][-4][0] == traces[0][-4][1]).all(), "rows differ"


def test_games_begin_with_one_to_noop_max_frames_without_action():
    from pufferlib_atari.game import Game
    from pufferlib_atari.settings import Settings

    game = Game("pong", Settings(noop_max=3))
    begun = set()
    for seed in range(20):
        game.reset(seed)
        begun.add(game.ale.getEpisodeFrameNumber())
    assert begun == {1, 2, 3}
    game = Game("pong", Settings(noop_max=0))
    game.reset(1)
    assert game.ale.getEpisodeFrameNumber() == 0


def test_actions_modes_and_screens():
    env = pufferlib.make("atari-breakout", full_action_space=True, mode=4, difficulty=1, screen_size=(84, 60), frame_stack=2)
    assert env.single_action_space.n == 18 and env.single_observation_space.shape == (2, 84, 60)
    env.reset(seed=1)
    with pytest.raises(ActionError, match="row 0 is 18"):
        env.step([18])
    env.close()
    env = pufferlib.make("atari-breakout", render_mode="rgb_array", grayscale=False)
    assert env.reset(seed=1)[0].shape == (1, 12, 84, 84) and env.render().shape == (210, 160, 3)
    env.close()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"frame_skip": 0}, r"frame_skip must be an integer in \[1, 1000\], got 0"),
        ({"sticky_actions": 1.5}, "sticky_actions must be a number"),
        ({"clip_rewards": 1}, "clip_rewards must be True or False, got 1"),
        ({"screen_size": (84,)}, "screen_size must be one integer or"),
        ({"screen_size": 300}, r"screen_size=300: height 300 must be in \[1, 210\]"),
        ({"mode": 77}, "mode=77 is none of this game's: 0, 4"),
        ({"render_mode": "ansi"}, "render_mode must be None or 'rgb_array'"),
    ],
)
def test_settings_that_cannot_be_are_named(settings, words):
    with pytest.raises(ConfigError, match=words):
        pufferlib.make("atari-breakout", **settings)


def test_unknown_names():
    from pufferlib_atari.env import Atari

    with pytest.raises(EnvNotFoundError, match="atari-pong"):
        pufferlib.make("atari-pog")
    with pytest.raises(EnvNotFoundError, match="Near matches: atari-pong"):
        Atari("pongg")
    with pytest.raises(EnvNotFoundError, match="for several players; the pettingzoo plugin can: pettingzoo-maze-craze"):
        Atari("maze-craze")
    with pytest.raises(TypeError, match="frameskip"):
        pufferlib.make("atari-pong", frameskip=4)


# ---------------------------------------------------------------- backend="native"


@pytest.mark.parametrize("settings", [{}, {"fire_reset": True, "clip_rewards": False, "frame_skip": 5, "screen_size": (64, 42)}])
def test_ales_vector_env_gives_the_same_numbers(settings):
    envs = [
        pufferlib.make("atari-breakout", num_envs=2, noop_max=0, max_frames=900, backend=backend, **settings)
        for backend in ("serial", "native")
    ]
    first = [env.reset(seed=4)[0] for env in envs]
    np.testing.assert_array_equal(*first)
    ends = 0
    for ours, theirs in zip(*(play(env, 250) for env in envs), strict=True):
        for a, b in zip(ours[:4], theirs[:4], strict=True):
            np.testing.assert_array_equal(a, b)
        if "final_obs" in ours[4]:
            row = np.flatnonzero(ours[4]["_final_obs"])[0]
            np.testing.assert_array_equal(ours[4]["final_obs"][row][:-1], theirs[4]["final_obs"][row][:-1])
            ends += 1
    assert ends and envs[0].drain_log() == envs[1].drain_log()


def test_ales_vector_env_is_reproducible_with_its_own_draws():
    traces = []
    for threads in (1, 2):
        env = pufferlib.make("ALE/Breakout-v5", num_envs=4, backend="native", backend_options={"num_threads": threads})
        traces.append([env.reset(seed=1)[0].copy(), *(step[0] for step in play(env, 40))])
        env.close()
    assert all((a == b).all() for a, b in zip(*traces, strict=True))


@pytest.mark.parametrize("settings", [{"episodic_life": True}, {"grayscale": False}, {"mode": 0}, {"render_mode": "rgb_array"}])
def test_what_ales_vector_env_does_otherwise_is_refused(settings):
    with pytest.raises(ConfigError, match=f"{next(iter(settings))}=.*use another backend"):
        pufferlib.make("atari-breakout", backend="native", **settings)


def test_the_native_back_end_is_for_atari_only():
    with pytest.raises(ConfigError, match="atari plugin's games only"):
        pufferlib.make("gym-CartPole-v1", backend="native")
