"""Agents with unlike spaces, and action masks."""

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import ParallelEnv

import pufferlib
from pufferlib.errors import ActionError, ConfigError, EnvValueError, SpaceError
from pufferlib.structure import unflatten

f32 = np.float32
TWO_EACH = (spaces.Discrete(2), spaces.Discrete(2))


class Unlike(ParallelEnv):
    """Two agents whose spaces are arguments. `got` are the last actions."""

    metadata, possible_agents = {"name": "unlike"}, ["scout", "tank"]

    def __init__(self, seen=(3, 3), act=TWO_EACH, high=(1, 1), infos=None):
        boxes = [
            spaces.Box(0, high, (size,) if isinstance(size, int) else size, f32) for size, high in zip(seen, high, strict=True)
        ]
        self.seen, self.act = (dict(zip(self.possible_agents, parts, strict=True)) for parts in (boxes, act))
        self.infos = infos or {}

    def observation_space(self, agent):
        return self.seen[agent]

    def action_space(self, agent):
        return self.act[agent]

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        return {a: np.ones(self.seen[a].shape, f32) for a in self.agents}, self.infos

    def step(self, actions):
        self.got = actions
        observations, infos = self.reset()
        flags = dict.fromkeys(observations, False)
        return observations, dict.fromkeys(observations, 0.0), flags, dict(flags), infos


def made(**options):
    env = Unlike(**{name: options.pop(name) for name in ("seen", "act", "high", "infos") if name in options})
    vec = pufferlib.emulate(env, **options)
    return env, vec, vec.reset(seed=0)[0]


def test_equal_spaces_pass_through():
    env, vec, observations = made()
    assert observations.tolist() == [[1, 1, 1]] * 2 and vec.single_action_space == spaces.Discrete(2)
    vec.step([0, 1])
    assert env.got == {"scout": 0, "tank": 1}


def test_bounds_that_differ_become_the_widest():
    _, vec, _ = made(high=(1, 9))
    assert vec.single_observation_space == spaces.Box(0, 9, (3,), f32)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seen": (3, 5)}, r"observation_space: Box\(0.0, 1.0, \(3,\).* and Box\(0.0, 1.0, \(5,\).*pad=True"),
        ({"act": (spaces.Discrete(2), spaces.Discrete(4))}, r"action_space: Discrete\(2\) and Discrete\(4\).*pad=True"),
        ({"seen": (3, (3, 1)), "pad": True}, r"\(3,\).*\(3, 1\).*wrap the env"),
        ({"act": (spaces.Discrete(2), spaces.Box(0, 1, (2,), f32)), "pad": True}, r"Discrete\(2\) and Box.*wrap the env"),
    ],
)
def test_spaces_that_differ_are_refused_with_both_agents_and_the_way_out(options, words):
    with pytest.raises(SpaceError, match=f"'scout' and 'tank' differ in {words}" if "pad" not in options else words):
        made(**options)


def test_observations_are_padded_with_zeros_at_the_end():
    _, vec, observations = made(seen=((2, 1), (1, 3)), pad=True)
    assert vec.single_observation_space.shape == (2, 3)
    assert observations.tolist() == [[[1, 0, 0], [1, 0, 0]], [[1, 1, 1], [0, 0, 0]]]


def test_a_padded_observation_of_the_wrong_shape_is_refused():
    env, vec, _ = made(seen=(3, 5), pad=True)
    env.seen["scout"] = spaces.Box(0, 1, (4,), f32)  # what it returns from now on
    with pytest.raises(EnvValueError, match=r"observation of shape \(4,\), its space has \(3,\)"):
        vec.step([0, 0])


def test_padded_actions_are_masked_and_refused():
    env, vec, _ = made(act=(spaces.Discrete(2), spaces.Discrete(4)), pad=True)
    assert vec.single_action_space == spaces.Discrete(4) and vec.action_mask_size == 4
    assert vec.storage.action_masks[0].tolist() == [[1, 1, 0, 0], [1, 1, 1, 1]]
    vec.step([1, 3])
    assert env.got == {"scout": 1, "tank": 3}
    with pytest.raises(ActionError, match=r"'scout' was given action 2, which only other agents have.*Discrete\(2\)"):
        vec.step([2, 3])


