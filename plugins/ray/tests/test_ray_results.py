"""The ray back end: the same results as without workers, in every mode."""

import os
import time

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import pufferlib
from pufferlib.env import PufferEnv
from pufferlib.errors import ActionError, ClosedError, ConfigError
from pufferlib.vector import make_vec


def trace(vec, steps, seed=7):
    """Everything that `steps` steps gave, copied."""
    rng = np.random.default_rng(0)
    out = [vec.reset(seed=seed)[0].copy()]
    for _ in range(steps):
        results = vec.step(rng.integers(0, vec.single_action_space.n, vec.num_agents))
        out += [np.copy(part) for part in results[:4]] + [results[4]]
    return out


def same(ours, theirs):
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, np.ndarray) and ours.dtype != object:
        return ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    return str(ours) == str(theirs)


@pytest.mark.parametrize("counts", [(1, 4), (2, 4), (4, 1)], ids=str)
def test_results_and_infos_are_those_of_the_serial_back_end(ticking, on_ray, counts):
    workers, batch = counts
    ours = trace(on_ray(ticking, num_workers=workers, batch_size=batch), 11)
    theirs = trace(pufferlib.emulate(ticking, num_envs=4, backend="serial"), 11)
    assert all(same(a, b) for a, b in zip(ours, theirs, strict=True))


class Stopping(gymnasium.Env):
    """Ends after `top` steps."""

    observation_space, action_space = spaces.Box(0, 100, (1,), np.float32), spaces.Discrete(2)

    def __init__(self, top=3):
        if top < 1:
            raise ValueError(f"top must be at least 1, got {top}")
        self.top = top

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.steps += 1
        return np.full(1, self.steps, np.float32), 1.0, self.steps >= self.top, False, {}


def test_other_arguments_for_running_envs(on_ray):
    vec = on_ray(Stopping, num_workers=2)

    def episode_length():
        vec.reset(seed=0)
        vec.drain_log()
        for _ in range(12):
            vec.step([0] * 4)
        return vec.drain_log()["episode_length"]

    assert episode_length() == 3
    vec.set_env_arguments(top=4)
    assert episode_length() == 4
    with pytest.raises(ConfigError, match="top must be at least 1, got 0"):
        vec.set_env_arguments(top=0)
    assert episode_length() == 4


def test_workers_are_on_both_nodes_and_gone_after_close(telling, on_ray, cluster):
    vec = on_ray(telling, num_workers=2)
    vec.reset(seed=0)
    infos = vec.step([0] * 4)[4]
    assert len(set(infos["node"])) == 2 and len(set(infos["pid"])) == 2
    for _ in range(2):
        vec.close()
    with pytest.raises(ClosedError, match="closed"):
        vec.step([0] * 4)
    deadline = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{pid}") for pid in infos["pid"]):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_native_envs_give_the_same_bits_as_serial(cluster):
    pytest.importorskip("pufferlib_ocean")
    vecs = [
        pufferlib.make("ocean-breakout", num_envs=4, num_workers=2, backend=backend, backend_options=options)
        for backend, options in (("ray", {"resources_per_worker": {"CPU": 0.25}}), ("serial", {}))
    ]
    ours, theirs = (trace(vec, 20) for vec in vecs)
    assert all(same(a, b) for a, b in zip(ours, theirs, strict=True))
    for vec in vecs:
        vec.close()


class Large(PufferEnv):
    """Observations of 120 kB, which go through the object store; the second row's actions are masked."""

    action_mask_size = 3

    def __init__(self, num_envs=1, buf=None):
        self.single_observation_space, self.single_action_space = spaces.Box(0, 255, (300, 400), np.uint8), spaces.Discrete(3)
        self.num_envs, self.num_agents = num_envs, 2 * num_envs
        super().__init__(buf)

    def reset(self, seed=None):
        self.observations[:] = 1
        self.action_masks[:] = [[1, 1, 1], [1, 0, 0]] * self.num_envs
        return self.observations, []

    def step(self, actions):
        self.final_observations[1::2] = self.observations[1::2]
        self.observations[:] = 10 * actions[:, None, None] + self.observations[:]
        self.rewards[:] = actions
        self.truncations[1::2] = self.masks[::2] = True
        self.masks[1::2] = False
        return self.observations, self.rewards, self.terminals, self.truncations, []


