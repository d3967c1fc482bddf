"""Encoders: which one a space gets, how images are laid out, and what multi-input policies make of each part."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces

import pufferlib
from pufferlib.errors import ConfigError, SpaceError
from pufferlib.policies import build_policy
from pufferlib.policies.encoders import choose_encoder
from pufferlib.policies.images import ImageEncoder, image_layout
from pufferlib.policies.layers import InputLinear
from pufferlib.policies.multi_input import MultiInputEncoder

ACTIONS = spaces.Discrete(3)


def image(*shape: int) -> spaces.Box:
    return spaces.Box(0, 255, shape, np.uint8)


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ((4, 84, 84), (True, 4, 84, 84)),  # Atari, stacked
        ((84, 84, 4), (False, 4, 84, 84)),
        ((210, 160, 3), (False, 3, 210, 160)),
        ((3, 210, 160), (True, 3, 210, 160)),
        ((16, 16, 27), (False, 27, 16, 16)),  # MicroRTS: more channels than pixels in a row
        ((27, 16, 16), (True, 27, 16, 16)),
        ((4, 13, 9), (True, 4, 13, 9)),  # Griddly
        ((9, 9, 9), (False, 9, 9, 9)),
        ((7, 9), (True, 1, 7, 9)),
    ],
)
def test_where_the_channels_are(shape, layout):
    assert image_layout(image(*shape)) == layout
    pixels = torch.randint(0, 256, (2, *shape), dtype=torch.uint8)
    out = ImageEncoder(image(*shape))(pixels)
    assert out.shape == (2, *layout[1:]) and out.dtype == torch.float32
    where = (1, 2, 3) if layout[0] else (1, 3, 2)
    for c, y, x in [(0, 0, 1), (layout[1] - 1, 3, 2)]:
        index = {1: (y, x), 2: (c, y, x) if layout[0] else (y, x, c)}[len(shape) - 1]
        assert out[(1, c, y, x)] == pytest.approx(float(pixels[(1, *index)]) / 255), where


def test_pixels_and_bounded_floats_are_divided_by_their_greatest_magnitude():
    assert ImageEncoder(spaces.Box(-4, 2, (7, 7, 1)))(torch.full((1, 7, 7, 1), -4.0)).min() == -1
    assert ImageEncoder(spaces.Box(-np.inf, np.inf, (7, 7, 1)))(torch.full((1, 7, 7, 1), 9.0)).max() == 9
    assert ImageEncoder(spaces.Box(0, 1, (7, 7, 1), np.bool_))(torch.ones(1, 7, 7, 1, dtype=torch.bool)).max() == 1


@pytest.mark.parametrize(
    ("space", "name"),
    [
        (image(84, 84, 3), "nature"),
        (image(35, 84, 3), "impala"),
        (image(6, 84, 3), "mlp"),
        (image(84, 84), "mlp"),
        (spaces.MultiDiscrete(np.full((8, 8, 3), 5)), "mlp"),
        (spaces.Dict({"only": image(7, 7, 3)}), "impala"),
        (spaces.Tuple((image(7, 7, 3), spaces.Discrete(2))), "multi"),
        (spaces.Dict({"a": spaces.Box(-1, 1, (9,)), "b": spaces.Discrete(2)}), "mlp"),
    ],
)
def test_the_encoder_is_chosen_from_the_space(space, name):
    row = pufferlib.structure_of(space).box
    assert choose_encoder(row) == name
    chosen, named = (build_policy("gru", row, ACTIONS, seed=0, hidden_size=8, encoder=encoder) for encoder in ("auto", name))
    assert str(chosen) == str(named)


def test_what_makes_no_sense_is_refused_when_the_policy_is_built():
    def build(name, space, **settings):
        build_policy(name, pufferlib.structure_of(space).box, ACTIONS, **settings)

    with pytest.raises(SpaceError, match=r"at least 36 x 36, got 20 x 40; impala takes any size"):
        build("nature", image(20, 40, 3))
    with pytest.raises(SpaceError, match=r"reads one image.*got Box"):
        build("impala", spaces.Box(-1, 1, (4,)))
    with pytest.raises(SpaceError, match=r"reads one image, got Dict.*multi"):
        build("impala", spaces.Dict({"a": image(9, 9, 3), "b": spaces.Discrete(2)}))
    with pytest.raises(SpaceError, match=r"reads one image, got MultiDiscrete"):
        build("impala", spaces.MultiDiscrete(np.full((8, 8, 3), 5)))
    with pytest.raises(SpaceError, match="emulate"):
        build_policy("multi", spaces.Dict({"a": spaces.Discrete(2)}), ACTIONS)
    with pytest.raises(ConfigError, match=r"encoder must be one of auto, mlp.*got 'cnn'"):
        build("lstm", image(9, 9, 3), encoder="cnn")
    with pytest.raises(ConfigError, match="encode='onehot' is for the encoders mlp and residual, not for impala"):
        build("lstm", image(9, 9, 3), encode="onehot")
    with pytest.raises(ConfigError, match="cnn_width must be an integer of at least 1, got 0"):
        build("impala", image(9, 9, 3), cnn_width=0)
    with pytest.raises(ConfigError, match="'impala' has no setting 'window'"):
        build("impala", image(9, 9, 3), window=4)
    with pytest.raises(ConfigError, match="2000000 rows"):
        build("multi", spaces.Discrete(2_000_000))


def test_the_nature_network_is_the_papers():
    policy = build_policy("nature", image(4, 84, 84), ACTIONS)
    shapes = [tuple(p.shape) for p in policy.body.parameters() if p.ndim > 1]
    assert shapes == [(32, 4, 8, 8), (64, 32, 4, 4), (64, 64, 3, 3), (512, 3136)]


def test_the_impala_network_is_the_papers_times_its_width():
    policy = build_policy("impala", image(64, 64, 3), ACTIONS, cnn_width=2)
    convolutions = [p.shape[:2] for p in policy.body.parameters() if p.ndim == 4]
    dense = [tuple(p.shape) for p in policy.body.parameters() if p.ndim == 2]
    assert convolutions == [(32, 3), *[(32, 32)] * 4, (64, 32), *[(64, 64)] * 9] and dense == [(256, 64 * 8 * 8)]


def test_every_part_gets_its_own_encoder():
    space = spaces.Dict(
        {
            "camera": image(8, 8, 3),
            "empty": spaces.Box(0, 1, (0,)),
            "flags": spaces.MultiBinary(2),
            "mode": spaces.Discrete(5, start=2),
            "slots": spaces.MultiDiscrete([3, 4], start=[0, -1]),
            "speed": spaces.Box(-9, 9, ()),
        }
    )
    structure = pufferlib.structure_of(space)
    encoder = MultiInputEncoder(structure.box, 16, embedding_size=4, standardise=False)
    assert encoder.width == 16 + 4 + 2 * 4 + 16
    values = [space.sample() for _ in range(3)]
    rows = torch.from_numpy(np.stack([structure.flatten(value) for value in values]))
    out = encoder(rows)
    pixels = torch.from_numpy(np.stack([value["camera"] for value in values])) / 255
    torch.testing.assert_close(out[:, :16], encoder.images[0].body(pixels.permute(0, 3, 1, 2)))
    mode, slots = encoder.choices
    assert mode.table.weight.shape == (5, 4) and slots.table.weight.shape == (7, 4)
    for row, value in zip(out, values, strict=True):
        torch.testing.assert_close(row[16:20], mode.table.weight[value["mode"] - 2])
        first, second = slots.table.weight[value["slots"][0]], slots.table.weight[3 + value["slots"][1] + 1]
        torch.testing.assert_close(row[20:28], torch.cat([first, second]))
    numbers = torch.tensor([[*value["flags"].tolist(), float(value["speed"])] for value in values])
    torch.testing.assert_close(out[:, 28:], encoder.vector(numbers))


@pytest.mark.parametrize("name", ["multi", "residual"])
def test_numbers_are_standardised_by_what_the_policy_was_shown(name):
    space = spaces.Dict({"code": spaces.Discrete(2), "x": spaces.Box(-np.inf, np.inf, (1,))}) if name == "multi" else None
    structure = pufferlib.structure_of(space or spaces.Box(-np.inf, np.inf, (1,)))
    policy = build_policy(name, structure.box, ACTIONS, hidden_size=8)
    x = [30.0, 34.0, 32.0]
    rows = np.stack([structure.flatten({"code": 1, "x": np.float32([v])} if space else np.float32([v])) for v in x])
    policy.update_statistics(torch.from_numpy(rows))
    (layer,) = [module for module in policy.modules() if isinstance(module, InputLinear)]
    assert layer.mean.item() == pytest.approx(32) and layer.variance.item() == pytest.approx(8 / 3)
