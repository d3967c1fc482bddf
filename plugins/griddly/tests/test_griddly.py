"""Griddly, the real package: every game, ends and limits, seeds, several players."""

import numpy as np
import pytest
from gymnasium import spaces

import pufferlib
from pufferlib.errors import ConfigError, EnvError, EnvNotFoundError
from pufferlib.testing import check_env, check_plugin

griddly = pytest.importorskip("griddly")
from pufferlib_griddly import env as adapter  # noqa: E402
from pufferlib_griddly import names  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # the package's own
RULES = """
Version: "0.1"
Environment:
  Name: Line
  Description: one step to the right wins
  Observers:
    Vector:
      IncludePlayerId: false
  Player:
    AvatarObject: a
  Termination:
    Win:
      - eq: [goal:count, 0]
    Lose:
      - eq: [trap:count, 0]
  Levels:
    - |
      t a g .
    - |
      . . . .
      t a g .
Actions:
  - Name: move
    Behaviours:
      - Src: {Object: a, Commands: [mov: _dest]}
        Dst: {Object: _empty}
      - Src: {Object: a, Commands: [reward: 1, mov: _dest]}
        Dst: {Object: goal, Commands: [remove: true]}
      - Src: {Object: a, Commands: [reward: -1, mov: _dest]}
        Dst: {Object: trap, Commands: [remove: true]}
Objects:
  - Name: a
    MapCharacter: a
  - Name: goal
    MapCharacter: g
  - Name: trap
    MapCharacter: t
"""
LEFT, RIGHT = 1, 3


@pytest.fixture
def line(tmp_path):
    """A game with a trap to the left of the avatar and its goal to the right."""
    path = tmp_path / "line.yaml"
    path.write_text(RULES, encoding="utf-8")
    return path


def test_the_plugin_is_sound():
    assert check_plugin("griddly", steps=0)
    check_env(names.make_family("clusters"), num_envs=2, steps=60)
    check_env(names.make_family("foragers"), num_envs=2, steps=20, max_steps=8)


def test_names():
    games = names.list_games()
    assert {"sokoban", "clusters", "zelda", "spider-nest", "rts", "robot-tag-4", "kill-the-king", "minigrid-doggo"} <= set(games)
    with pytest.raises(EnvNotFoundError, match="griddly-sokoban"):
        pufferlib.make("griddly-sokobann")


@pytest.mark.parametrize("name", names.list_games())
def test_every_game_plays(name):
    vec = pufferlib.make(f"griddly-{name}", num_envs=2, seed=1, max_steps=10)
    observations, _ = vec.reset()
    assert observations.dtype == np.uint8 and len(observations) == vec.num_agents == 2 * vec.agents_per_env
    for _ in range(20):
        observations, rewards, terminals, truncations, _ = vec.step(vec.action_space.sample())
        assert np.isfinite(rewards).all() and not (terminals & truncations).any()
    assert vec.drain_log()["n"] >= 2 * vec.num_agents
    vec.close()


def test_wins_losses_and_limits_are_told_apart(line):
    vec = pufferlib.emulate(lambda: adapter.make_env(line, max_steps=2), num_envs=3)
    vec.reset(seed=0)
    _, rewards, terminals, truncations, _ = vec.step([0, LEFT, RIGHT])
    assert rewards.tolist() == [0, -1, 1]
    assert terminals.tolist() == [False, True, True] and not truncations.any()
    _, _, terminals, truncations, _ = vec.step([0, 0, 0])
    assert truncations.tolist() == [True, False, False] and not terminals.any()
    log = vec.drain_log()
    assert log["n"] == 3 and log["win"] == pytest.approx(1 / 3) and log["episode_length"] == pytest.approx(4 / 3)
    vec.close()


def test_the_rules_decide_in_the_last_step_before_the_limit(line):
    env = adapter.make_env(line, max_steps=1)
    env.reset(seed=0)
    assert env.step(RIGHT)[1:] == (1, True, False, {"win": 1.0})
    env = adapter.make_env(line, max_steps=None)
    env.reset(seed=0)
    assert not any(any(env.step(0)[2:4]) for _ in range(1100))


