"""Crafter, the real package: ends, seeds, logs, frames."""

import math
import subprocess
import sys

import numpy as np
import pytest

import pufferlib
from pufferlib.errors import ConfigError
from pufferlib.testing import check_env, check_plugin

crafter = pytest.importorskip("crafter")
from pufferlib_crafter.env import Crafter, crafter_score  # noqa: E402

SMALL = (16, 16)
"""A world whose making takes little time."""
PLAY = """
import hashlib, sys
import numpy as np
from pufferlib_crafter.env import Crafter
env, rng, digest = Crafter(area=(32, 32)), np.random.default_rng(0), hashlib.md5()
digest.update(env.reset(seed=3)[0].tobytes())
for _ in range(400):
    observation, _, terminal, truncation, _ = env.step(int(rng.integers(17)))
    digest.update(observation.tobytes())
    if terminal or truncation:
        digest.update(env.reset()[0].tobytes())
print(digest.hexdigest())
"""


def test_the_plugin_is_sound():
    assert check_plugin("crafter", steps=0)
    check_env(lambda: Crafter(length=5, area=SMALL), num_envs=2, steps=12)


def test_a_seed_repeats_creatures_in_another_process_too():
    """Crafter's own sets of creatures have another order in each."""
    digests = {
        subprocess.run([sys.executable, "-W", "ignore", "-c", PLAY], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(digests) == 1 and len(digests.pop().strip()) == 32
    first, again, other = (Crafter(area=SMALL).reset(seed=seed)[0] for seed in (3, 3, 4))
    assert (first == again).all() and (first != other).any()


def test_the_time_limit_is_a_truncation_and_death_a_terminal():
    env = Crafter(length=3, area=SMALL)
    env.reset(seed=0)
    flags = [env.step(0)[2:4] for _ in range(3)]
    assert flags == [(False, False), (False, False), (False, True)]
    env = Crafter(area=SMALL)
    env.reset(seed=0)
    env.env._player.health = 0
    assert env.step(0)[2:4] == (True, False)
    env = Crafter(length=1, area=SMALL)  # both at once: dead is dead
    env.reset(seed=0)
    env.env._player.health = 0
    assert env.step(0)[2:4] == (True, False)


def test_emulate_takes_the_packages_own_env():
    vec = pufferlib.emulate(lambda: crafter.Env(length=2, area=SMALL), num_envs=2)
    vec.reset(seed=1)
    vec.step([0, 0])
    _, _, terminals, truncations, _ = vec.step([0, 0])
    assert truncations.all() and not terminals.any()
    vec.close()


def test_the_log_has_the_share_of_episodes_that_unlocked_each_achievement():
    made = []

    def make():
        made.append(Crafter(area=SMALL, length=4))
        return made[-1]

    vec = pufferlib.emulate(make, num_envs=2)
    vec.reset(seed=0)
    for step in range(8):
        if step == 5:  # in the second episode of one env
            made[1].env._player.achievements["collect_wood"] = 3
        vec.step([0, 0])
    log = vec.drain_log()
    assert log["n"] == 4 and log["achievement/collect_wood"] == log["achievements"] == 0.25 and log["achievement/eat_cow"] == 0
    assert sum("achievement/" in name for name in log) == 22
    vec.close()


def test_the_score_is_the_papers():
    assert crafter_score({"achievement/a": 1.0, "achievement/b": 0.0, "n": 3}) == pytest.approx(math.sqrt(101) - 1)
    assert crafter_score({"environment/achievement/a": 0.2}) == pytest.approx(20)
    with pytest.raises(ValueError, match="no achievement"):
        crafter_score({"n": 1})


def test_rewards_can_be_left_out_and_infos_be_asked_for():
    quiet = Crafter(reward=False, step_info=True, length=2, area=SMALL)
    quiet.reset(seed=0)
    quiet.env._player.achievements["collect_wood"] = 1
    _, reward, _, _, info = quiet.step(0)
    assert reward == 0 and info["reward"] == 1 and info["inventory"]["health"] == 9 and info["semantic"].shape == SMALL
    assert quiet.step(0)[4]["achievement/collect_wood"] == 1.0


def test_frames_and_observations_have_the_size_asked_for():
    vec = pufferlib.make("crafter", render_mode="rgb_array", area=SMALL, size=(48, 32), frame_size=(180, 90))
    observations, _ = vec.reset(seed=0)
    assert observations.shape == (1, 32, 48, 3)
    frame = vec.render()
    assert frame.shape == (90, 180, 3) and frame.dtype == np.uint8 and frame.std() > 5
    vec.close()


@pytest.mark.parametrize(
    ("wrong", "match"),
    [({"view": (9,)}, "view must be two"), ({"size": (0, 4)}, "size must be two"), ({"render_mode": "human"}, "rgb_array")],
)
def test_wrong_arguments_are_named(wrong, match):
    with pytest.raises(ConfigError, match=match):
        Crafter(**wrong)
