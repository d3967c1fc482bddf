"""The reference policies: what they read, and that they learn."""

import itertools

import numpy as np
import pytest
import torch
from gymnasium import spaces

import pufferlib
from pufferlib import PuffeRL, TrainConfig
from pufferlib.emulation.codec import ObservationCodec
from pufferlib.errors import ConfigError, SpaceError
from pufferlib.policies import build_policy
from pufferlib_nethack.policy import CONDITION, HP, MAX_HP, X, Y, stats_inputs

PARTS = {
    "glyphs": spaces.Box(0, 5976, (21, 79), np.int16), "blstats": spaces.Box(-(2**31), 2**31 - 1, (27,), np.int64),
    "message": spaces.Box(0, 255, (256,), np.uint8), "inv_glyphs": spaces.Box(0, 5976, (55,), np.int16),
    "glyphs_crop": spaces.Box(0, 5976, (5, 5), np.int16), "chars": spaces.Box(0, 255, (21, 79), np.uint8),
}  # fmt: skip


def rows_of(keys, count=3, seed=0, at=None):
    """(row space, rows) of random observations with the agent somewhere on the map."""
    rng, codec = np.random.default_rng(seed), ObservationCodec(spaces.Dict({key: PARTS[key] for key in keys}))
    rows = np.zeros((count, *codec.shape), codec.dtype)
    for row in rows:
        seen = {key: rng.integers(0, 100, PARTS[key].shape).astype(PARTS[key].dtype) for key in keys}
        if "blstats" in keys:
            seen["blstats"][[X, Y]] = at or (rng.integers(79), rng.integers(21))
        row[...] = codec.encode(seen)
    return codec.box, torch.as_tensor(rows)


@pytest.mark.parametrize("name", ["nethack", "nethack-lstm"])
@pytest.mark.parametrize("keys", [tuple(PARTS), ("glyphs",), ("blstats", "message"), ("glyphs_crop", "chars"), ("inv_glyphs",)])
def test_it_reads_what_there_is(name, keys):
    space, rows = rows_of(keys)
    policy = build_policy(name, space, spaces.Discrete(23), seed=1, hidden_size=16, channels=4)
    policy.update_statistics(rows)
    given = (rows,) if name == "nethack" else (rows, policy.initial_state(3))
    logits, value = policy(*given)[:2]
    assert logits.shape == (3, 23) and value.shape == (3,)
    (logits.square().sum() + value.sum()).backward()
    unused = [name for name, parameter in policy.named_parameters() if parameter.grad is None]
    assert not unused


def test_a_memory_runs_alike_step_by_step_and_all_at_once():
    space, rows = rows_of(("glyphs", "blstats"), 12)
    policy = build_policy("nethack-lstm", space, spaces.Discrete(8), seed=1, hidden_size=16, channels=4)
    rows, starts = rows.unflatten(0, (4, 3)), torch.zeros(4, 3, dtype=torch.bool)
    starts[2, 1] = True
    whole, values, _ = policy.forward_sequence(rows, policy.initial_state(3), starts)
    state = policy.initial_state(3)
    for step, start in zip(range(4), starts, strict=True):
        state = tuple(torch.where(start[:, None], torch.zeros_like(part), part) for part in state)
        logits, value, state = policy(rows[step], state)
        torch.testing.assert_close(logits, whole[step])
        torch.testing.assert_close(value, values[step])


@pytest.mark.parametrize("at", [(0, 0), (78, 20), (40, 10), (77, 1)])
def test_the_surroundings_are_those_of_the_agent(at):
    """Cell by cell, against a loop."""
    space, rows = rows_of(("glyphs", "blstats"), 2, at=at)
    encoder = build_policy("nethack", space, spaces.Discrete(8), crop_size=7).encoder
    seen = {name: encoder.structure.stored(rows, leaf) for name, leaf in encoder.leaves.items()}
    around = encoder._around(seen["glyphs"], seen["blstats"])
    for row, y, x in itertools.product(range(2), range(7), range(7)):
        there = (at[1] + y - 3, at[0] + x - 3)
        inside = 0 <= there[0] < 21 and 0 <= there[1] < 79
        assert around[row, y, x] == (seen["glyphs"][row][there] if inside else encoder.nothing)


def test_stats_are_logarithms_bits_and_hit_points():
    stats = torch.zeros(1, 27, dtype=torch.int64)
    stats[0, [2, 3, HP, MAX_HP, CONDITION]] = torch.tensor([7, -7, 6, 8, 0b1000000000101])
    inputs = stats_inputs(stats)[0]
    assert inputs.shape == (27 + 13 + 1,)
    assert inputs[2] == pytest.approx(np.log(8)) and inputs[3] == pytest.approx(-np.log(8)) and inputs[-1] == 0.75
    assert inputs[27:40].tolist() == [1, 0, 1, *[0] * 9, 1]


def test_wrong_spaces_and_settings():
    space, _ = rows_of(("chars",))
    with pytest.raises(SpaceError, match="reads a Dict with some of glyphs"):
        build_policy("nethack", space, spaces.Discrete(8))
    space, _ = rows_of(("glyphs", "blstats"))
    with pytest.raises(ConfigError, match="crop_size must be an odd number, the agent in its middle, got 4"):
        build_policy("nethack", space, spaces.Discrete(8), crop_size=4)
    with pytest.raises(ConfigError, match="channels must be an integer of at least 1"):
        build_policy("nethack-lstm", space, spaces.Discrete(8), channels=0)


@pytest.mark.parametrize("name", ["nethack", "nethack-lstm"])
def test_training(name):
    vec = pufferlib.make("minihack-room-random-5x5", num_envs=2, seed=1, backend="serial")
    policy = build_policy(name, vec.single_observation_space, vec.single_action_space, hidden_size=16, channels=4)
    before = [parameter.detach().clone() for parameter in policy.parameters()]
    trainer = PuffeRL(vec, policy, TrainConfig(device="cpu", batch_size=64, minibatch_size=64, total_timesteps=10**6))
    for _ in range(2):
        trainer.evaluate()
        trainer.train()
    metrics = trainer.mean_and_log()
    assert all(np.isfinite(value) for key, value in metrics.items() if key.startswith("losses/"))
    assert any((old != new).any() for old, new in zip(before, policy.parameters(), strict=True))
    trainer.close()