def test_several_players_are_rows_in_order():
    vec = pufferlib.make("griddly-robot-tag-4", num_envs=2, max_steps=3)
    vec.reset(seed=0)
    assert vec.num_agents == 8 and isinstance(vec.single_action_space, spaces.MultiDiscrete)
    for step in (1, 2, 3):
        _, _, terminals, truncations, _ = vec.step(np.zeros((8, 2), np.int32))
        assert truncations.all() == (step == 3) and not terminals.any()
    assert vec.storage.masks.all()
    vec.close()


def test_the_players_actions_reach_their_own():
    made = names.make_family("robot-tag-4")()
    made.reset(seed=0)
    seen = []
    made.env.step = lambda actions: seen.append(actions) or ([0] * 4, [1, 2, 3, 4], True, {"PlayerResults": {"2": "Win"}})
    _, rewards, terminals, _, infos = made.step({f"player_{k}": k for k in (4, 3, 2, 1)})
    assert seen == [[1, 2, 3, 4]] and rewards["player_3"] == 3 and terminals["player_1"] and made.agents == []
    assert infos["player_2"] == {"win": 1.0} and infos["player_1"] == {"win": 0.0}


@pytest.mark.parametrize("name", ["butterflies", "robot-tag-4"])
def test_a_seed_repeats_the_creatures(name):
    kept = []
    for seed in (1, 1, 2):
        vec = pufferlib.make(f"griddly-{name}", num_envs=1)
        rng, rows = np.random.default_rng(0), [vec.reset(seed=seed)[0].copy()]
        heads = getattr(vec.single_action_space, "nvec", None)
        for _ in range(80):
            actions = rng.integers(heads, size=(vec.num_agents, 2)) if heads is not None else rng.integers(5, size=1)
            rows.append(vec.step(actions)[0].copy())
        vec.close()
        kept.append(np.stack(rows))
    assert (kept[0] == kept[1]).all() and (kept[0] != kept[2]).any()


def test_levels_and_frames(line):
    small, large = (adapter.make_env(line, level=level) for level in (0, 1))
    assert small.observation_space.shape[2] == 1 and large.observation_space.shape[2] == 2
    large.reset(seed=0)
    frame = large.render()
    assert frame.shape[0] * 4 == frame.shape[1] * 2 and frame.dtype == np.uint8 and frame.any()
    players = names.make_family("foragers")()
    players.reset(seed=0)
    assert players.render().ndim == 3


def test_emulate_takes_the_packages_own_env(line):
    vec = pufferlib.emulate(lambda: griddly.GymWrapper(str(line), level=1), num_envs=2)
    assert vec.single_observation_space.shape[2] == 2
    vec.reset(seed=0)
    assert vec.step([RIGHT, 0])[2].tolist() == [True, False]
    vec.close()


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"level": 2}, "level must be a whole number from 0 to 1, got 2"),
        ({"observer": "pixels"}, "observer must be one of vector"),
        ({"max_steps": 0}, "max_steps must be"),
        ({"render_mode": "human"}, "rgb_array"),
    ],
)
def test_wrong_arguments_are_named(line, wrong, match):
    with pytest.raises(ConfigError, match=match):
        adapter.make_env(line, **wrong)


def test_pictures_without_vulkan_are_an_error(line, monkeypatch):
    """Griddly itself would end the process."""
    monkeypatch.setattr(adapter, "DRIVER_FOLDERS", ())
    monkeypatch.delenv("VK_DRIVER_FILES", raising=False)
    monkeypatch.delenv("VK_ICD_FILENAMES", raising=False)
    with pytest.raises(EnvError, match=r"sprite_2d.*Vulkan"):
        adapter.make_env(line, observer="sprite_2d")


def test_without_griddly_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(names.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EnvError, match=r"pip install 'pufferlib\[griddly\]'"):
        names.make_family("sokoban")
