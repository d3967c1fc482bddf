"""Sets of entities: where they stand in a row, in any order, and those that are not there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

import pufferlib
from pufferlib.errors import ConfigError, SpaceError
from pufferlib.policies import build_policy
from pufferlib.policies.entities import ROWS_AT_ONCE, EntityEncoder

ACTIONS = spaces.Discrete(3)
ROW = spaces.Box(-np.inf, np.inf, (2 + 4 * 3 + 1 + 2 * 2,))
SETS = [[2, 4, 3], [15, 2, 2]]


def encoder(entities: Any = SETS, space: Any = ROW, **more: Any) -> EntityEncoder:
    torch.manual_seed(0)
    return EntityEncoder(space, 32, entities=entities, **more)


@given(st.permutations(range(4)), st.permutations(range(2)), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_the_order_within_a_set_does_not_matter_and_all_else_does(first, second, seed):
    network, rng = encoder(), torch.Generator().manual_seed(seed)
    row = torch.randn(1, 19, generator=rng)
    moved = row.clone()
    moved[:, 2:14] = row[:, 2:14].reshape(4, 3)[list(first)].flatten()
    moved[:, 15:] = row[:, 15:].reshape(2, 2)[list(second)].flatten()
    torch.testing.assert_close(network(moved), network(row))
    for place in (0, 1, 14):
        other = row.clone()
        other[:, place] += 1
        assert not torch.equal(network(other), network(row))


def test_an_entity_of_zeros_is_none():
    """The same rows with room for more entities, of which there are none, by the same weights."""
    roomy = encoder([[2, 9, 3], [30, 6, 2]], spaces.Box(-np.inf, np.inf, (42,)))
    network = encoder()
    roomy.load_state_dict(network.state_dict())
    rows = torch.randn(5, 19)
    rows[0, 2:14] = 0
    wide = torch.zeros(5, 42)
    wide[:, :2], wide[:, 29] = rows[:, :2], rows[:, 14]
    wide[:, 2:14] = rows[:, 2:14]
    wide[:, 34:38] = rows[:, 15:]  # in the middle of the places
    torch.testing.assert_close(roomy(wide), network(rows))
    assert (network(rows)[0, 32:40] == 0).all() and (network(rows)[1:, 32:40] != 0).any()


def test_the_features_are_those_of_the_formula():
    """A loop over rows and entities, in float64."""
    network = encoder()
    rows = torch.randn(6, 19)
    rows[2, 5:8] = 0
    network.update(rows)
    ours = network(rows)
    weights = {name: value.double() for name, value in network.state_dict().items()}

    def linear(x: Any, name: str, standard: bool = False) -> Any:
        if standard:
            x = (x - weights[f"{name}.mean"]) / (weights[f"{name}.variance"] + 0.1).sqrt()
        return weights[f"{name}.weight"] @ x + weights.get(f"{name}.bias", 0)

    for row, features in zip(rows.double(), ours, strict=True):
        base = torch.nn.functional.gelu(linear(row[[0, 1, 14]], "base.0", True))
        expected = [base]
        for index, (first, count, size) in enumerate(SETS):
            seen = [torch.zeros(8, dtype=torch.float64)]
            for entity in row[first : first + count * size].reshape(count, size):
                if entity.any():
                    name = f"networks.{index}"
                    hidden = linear(entity, f"{name}.first", True) + linear(base, f"{name}.context")
                    seen.append(linear(hidden.relu(), f"{name}.second").relu())
            expected.append(torch.stack(seen).amax(0))
        torch.testing.assert_close(features.double(), torch.cat(expected), atol=1e-5, rtol=1e-5)


def test_statistics_leave_out_who_is_not_there():
    network = encoder()
    rows = torch.zeros(3, 19)
    rows[0, 2:5] = torch.tensor([1.0, 10, 100])
    rows[2, 8:11] = torch.tensor([3.0, 30, 300])
    network.update(rows)
    cars, signs = network.networks
    assert cars.first.count == 2 and cars.first.mean.tolist() == [2, 20, 200] and cars.first.variance.tolist() == [1, 100, 1e4]
    assert signs.first.count == 0, "nothing was seen of the second set"
    plain = encoder(standardise=False)
    plain.update(rows)
    assert not [name for name in plain.state_dict() if "variance" in name]


def test_boxes_of_two_axes_are_sets_unless_told_otherwise():
    space = spaces.Dict(
        {
            "cars": spaces.Box(-1, 1, (5, 3)), "image": spaces.Box(0, 255, (7, 7, 3), np.uint8), "mode": spaces.Discrete(4),
            "signs": spaces.Box(0, 9, (4, 2), np.uint8), "speed": spaces.Box(-1, 1, ()), "table": spaces.MultiDiscrete([[2, 2]]),
        }
    )  # fmt: skip
    structure = pufferlib.structure_of(space)
    network = encoder(None, structure.box)
    assert [(s.first, s.count, s.size) for s in network.sets] == [(0, 5, 3), (15 + 147 + 4, 4, 2)]
    space.seed(1)
    value = space.sample()
    rows = network.flat(torch.from_numpy(structure.flatten(value))[None])
    cars, signs = (part.entities(rows)[0][0] for part in network.networks)
    np.testing.assert_allclose(cars, value["cars"])
    np.testing.assert_allclose(signs, value["signs"] / 9, rtol=1e-6)
    assert encoder(None, spaces.Box(-1, 1, (6, 2))).width == 8, "a set and nothing beside it"


def test_many_rows_are_the_same_as_few():
    network, rows = encoder(), torch.randn(ROWS_AT_ONCE + 3, 19)
    torch.testing.assert_close(network(rows)[-5:], network(rows[-5:]))
    assert network(rows[:0]).shape == (0, network.width)


@pytest.mark.parametrize(
    ("entities", "message"),
    [
        ([[2, 4]], r"entities must be a list of \[first, count, size\], got \[\[2, 4\]\]"),
        ([], r"must be a list"),
        ("all", r"must be a list"),
        ([[2, 4, 3], [13, 2, 2]], r"\[2, 4, 3\] and \[13, 2, 2\] overlap"),
        ([[15, 2, 3]], r"entities\[0\]=\[15, 2, 3\] ends at 21; rows have 19 numbers"),
        ([[2, 0, 3]], r"entities\[0\], count must be an integer of at least 1, got 0"),
        ([[-1, 2, 3]], r"entities\[0\], first must be an integer of at least 0, got -1"),
        ([[0, 2, 1.5]], r"entities\[0\], size must be an integer of at least 1, got 1.5"),
    ],
)
def test_sets_that_do_not_fit_are_refused(entities, message):
    with pytest.raises(ConfigError, match=message):
        build_policy("entities", ROW, ACTIONS, entities=entities)


def test_a_space_without_sets_is_refused():
    with pytest.raises(SpaceError, match=r"finds no Box of two axes in Box.*entities=\[\[first, count, size\], ...\]"):
        build_policy("entities", ROW, ACTIONS)
