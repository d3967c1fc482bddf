"""The real package: names, views, missions, ends of episodes."""

import itertools
import subprocess
import sys
from typing import ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from minigrid.core.mission import MissionSpace

import pufferlib
from pufferlib.errors import ConfigError, EnvError, EnvNotFoundError
from pufferlib.testing import check_plugin
from pufferlib_minigrid.envs import list_babyai, list_minigrid, make_babyai, make_env, make_minigrid
from pufferlib_minigrid.missions import BABYAI_LENGTH, WORDS, Missions, longest, split


def registered():
    return [env_id for env_id in gymnasium.registry if env_id.startswith(("MiniGrid-", "BabyAI-"))]


IDS = registered()
RUNNABLE = [env_id for env_id in IDS if "WFC" not in env_id]  # the wheel lacks their patterns
TO_GOAL = [2, 2, 1, 2, 2]
"""In Empty-5x5: forward, forward, right, forward, forward."""


def factory_of(env_id):
    start, _, name = env_id.partition("-")
    return (make_minigrid if start == "MiniGrid" else make_babyai)(name)


def test_every_id_has_a_name_and_every_name_an_id():
    found = [make_minigrid(name).args[0] for name in list_minigrid()] + [make_babyai(name).args[0] for name in list_babyai()]
    ids = registered()  # now: other packages' tests may have registered more since this file was imported
    assert sorted(found) == sorted(ids) == sorted(factory_of(env_id).args[0] for env_id in ids)


@pytest.mark.parametrize(
    ("name", "env_id"),
    [
        ("empty-8x8", "MiniGrid-Empty-8x8-v0"), ("doorkey-8x8", "MiniGrid-DoorKey-8x8-v0"),
        ("door-key-8x8", "MiniGrid-DoorKey-8x8-v0"),
        ("multiroom", "MiniGrid-MultiRoom-N2-S4-v0"), ("empty", "MiniGrid-Empty-5x5-v0"),
        ("lava-crossing", "MiniGrid-LavaCrossingS9N1-v0"), ("babyai-go-to-red-ball", "BabyAI-GoToRedBall-v0"),
        ("obstructedmaze-1q-v0", "MiniGrid-ObstructedMaze-1Q-v0"),
    ],
)  # fmt: skip
def test_names(name, env_id):
    assert make_minigrid(name).args[0] == env_id


def test_wrong_names_get_near_ones():
    with pytest.raises(EnvNotFoundError, match="minigrid-doorkey-8x8"):
        pufferlib.make("minigrid-dorkey-8x8")
    with pytest.raises(EnvNotFoundError, match="babyai-gotoredball"):
        pufferlib.make("babyai-goto-redbal")


