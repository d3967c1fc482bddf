"""The real packages behind the names; those that are not installed skip. `PACKAGES` says which name stands for each."""

import importlib.util
import itertools

import numpy as np
import pytest

import pufferlib
from pufferlib import PuffeRL, TrainConfig
from pufferlib.errors import ConfigError, EnvError, EnvNotFoundError
from pufferlib.plugins import registry
from pufferlib.policies import build_policy
from pufferlib_gym_extra.needed import INSTALL, needed_for
from pufferlib_gym_extra.plugin import SUMMARIES

pytestmark = pytest.mark.filterwarnings("ignore")  # the packages' own
PACKAGES = {
    "highway-parking": ("highway_env",),
    "vizdoom-basic": ("vizdoom",),
    "dm-control-cartpole-swingup": ("shimmy", "dm_control", "mujoco"),
    "bsuite-catch": ("shimmy", "bsuite"),
    "bsuite-memory-len": ("shimmy", "bsuite"),
    "openspiel-tic-tac-toe": ("shimmy", "pyspiel", "pettingzoo"),
    "openspiel-kuhn-poker": ("shimmy", "pyspiel", "pettingzoo"),
    "retro-airstriker-genesis": ("stable_retro",),
}
"""Name -> the modules that it needs."""


def need(*modules):
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


@pytest.fixture(params=PACKAGES)
def name(request):
    need(*PACKAGES[request.param])
    return request.param


def allowed(vec, rng):
    """Random actions, only such as the masks allow where there are masks."""
    actions = vec.action_space.sample()
    for row in range(vec.num_agents) if vec.action_mask_size else ():
        actions[row] = rng.choice(np.flatnonzero(vec.storage.action_masks[0][row]))
    return actions


def play(name):
    """Rows of a random game."""
    workers = {"num_workers": 2} if name.startswith("retro") else {"num_workers": 1}
    vec = pufferlib.make(name, num_envs=2, seed=3, **workers)
    vec.action_space.seed(0)
    rng, rows = np.random.default_rng(0), [vec.reset()[0].copy()]
    for _ in range(5 if name.startswith("highway") else 30):
        observations, rewards, terminals, truncations, _ = vec.step(allowed(vec, rng))
        assert observations.dtype == vec.single_observation_space.dtype and np.isfinite(rewards).all()
        rows += [observations.copy(), rewards.copy(), terminals.copy(), truncations.copy()]
    vec.close()
    return rows


def test_the_same_seed_plays_the_same_game(name):
    first, again = play(name), play(name)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))


def test_it_trains(name):
    vec = pufferlib.make(name, num_envs=2, num_workers=2, backend="processes", seed=0)
    policy = build_policy("mlp", vec.single_observation_space, vec.single_action_space, hidden_size=16)
    trainer = PuffeRL(vec, policy, TrainConfig(device="cpu", batch_size=vec.num_agents * 16, total_timesteps=10**6))
    for _ in itertools.repeat(None, 2):
        trainer.evaluate()
        trainer.train()
        metrics = trainer.mean_and_log()
    losses = [value for key, value in metrics.items() if key.startswith("losses/")]
    assert losses and np.isfinite(losses).all()
    trainer.close()


@pytest.mark.parametrize(
    ("prefix", "modules", "some", "wrong"),
    [
        ("highway", ("highway_env",), {"highway", "merge", "intersection", "parking"}, "merg"),
        ("vizdoom", ("vizdoom",), {"basic", "deathmatch", "healthgathering"}, "basics"),
        ("dm-control", ("shimmy", "dm_control"), {"cartpole-swingup", "ball-in-cup-catch", "humanoid-walk"}, "cartpole-swing"),
        ("bsuite", ("bsuite",), {"catch", "deep-sea", "memory-len"}, "catsh"),
        ("openspiel", ("pyspiel",), {"tic-tac-toe", "connect-four", "chess", "hex"}, "conect-four"),
        ("retro", ("stable_retro",), {"airstriker-genesis"}, "airstriker-genesi"),
    ],
)
def test_names(prefix, modules, some, wrong):
    need(*modules)
    (family,) = [family for family in registry().families() if family.prefix == prefix]
    found = registry().family_names(family)
    assert some <= {name.removeprefix(f"{prefix}-") for name in found}
    with pytest.raises(EnvNotFoundError, match=f"Near matches: .*{prefix}-"):
        pufferlib.make(f"{prefix}-{wrong}")


@pytest.mark.parametrize("prefix", SUMMARIES)
def test_a_missing_package_is_named_with_the_line_that_installs_it(prefix):
    with pytest.raises(EnvError, match=r"No module named 'nowhere'.*Install it with: pip install") as raised, needed_for(prefix):
        import nowhere  # noqa: F401
    assert INSTALL[prefix] in str(raised.value)


def test_settings_of_bsuite_are_its_own():
    need("bsuite", "shimmy")
    sizes = [pufferlib.make("bsuite-deep-sea", setting=setting).single_observation_space.shape for setting in (0, 3)]
    assert sizes == [(10, 10), (16, 16)]
    with pytest.raises(ConfigError, match="setting=99 must be 0 to 19 for catch"):
        pufferlib.make("bsuite-catch", setting=99)


def test_parameters_of_openspiel_are_the_games_own():
    need("pyspiel", "shimmy")
    assert pufferlib.make("openspiel-hex", board_size=4).single_action_space.n == 16
    with pytest.raises(EnvError, match=r"openspiel-hex: .*bord_size"):
        pufferlib.make("openspiel-hex", bord_size=4)


def test_a_second_console_in_a_process_is_refused_with_the_way_out():
    need("stable_retro")
    with pytest.raises(EnvError, match=r"one game in a process.*num_workers equal to num_envs"):
        pufferlib.make("retro-airstriker-genesis", num_envs=2, num_workers=1, backend="serial")


def test_frames():
    need("vizdoom")
    vec = pufferlib.make("vizdoom-basic", render_mode="rgb_array", num_workers=1)
    vec.reset(seed=0)
    frame = vec.render()
    assert frame.dtype == np.uint8 and frame.ndim == 3 and frame.std() > 0
    vec.close()


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("gym-LunarLander-v3", "Box2D"),
        ("gym-LunarLanderContinuous-v3", "Box2D"),
        ("gym-HalfCheetah-v5", "mujoco"),
        ("gym-Taxi-v4", "gymnasium"),
        ("gym-Blackjack-v1", "gymnasium"),
        ("gym-Pendulum-v1", "gymnasium"),
        ("gym-highway_env:merge-v1", "highway_env"),
    ],
)
def test_gymnasiums_own_groups_and_ids_of_a_module_need_nothing_of_this(name, module):
    need(module)
    vec = pufferlib.make(name, num_envs=2, num_workers=1, seed=0)
    vec.reset()
    for _ in range(3):
        _, rewards, *_ = vec.step(vec.action_space.sample())
        assert np.isfinite(rewards).all()
    vec.close()