def test_heads_of_unlike_lengths():
    env, vec, _ = made(act=(spaces.MultiDiscrete([2, 3], start=[5, -1]), spaces.MultiBinary(3)), pad=True)
    assert vec.single_action_space == spaces.MultiDiscrete([2, 3, 2])
    assert vec.storage.action_masks[0].tolist() == [[1, 1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 0, 1, 1]]
    vec.step([[1, 2, 0], [1, 0, 1]])
    assert env.got["scout"].tolist() == [6, 1] and env.got["tank"].tolist() == [1, 0, 1]


def test_starts_that_differ_need_no_padding():
    env, vec, _ = made(act=(spaces.Discrete(2, start=7), spaces.Discrete(2)))
    vec.step([1, 1])
    assert env.got == {"scout": 8, "tank": 1}


def test_box_actions_are_cut_and_clipped_to_the_agents_own_bounds():
    small, large = spaces.Box(-1, 1, (1,), f32), spaces.Box(-2, 5, (2,), f32)
    env, vec, _ = made(act=(small, large), pad=True)
    assert vec.single_action_space.shape == (2,) and vec.action_mask_size == 0
    vec.step(np.array([[4, 4], [4, 9]], f32))
    assert env.got["scout"].tolist() == [1] and env.got["tank"].tolist() == [4, 5]


def test_masks_from_infos_become_rows_and_leave_the_infos():
    infos = {"scout": {"action_mask": np.array([0, 1], np.int8), "hp": 3}, "tank": {"action_mask": [True, True]}}
    _, vec, _ = made(infos=infos)
    assert vec.storage.action_masks[0].tolist() == [[0, 1], [1, 1]]
    vec.async_reset(seed=0)
    assert vec.recv().infos == [{"scout": {"hp": 3}, "env_index": 0}]


def test_a_mask_that_allows_nothing_leaves_the_first_choice():
    _, vec, _ = made(infos={"scout": {"action_mask": np.zeros(2)}})
    assert vec.storage.action_masks[0].tolist() == [[1, 0], [1, 1]]


def test_a_mask_of_the_wrong_size_is_named():
    with pytest.raises(EnvValueError, match="env 0 returned an action_mask of 3 numbers for 'tank', whose actions have 2"):
        made(infos={"tank": {"action_mask": np.ones(3)}})


def test_masks_can_be_left_alone():
    _, vec, _ = made(infos={"scout": {"action_mask": 5}}, action_masks=False)
    assert vec.action_mask_size == 0 and vec.storage.action_masks is None


class Masked(Unlike):
    """Masks in the observation; one agent has two more things to see."""

    def __init__(self, extra=False, mask=3):
        super().__init__(act=(spaces.Discrete(3), spaces.Discrete(3)))
        self.parts = {"observation": spaces.Box(0, 9, (2,), f32), "action_mask": spaces.Box(0, 1, (mask,), np.int8)}
        if extra:
            self.parts["hp"] = spaces.Discrete(4)
        self.seen = dict.fromkeys(self.possible_agents, spaces.Dict(self.parts))
        self.mask = np.array([0, 1, 1], np.int8)

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        seen = {"observation": np.array([1, 2], f32), "action_mask": self.mask, "hp": 3}
        return {a: {name: seen[name] for name in self.parts} for a in self.agents}, {}


def test_masks_from_observations_become_rows_and_leave_the_observations():
    vec = pufferlib.emulate(Masked, num_envs=2)
    assert vec.single_observation_space == spaces.Box(0, 9, (2,), f32)
    assert vec.reset(seed=0)[0].tolist() == [[1, 2]] * 4
    assert vec.storage.action_masks[0].tolist() == [[0, 1, 1]] * 4


def test_what_else_is_in_the_observation_stays():
    vec = pufferlib.emulate(Masked, extra=True)
    seen = unflatten(vec.reset(seed=0)[0], vec.single_observation_space.structure)
    assert seen["observation"].tolist() == [[1, 2]] * 2 and seen["hp"].tolist() == [3, 3] and "action_mask" not in seen


def test_a_mask_in_the_space_that_fits_no_action_is_named():
    with pytest.raises(SpaceError, match=r"'scout'.*action_mask of 4 numbers.*3 choices.*action_masks=False"):
        pufferlib.emulate(Masked, mask=4)
    vec = pufferlib.emulate(Masked, mask=3, action_masks=False)
    assert set(unflatten(vec.reset(seed=0)[0], vec.single_observation_space.structure)) == {"observation", "action_mask"}


def test_an_emulator_without_the_option_says_so():
    with pytest.raises(ConfigError, match=r"pad=True: GymnasiumBatch for a .* has no such option"):
        pufferlib.make("gym-CartPole-v1", pad=True)
