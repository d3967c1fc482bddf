"""Frame stacks and normalisation of single leaves of Dict and Tuple observations."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import pufferlib
from pufferlib.errors import ConfigError, SpaceError
from pufferlib.policies import build_policy
from pufferlib.testing import check_vec_env
from pufferlib.wrappers import FrameStackObservation, NormalizeObservation

SPACE = spaces.Dict(
    [
        ("camera", spaces.Box(0, 255, (3, 2), np.uint8)),
        ("sensors", spaces.Tuple([spaces.Box(-np.inf, np.inf, (2,), np.float32), spaces.Box(-9, 9, (), np.float64)])),
        ("mode", spaces.Discrete(4, start=3)),
        ("counts", spaces.Box(0, 100, (2,), np.int16)),
    ]
)


class Robot(gymnasium.Env):
    """Every leaf is drawn from the env's own generator; ends, by turns truncated and terminal, after 3 steps."""

    observation_space, action_space = SPACE, spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode = 0 if seed is not None else self.episode + 1
        self.t = 0
        return self.look(), {}

    def look(self):
        draw = self.np_random
        return {
            "camera": draw.integers(0, 256, (3, 2), dtype=np.uint8),
            "sensors": ((draw.normal(size=2) * [1, 50] + 5).astype(np.float32), np.array(draw.uniform(-9, 9))),
            "mode": int(draw.integers(3, 7)),
            "counts": draw.integers(0, 100, 2).astype(np.int16),
        }

    def step(self, action):
        self.t += 1
        over, cut = self.t == 3, bool(self.episode % 2)
        return self.look(), 1.0, over and not cut, over and cut, {}


def robots(backend="serial", **kwargs):
    return pufferlib.emulate(Robot, num_envs=4, backend=backend, **kwargs)


def leaf(tree, path):
    for key in path:
        tree = tree[key]
    return tree


PATHS = [("camera",), ("sensors", 0), ("sensors", 1), ("mode",), ("counts",)]


@pytest.mark.parametrize("leaves", [None, ["camera"], ["sensors"], ["sensors/1", "mode"], ["counts"]], ids=str)
def test_a_stack_holds_the_last_values_of_each_chosen_leaf(leaves):
    plain, stacked = robots(), FrameStackObservation(robots(), 3, leaves=leaves)
    before, after = plain.observation_structure, stacked.observation_structure
    names = {path: "/".join(map(str, path)) for path in PATHS}
    chosen = [p for p in PATHS if leaves is None or any(f"{names[p]}/".startswith(f"{name}/") for name in leaves)]
    own = before.unflatten(plain.reset(seed=3)[0].copy())
    seen = {path: [[leaf(own, path)[row]] for row in range(4)] for path in PATHS}
    stacked.reset(seed=3)
    for _ in range(8):
        observations, _, terminals, truncations, infos = plain.step(np.zeros(4, int))
        stacks, _, _, _, stacked_infos = stacked.step(np.zeros(4, int))
        new, tree = before.unflatten(observations.copy()), after.unflatten(stacks)
        ended = terminals | truncations
        for row in range(4):
            if ended[row]:
                finals = before.unflatten(infos["final_obs"].copy())
                final_tree = after.unflatten(stacked_infos["final_obs"])
            for path in PATHS:
                history = seen[path][row]
                if ended[row]:
                    last = [*history, leaf(finals, path)[row]]
                    want = ([last[0]] * 3 + last)[-3:] if path in chosen else last[-1]
                    np.testing.assert_array_equal(leaf(final_tree, path)[row], want)
                    history.clear()
                history.append(leaf(new, path)[row])
                want = ([history[0]] * 3 + history)[-3:] if path in chosen else history[-1]
                np.testing.assert_array_equal(leaf(tree, path)[row], want)
        assert stacked.single_observation_space.contains(stacks[0])