def test_large_observations_masks_and_final_observations_lie_in_the_slots_asked_for(cluster):
    ray = pytest.importorskip("ray")
    ray.cloudpickle.register_pickle_by_value(__import__("sys").modules[__name__])
    vec = make_vec(Large, num_envs=2, num_workers=2, batch_size=1, backend="ray", in_order=True)
    storage = vec.allocate(3)
    vec.async_reset(seed=0)
    for slot in (1, 2):
        for env in range(2):
            batch = vec.recv()
            assert batch.rows == slice(2 * env, 2 * env + 2) and np.shares_memory(batch.observations, storage.observations)
            vec.send([1, 2], slot=slot)
    for _ in range(2):
        vec.recv()
    assert storage.observations[:, :, 299, 399].tolist() == [[1, 1, 1, 1], [11, 21, 11, 21], [21, 41, 21, 41]]
    assert storage.final_observations[2, :, 0, 0].tolist() == [0, 21, 0, 21]
    assert storage.rewards[1].tolist() == [1, 2, 1, 2] and storage.actions[:2].tolist() == [[1, 2, 1, 2]] * 2
    assert storage.masks[2].tolist() == [True, False] * 2 == (~storage.truncations[2]).tolist()
    assert storage.action_masks[1].tolist() == [[1, 1, 1], [1, 0, 0]] * 2
    vec.close()


def test_a_slow_worker_does_not_keep_the_others_from_being_handed_over(ticking, on_ray, tmp_path):
    gate = str(tmp_path / "gate")

    class Slow(ticking):
        def step(self, action):
            while not os.path.exists(gate):  # not a time to sleep: a busy machine may stop the other worker for seconds
                time.sleep(0.01)
            return super().step(action)

    vec = on_ray([Slow, ticking], num_envs=2, num_workers=2, batch_size=1, hang_timeout_s=60)
    vec.async_reset(seed=0)
    for _ in range(2):
        vec.recv()
        vec.send([0])
    rows = []
    for _ in range(3):
        rows.append(vec.recv().rows.start)
        vec.send([0])
    assert rows == [1, 1, 1]
    open(gate, "w").close()
    while vec.recv().rows.start != 0:
        vec.send([0])


def test_logs_options_frames_and_refused_actions(on_ray, ticking):
    class Drawn(ticking):
        render_mode = "rgb_array"

        def render(self):
            return np.full((4, 5, 3), self.t, np.uint8)

    vec = on_ray(Drawn, num_workers=2, batch_size=2)
    assert vec.reset(seed=0, options={"level": 3})[1]["level"].tolist() == [3] * 4
    assert vec.drain_log() == {}
    for _ in range(6):
        vec.step([0] * 4)
    assert vec.render().tolist() == np.full((4, 5, 3), 1).tolist()
    assert vec.drain_log() == {"episode_return": 5.0, "episode_length": 5.0, "n": 4.0}
    with pytest.raises(ActionError, match="7"):
        vec.step([0, 0, 0, 7])
    assert vec.reset(seed=0)[0][:, 0].tolist() == [0] * 4, "the envs live on"


def test_every_mistake_in_the_options_is_named_before_anything_starts(ticking, on_ray):
    for options, words in (
        ({"address": 7}, "address must be None, 'auto'"),
        ({"address": "10.9.8.7:1"}, "connected to the Ray cluster .* already"),
        ({"resources_per_worker": {"CPU": -1}}, r"resources_per_worker\['CPU'\] must be a number of at least 0, got -1"),
        ({"resources_per_worker": {"CPU": 1}, "num_workers": 4}, r"nodes hold 2 \(.*1 CPU; 1 CPU.*num_workers=2"),
        ({"resources_per_worker": {"moon": 1}}, "nodes hold 0"),
        ({"hang_timeout_s": 0}, "hang_timeout_s"),
        ({"start_timeout_s": -1}, "start_timeout_s"),
        ({"restart_workers": 1}, "restart_workers"),
        ({"colour": 1}, "'ray' has no such option; it has address"),
    ):
        with pytest.raises(ConfigError, match=words):
            on_ray(ticking, **options)
    with pytest.raises(ConfigError, match="open file"), open(__file__) as file:
        on_ray(lambda: ticking(file=file))