def test_listing_imports_no_env_package():
    code = (
        "import sys, pufferlib; from pufferlib.plugins import registry; pufferlib.list_envs();"
        "assert {'minigrid', 'babyai'} <= {family.prefix for family in registry().families()};"
        "heavy = {'minigrid', 'pygame', 'torch', 'gymnasium', 'numpy'} & set(sys.modules); assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_presets():
    check_plugin("minigrid")


@pytest.mark.parametrize("env_id", RUNNABLE[::6])
def test_random_games_stay_inside_the_space(env_id, capsys):
    vec = pufferlib.emulate(factory_of(env_id), num_envs=2, seed=3, check="always")
    vec.reset()
    for _ in range(30):
        observations, *_ = vec.step(vec.action_space.sample())
    seen = pufferlib.unflatten(observations, vec.single_observation_space.structure)
    assert set(seen) == {"image", "direction", "mission"} and all(part.dtype == np.uint8 for part in seen.values())
    assert seen["image"].shape == (2, 7, 7, 3) and ((seen["mission"] > 1).any(1).all() or "Playground" in env_id)
    vec.close()
    assert not capsys.readouterr().out  # BabyAI prints what it rejects


def test_cells_have_the_bounds_of_what_they_may_hold():
    env = make_env("MiniGrid-Empty-5x5-v0")
    space = env.observation_space["image"]
    assert (space.high[0, 0] == [10, 5, 3]).all()
    env.close()


@pytest.mark.parametrize("view", ["partial", "full"])
@pytest.mark.parametrize("rgb", [False, True])
def test_images_are_minigrids_own(view, rgb):
    """Against the grid itself, drawn and encoded here."""
    env = make_env("MiniGrid-DoorKey-6x6-v0", view=view, rgb=rgb, tile_size=5)
    image = env.reset(seed=4)[0]["image"]
    world = env.unwrapped
    if view == "full":
        want = world.get_frame(highlight=True, tile_size=5) if rgb else world.grid.encode()
        if not rgb:
            want[world.agent_pos] = [10, 0, world.agent_dir]
    else:
        want = world.get_frame(tile_size=5, agent_pov=True) if rgb else world.gen_obs()["image"]
    assert image.dtype == np.uint8 and np.array_equal(image, want) and env.observation_space.contains(env.reset(seed=4)[0])
    env.close()


def test_without_missions():
    vec = pufferlib.make("minigrid-empty-5x5", mission=False)
    assert list(vec.single_observation_space.structure.space) == ["direction", "image"]
    vec.close()


# ------------------------------------------------------------ missions


@pytest.mark.parametrize("env_id", [env_id for env_id in RUNNABLE if env_id.startswith("MiniGrid")])
def test_the_longest_mission_and_its_words(env_id):
    """All missions that the placeholders allow."""
    env = gymnasium.make(env_id)
    space = env.unwrapped.observation_space["mission"]
    texts = [space.mission_func(*chosen) for chosen in itertools.product(*space.ordered_placeholders or [])]
    assert longest(space) == max(len(split(text)) for text in texts)
    assert {word for text in texts for word in split(text)} <= set(WORDS)
    env.close()


MISSION = "Whoosh to the  RED ball, then (perhaps) stop"


class Telling:
    """Stands for an env with one mission."""

    observation_space: ClassVar = {"mission": MissionSpace(lambda: MISSION)}

    @property
    def unwrapped(self):
        return self


def test_tokens_are_words_in_order():
    missions = Missions(Telling(), words=["Perhaps"])
    tokens = missions.tokens(MISSION)
    words = ["<end>", "?", *WORDS, "perhaps"]
    assert [words[token] for token in tokens] == ["?", "to", "the", "red", "ball", "then", "perhaps", "?"]
    assert missions.space == spaces.MultiDiscrete([len(words)] * 8, dtype=np.uint8) and missions.space.contains(tokens)
    assert missions.tokens("Go") .tolist() == [words.index("go"), *[0] * 7]  # fmt: skip


def test_an_env_that_asks_for_nothing_has_a_token_all_the_same():
    env = make_minigrid("playground")()
    assert env.reset(seed=0)[0]["mission"].tolist() == [0]
    env.close()


def test_a_mission_too_long_is_an_error_that_names_the_setting():
    vec = pufferlib.make("minigrid-empty-5x5", mission_length=5, backend="serial")
    with pytest.raises(EnvError, match="mission_length=6 or more"):
        vec.reset()
    vec.close()


def test_babyai_missions_fit():
    env = make_babyai("minibosslevel")()
    for seed in range(8):
        text = env.unwrapped.reset(seed=seed)[0]["mission"]
        assert len(split(text)) <= BABYAI_LENGTH and set(split(text)) <= set(WORDS)
    env.close()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"view": "up"}, "view must be one of partial, full"), ({"tile_size": 0}, "tile_size"),
        ({"mission_length": 0}, "mission_length"),
        ({"words": "red"}, "words must be a list"),
        ({"words": [str(n) for n in range(300)]}, "there may be 201 of your own, got 300"),
    ],
)  # fmt: skip
def test_wrong_arguments(arguments, text):
    with pytest.raises(ConfigError, match=text):
        make_env("MiniGrid-Empty-5x5-v0", **arguments)


# ------------------------------------------------------------ episodes


def test_the_goal_terminates_and_time_truncates():
    vec = pufferlib.make("minigrid-empty-5x5", num_envs=2, seed=0, max_steps=5)
    vec.reset()
    for to_goal in TO_GOAL:
        _, rewards, terminals, truncations, _ = vec.step(np.array([to_goal, 0]))
    assert terminals.tolist() == [True, False] and truncations.tolist() == [False, True]
    assert rewards.tolist() == pytest.approx([1 - 0.9 * 5 / 5, 0])
    vec.close()


def test_processes_give_the_same_numbers():
    kept = []
    for options in ({"backend": "serial"}, {"backend": "processes", "num_workers": 2}):
        vec = pufferlib.make("babyai-gotolocal", num_envs=2, seed=4, max_steps=12, **options)
        rng, rows = np.random.default_rng(0), [vec.reset()[0].copy()]
        for _ in range(40):
            rows += [part.copy() for part in vec.step(rng.integers(0, 7, 2))[:4]]
        vec.close()
        kept.append(rows)
    assert all(np.array_equal(a, b) for a, b in zip(*kept, strict=True))
