"""The real packages: Butterfly, Classic, MPE, SISL, and PettingZoo's own example envs for its API tests."""

import importlib
import importlib.util
import itertools
import pkgutil

import numpy as np
import pettingzoo.test.example_envs
import pytest
from gymnasium import spaces
from pettingzoo.utils.wrappers import TerminateIllegalWrapper

import pufferlib
from pufferlib import PuffeRL, TrainConfig
from pufferlib.policies import build_policy
from pufferlib_pettingzoo.names import newest

pytestmark = pytest.mark.filterwarnings("ignore")  # the packages' own
NAMES = newest()
SLOW = {"pistonball": 4, "pursuit": 4, "cooperative-pong": 20}
"""Steps, where they are slow."""
PACKAGES = {"butterfly": "pygame", "classic": "pygame", "mpe2": "mpe2"}
EXAMPLES = [module.name for module in pkgutil.iter_modules(pettingzoo.test.example_envs.__path__)]


def masked_choice(vec, rng):
    """A random action for every row among those that its mask allows."""
    space, masks = vec.single_action_space, vec.storage.action_masks
    if isinstance(space, spaces.Box):
        return rng.uniform(-1, 1, (vec.num_agents, *space.shape)).astype(np.float32)
    sizes = [space.n] if isinstance(space, spaces.Discrete) else space.nvec.tolist()
    ends = np.cumsum(sizes)
    heads = [
        [rng.choice(np.flatnonzero(row[end - size : end])) for size, end in zip(sizes, ends, strict=True)] for row in masks[0]
    ]
    return np.array(heads, np.int32).reshape(vec.action_space.shape)


@pytest.fixture
def illegal(monkeypatch):
    """Every action that PettingZoo's own check of a game's rules found illegal."""
    found = []
    step = TerminateIllegalWrapper.step

    def watched(self, action):
        step(self, action)
        found.extend([action] * bool(self._terminated))

    monkeypatch.setattr(TerminateIllegalWrapper, "step", watched)
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_the_packages_are_there(package):
    if importlib.util.find_spec(PACKAGES[package]) is None:
        pytest.skip(f"{PACKAGES[package]} is not installed")
    assert any(package in module for module in NAMES.values())


@pytest.mark.parametrize("name", NAMES)
def test_random_games_stay_inside_the_spaces_and_are_never_illegal(name, illegal):
    vec = pufferlib.make(f"pettingzoo-{name}", num_envs=2, pad=True, seed=1)
    rng = np.random.default_rng(0)
    observations, _ = vec.reset()
    assert vec.num_agents == 2 * vec.agents_per_env == len(observations)
    if vec.action_mask_size:
        assert vec.storage.action_masks.shape == (1, vec.num_agents, vec.action_mask_size)
    ended = 0
    for _ in range(SLOW.get(name, 120)):
        observations, rewards, terminals, truncations, _ = vec.step(masked_choice(vec, rng))
        assert observations.dtype == vec.single_observation_space.dtype and np.isfinite(rewards).all()
        masks = vec.storage.masks[0]
        assert not rewards[~masks].any() and not (terminals | truncations)[~masks].any()
        ended += int((terminals | truncations).sum())
    assert not illegal
    assert (vec.drain_log() or {"n": 0})["n"] == ended
    vec.close()


@pytest.mark.parametrize("name", ["tictactoe", "knights-archers-zombies", "simple-spread"])
def test_processes_give_the_same_numbers(name):
    kept = []
    for options in ({"backend": "serial"}, {"backend": "processes", "num_workers": 2}):
        vec = pufferlib.make(f"pettingzoo-{name}", num_envs=2, seed=4, **options)
        rng, rows = np.random.default_rng(0), [vec.reset()[0].copy()]
        for _ in range(30):
            observations, rewards, terminals, _, _ = vec.step(masked_choice(vec, rng))
            rows += [observations.copy(), rewards.copy(), terminals.copy(), vec.storage.masks[0].copy()]
        vec.close()
        kept.append(rows)
    assert all(np.array_equal(a, b) for a, b in zip(*kept, strict=True))


@pytest.mark.parametrize("example", EXAMPLES)
def test_pettingzoos_example_envs_with_agents_that_are_born_at_any_time(example):
    """Agents and the spaces of their types are drawn at random, so all must be told what holds them."""
    module = importlib.import_module(f"pettingzoo.test.example_envs.{example}")
    vec = pufferlib.emulate(
        getattr(module, "parallel_env", None) or module.env,
        num_envs=2, seed=0, pad=True, max_agents=40,
        joint_observation_space=spaces.Box(0, 1, (50,), np.float32), joint_action_space=spaces.Discrete(10),
    )  # fmt: skip
    rng, born = np.random.default_rng(0), 0
    vec.reset()
    was_there = vec.storage.masks[0].copy()
    for _ in range(150):
        vec.step(masked_choice(vec, rng))
        born += int((vec.storage.masks[0] & ~was_there).sum())
        was_there |= vec.storage.masks[0]
    assert vec.num_agents == 80 and born > 0
    vec.close()


@pytest.mark.parametrize("name", ["simple-spread", "tictactoe", "simple-tag"])
def test_training(name, illegal):
    """Losses stay finite, and no agent does what it may not: padded actions would raise, illegal moves be found."""
    vec = pufferlib.make(f"pettingzoo-{name}", num_envs=4, pad=True, seed=0)
    policy = build_policy("mlp", vec.single_observation_space, vec.single_action_space, hidden_size=16)
    trainer = PuffeRL(vec, policy, TrainConfig(device="cpu", batch_size=vec.num_agents * 32, total_timesteps=10**6))
    for _ in itertools.repeat(None, 3):
        trainer.evaluate()
        trainer.train()
        metrics = trainer.mean_and_log()
    assert trainer.global_step == 3 * vec.num_agents * 32 and not illegal
    losses = [value for key, value in metrics.items() if key.startswith("losses/")]
    assert losses and np.isfinite(losses).all() and np.isfinite(metrics["environment/episode_return"])
    trainer.close()
