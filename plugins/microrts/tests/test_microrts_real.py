"""gym-microrts itself and Java, where they are installed."""

import multiprocessing

import numpy as np
import pytest

import pufferlib
from pufferlib.errors import ConfigError, EnvError
from pufferlib.testing import check_env
from pufferlib_microrts.env import MicroRTS

pytest.importorskip("gym_microrts")
pytestmark = pytest.mark.filterwarnings("ignore")  # the package's own
HEADS = np.array([6, 4, 4, 4, 4, 7, 49])
BEGINS = np.cumsum([0, *HEADS[:-1]])
SMALL = {"map_name": "8x8/basesWorkers8x8", "opponent": "workerRushAI"}


def allowed_choices(vec, rng):
    """A random choice among those that the masks allow, for every part of every cell."""
    masks = vec.storage.action_masks.reshape(-1, HEADS.sum())
    parts = [masks[:, begin : begin + size] for begin, size in zip(BEGINS, HEADS, strict=True)]
    chosen = [(rng.random(part.shape) * part + (part - 1.0)).argmax(axis=1) for part in parts]
    return np.stack(chosen, axis=1).reshape(vec.num_agents, -1).astype(np.int32)


def test_the_contract_is_kept():
    check_env(MicroRTS, num_envs=2, steps=25, max_steps=10, **SMALL)


def test_the_packages_own_batch_says_the_same_until_a_game_ends():
    """Observations, rewards, ends and masks, step for step, and after each end the next game's first position."""
    from gym_microrts import microrts_ai
    from gym_microrts.envs.vec_env import MicroRTSGridModeSharedMemVecEnv

    vec = pufferlib.make("microrts", num_envs=2, max_steps=10**6, reward_weights=(1, 0, 0, 0, 0, 0), backend="serial", **SMALL)
    theirs = MicroRTSGridModeSharedMemVecEnv(
        num_selfplay_envs=0, num_bot_envs=2, max_steps=10**6, ai2s=[microrts_ai.workerRushAI] * 2,
        map_paths=["maps/8x8/basesWorkers8x8.xml"], reward_weight=np.array([1.0, 0, 0, 0, 0, 0]),
    )  # fmt: skip
    rng, ended = np.random.default_rng(0), 0
    observations, _ = vec.reset(seed=0)
    assert (observations == theirs.reset()).all()
    for _ in range(400):
        actions = allowed_choices(vec, rng)
        their_mask = theirs.get_action_mask().reshape(2, -1)
        assert (vec.storage.action_masks[0] >= their_mask).all()
        seen, rewards, done, _ = theirs.step(actions)
        observations, own_rewards, terminals, truncations, _ = vec.step(actions)
        assert (observations == seen).all() and (own_rewards == rewards).all() and (terminals == done).all()
        assert not truncations.any()
        ended += int(done.sum())
    assert ended >= 2 and vec.drain_log()["n"] == ended
    vec.close()
    theirs.vec_client.close()


def test_self_play_and_the_limit():
    vec = pufferlib.make("microrts", num_envs=2, opponent="self", map_name="8x8/basesWorkers8x8", max_steps=30, backend="serial")
    vec.reset(seed=0)
    rng = np.random.default_rng(0)
    for step in range(1, 31):
        observations, _, terminals, truncations, _ = vec.step(allowed_choices(vec, rng))
        assert len(observations) == 4 and truncations.all() == (step == 30) and not terminals.any()
    assert vec.render().shape == (256, 256, 3)
    vec.close()


def make_in_a_fork(queue):
    try:
        pufferlib.make("microrts", backend="serial", **SMALL)
    except EnvError as error:
        queue.put(str(error))


def test_a_forked_jvm_is_an_error_and_not_a_hang():
    pufferlib.make("microrts", backend="serial", **SMALL).close()  # the JVM runs from here on
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=make_in_a_fork, args=(queue,))
    process.start()
    assert "start_method" in queue.get(timeout=60)
    process.join()


@pytest.mark.parametrize(("wrong", "match"), [({"map_name": "8x8/bases"}, "8x8/bases"), ({"opponent": "coac"}, "coacAI")])
def test_wrong_arguments_are_named(wrong, match):
    with pytest.raises(ConfigError, match=match):
        pufferlib.make("microrts", backend="serial", **{**SMALL, **wrong})