def test_the_floats_are_normalised_by_their_own_statistics_and_the_rest_stays():
    plain, normal = robots(), NormalizeObservation(robots(), clip=3)
    before, after = plain.observation_structure, normal.observation_structure
    assert after.space["sensors"][1] == spaces.Box(-3, 3, (), np.float32) and after.space["mode"] == SPACE["mode"]
    plain.reset(seed=1)
    normal.reset(seed=1)
    values = {("sensors", 0): [], ("sensors", 1): []}
    for step in range(9):
        rows = before.unflatten((plain.storage.observations[0] if step == 0 else plain.step(np.zeros(4, int))[0]).copy())
        tree = after.unflatten(plain_rows := normal.storage.observations[0] if step == 0 else normal.step(np.zeros(4, int))[0])
        assert normal.single_observation_space.contains(plain_rows[0])
        np.testing.assert_array_equal(tree["camera"], rows["camera"])
        np.testing.assert_array_equal(tree["mode"], rows["mode"])
        np.testing.assert_array_equal(tree["counts"], rows["counts"])
        ended = plain.storage.terminals[0] | plain.storage.truncations[0]
        finals = before.unflatten(plain.storage.final_observations[0].copy())
        for path, seen in values.items():
            seen += [leaf(finals, path)[row] for row in np.flatnonzero(ended)] + list(leaf(rows, path))
            # float64, over all that was seen; the prior weighs 1e-4
            mean, var = np.mean(np.float64(seen), axis=0), np.var(np.float64(seen), axis=0)
            want = np.clip((leaf(rows, path) - mean) / np.sqrt(var + 1e-8), -3, 3)
            np.testing.assert_allclose(leaf(tree, path), want, rtol=2e-3, atol=2e-3)
    assert set(normal.moments) == {"sensors/0", "sensors/1"} and normal.moments["sensors/0"].mean.shape == (2,)


def test_the_statistics_of_leaves_go_into_a_state_and_come_back():
    source, target = (
        NormalizeObservation(robots(), leaves=["counts", "sensors/1"]),
        NormalizeObservation(robots(), leaves=["counts", "sensors/1"]),
    )
    source.reset(seed=1)
    target.load_state_dict(source.state_dict())
    assert np.array_equal(target.moments["counts"].mean, source.moments["counts"].mean)
    assert target.state_dict()["0/NormalizeObservation"]["leaves"].keys() == {"counts", "sensors/1"}


def test_leaves_that_cannot_be_are_told():
    with pytest.raises(ConfigError, match="there is no 'lidar'; there are camera, sensors/0, sensors/1, mode, counts"):
        FrameStackObservation(robots(), 2, leaves=["lidar"])
    with pytest.raises(SpaceError, match=r"only Boxes can be normalised, got Discrete\(4, start=3\)"):
        NormalizeObservation(robots(), leaves=["mode"])
    with pytest.raises(ConfigError, match="single Box"):
        FrameStackObservation(pufferlib.make("gym-CartPole-v1"), 2, leaves=["x"])
    choices = pufferlib.make("gym-FrozenLake-v1")
    with pytest.raises(SpaceError, match=r"no part .* is usually changed; name leaves"):
        NormalizeObservation(choices)


@pytest.mark.parametrize("backend", ["serial", "processes"])
def test_the_whole_contract_holds(backend):
    def wrapped(kind="serial", **counts):
        return FrameStackObservation(NormalizeObservation(robots(kind, **counts)), 2, leaves=["camera", "sensors"])

    check_vec_env(lambda: wrapped(backend, num_workers=2), reference=wrapped, steps=30)


def test_a_policy_reads_stacked_and_normalised_leaves():
    env = FrameStackObservation(NormalizeObservation(robots()), 2, leaves=["sensors", "mode"])
    policy = build_policy("mlp", env.single_observation_space, env.single_action_space)
    trainer = pufferlib.PuffeRL(env, policy, device="cpu", horizon=8, minibatch_size=32, total_timesteps=64)
    trainer.fit()
    trainer.close()
    env.close()
