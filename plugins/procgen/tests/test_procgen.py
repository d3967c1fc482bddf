"""The 16 games: what they give against the bare gym3 env, seeds, levels, ends of episodes, and arguments."""

import contextlib
import functools
import io
import subprocess
import sys

import numpy as np
import pytest

import pufferlib
from pufferlib.errors import ActionError, ConfigError, EnvError, EnvNotFoundError
from pufferlib.testing import check_env
from pufferlib_procgen.games import GAMES, INSTALL, MODES, TIME_LIMITS

with contextlib.redirect_stderr(io.StringIO()):
    procgen = pytest.importorskip("procgen", reason=INSTALL, exc_type=ImportError)


def play(env, steps, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        yield [x.copy() for x in env.step(rng.integers(15, size=env.num_agents))[:4]]


@pytest.mark.parametrize("game", GAMES)
def test_every_game_gives_what_the_bare_env_gives(game):
    """One world, whose seed is known, and Procgen's own env of that seed."""
    env = pufferlib.make(f"procgen-{game}", distribution_mode="easy")
    bare = procgen.ProcgenGym3Env(num=1, env_name=game, distribution_mode="easy", rand_seed=5, num_threads=0)
    observations, _ = env.reset(seed=[5])
    np.testing.assert_array_equal(observations, bare.observe()[1]["rgb"])
    rng, ended = np.random.default_rng(1), 0
    for _ in range(150):
        action = rng.integers(15, size=1, dtype=np.int32)
        bare.act(action)
        reward, shown, first = bare.observe()
        before = observations.copy()
        observations, rewards, terminals, truncations, infos = env.step(action)
        np.testing.assert_array_equal(observations, shown["rgb"])
        assert rewards[0] == reward[0] and (terminals | truncations)[0] == first[0]
        if first[0]:
            ended += 1
            np.testing.assert_array_equal(infos["final_obs"], before)  # the last picture that the API shows
    assert env.drain_log().get("n", 0) == ended
    env.close()


@pytest.mark.parametrize("slots", [1, 2, 4])
def test_final_observations_are_the_pictures_before_in_whatever_slot_they_stand(slots):
    """A rollout's steps go to one slot after the other, and begin again at the first."""
    env = pufferlib.make("procgen-starpilot", num_envs=64, distribution_mode="easy")
    storage = env.allocate(slots)
    env.async_reset(seed=1)
    before, rng, ended = env.recv().observations.copy(), np.random.default_rng(0), []
    for step in range(1, 91):
        env.send(rng.integers(15, size=64), slot=step % slots)
        batch = env.recv()
        over = batch.terminals | batch.truncations
        np.testing.assert_array_equal(storage.final_observations[step % slots][over], before[over])
        assert not (before == batch.observations).all()
        before = batch.observations.copy()
        ended.append(over.sum())
    assert sum(ended[2:]) > 10 and env.drain_log()["n"] == sum(ended)
    env.close()


def test_rules_of_every_env():
    from pufferlib_procgen.env import Procgen

    check_env(functools.partial(Procgen, "starpilot"), steps=200)


def test_seeds_belong_to_worlds_and_not_to_batches():
    whole = pufferlib.make("procgen-bigfish", num_envs=4)
    first = whole.reset(seed=[7, 8, 9, 7])[0].copy()
    assert (first[0] == first[3]).all() and not (first[0] == first[1]).all()
    traces = []
    for shape in ({"num_workers": 1}, {"num_workers": 2}):
        env = pufferlib.make("procgen-bigfish", num_envs=4, **shape)
        traces.append([env.reset(seed=3)[0].copy(), *(x for step in play(env, 40) for x in step)])
        env.close()
    assert all((a == b).all() for a, b in zip(*traces, strict=True))


def test_a_reset_without_a_seed_goes_on():
    env = pufferlib.make("procgen-coinrun", num_envs=2)
    first = env.reset(seed=1)[0].copy()
    list(play(env, 20))
    second = env.reset()[0].copy()
    assert not (first == second).all()
    env.reset(seed=1)
    list(play(env, 20))
    np.testing.assert_array_equal(env.reset()[0], second)
    env.close()


def test_num_levels_and_start_level_choose_the_levels():
    seen = {}
    for start in (0, 100):
        env = pufferlib.make("procgen-leaper", num_envs=64, num_levels=2, start_level=start)
        seen[start] = {picture.tobytes() for picture in env.reset(seed=1)[0]}
        env.close()
    assert len(seen[0]) == len(seen[100]) == 2 and not seen[0] & seen[100]


@pytest.mark.parametrize("game", ["leaper", "maze"])
def test_a_games_time_limit_truncates(game):
    """A world that never acts."""
    env = pufferlib.make(f"procgen-{game}", distribution_mode="easy")
    env.reset(seed=[1])
    for step in range(1, TIME_LIMITS[game] + 1):
        *_, terminals, truncations, _ = env.step([4])
        assert not terminals[0] and truncations[0] == (step == TIME_LIMITS[game])
    assert env.drain_log() == {"episode_return": 0, "episode_length": TIME_LIMITS[game], "n": 1, "level_complete": 0}
    env.close()


def test_a_completed_level_is_terminal_and_counted():
    env = pufferlib.make("procgen-coinrun", num_envs=16, distribution_mode="easy")
    env.reset(seed=1)
    ended = terminal = 0
    rng = np.random.default_rng(0)
    for _ in range(250):
        right_jumping_now_and_then = np.where(rng.random(16) < 0.3, 8, 7)
        _, rewards, terminals, _, _ = env.step(right_jumping_now_and_then)
        ended += (rewards > 0).sum()
        terminal += terminals[rewards > 0].sum()
    log = env.drain_log()
    assert ended == terminal > 0 and log["level_complete"] * log["n"] == pytest.approx(ended)
    env.close()


def test_modes_and_pictures():
    for mode, games in MODES.items():
        env = pufferlib.make(f"procgen-{games[-1]}", distribution_mode=mode, render_mode="rgb_array", use_backgrounds=False)
        assert env.reset(seed=1)[0].shape == (1, 64, 64, 3) and env.render().shape == (512, 512, 3)
        env.close()


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"distribution_mode": "memory"}, ConfigError, "coinrun does not have it; caveflyer, dodgeball"),
        ({"distribution_mode": "brutal"}, ConfigError, "must be one of easy, hard"),
        ({"num_levels": -1}, ConfigError, r"num_levels must be an integer in \[0, "),
        ({"start_level": 2**31 - 1, "num_levels": 2}, ConfigError, "must be at most"),
        ({"distribution_mode": "exploration", "num_levels": 3}, ConfigError, "leave out num_levels"),
        ({"num_threads": -1}, ConfigError, "num_threads must be"),
        ({"use_backgrounds": 3}, ConfigError, "use_backgrounds must be True or False"),
        ({"render_mode": "human"}, ConfigError, "render_mode must be"),
        ({"level": 3}, TypeError, "procgen-coinrun has no argument 'level'"),
    ],
)
def test_arguments_that_would_end_the_process_are_refused(settings, error, words):
    with pytest.raises(error, match=words):
        pufferlib.make("procgen-coinrun", **settings)


def test_unknown_games_and_actions():
    from pufferlib_procgen.env import Procgen

    with pytest.raises(EnvNotFoundError, match="procgen-coinrun"):
        pufferlib.make("procgen-coinrn")
    with pytest.raises(EnvNotFoundError, match="near matches: coinrun"):
        Procgen("coinrn")
    env = pufferlib.make("procgen-coinrun")
    env.reset(seed=1)
    for wrong in (-1, 15):
        with pytest.raises(ActionError, match=f"row 0 is {wrong}"):
            env.step([wrong])
        env.reset()
    env.close()


def test_where_procgen_is_missing_the_error_has_the_line(monkeypatch):
    from pufferlib_procgen.env import Procgen

    monkeypatch.setitem(sys.modules, "procgen", None)
    with pytest.raises(EnvError, match="pip install --no-deps procgen2"):
        Procgen("coinrun")


def test_the_plugin_module_does_not_import_procgen():
    code = "import pufferlib_procgen.plugin as p, sys; print(len(p.pufferlib_envs()), 'procgen' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "16 False\n"
