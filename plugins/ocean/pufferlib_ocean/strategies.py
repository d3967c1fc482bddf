"""Hypothesis strategies for the arguments of games: what is in range, and what is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from pufferlib.native import Bool, Choice, Float, Int, NativeEnv


def valid_arguments(game: type[NativeEnv], largest: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of a game's arguments, each in its range. They need not fit together: `game.check` may refuse them.

    largest: a smaller maximum for arguments whose own one takes too long
    """
    known = {argument.name: in_range(argument, largest) for argument in game.arguments if isinstance(argument, KINDS)}
    return st.fixed_dictionaries({}, optional=known)


def invalid_argument(game: type[NativeEnv]) -> st.SearchStrategy[tuple[Any, Any]]:
    """One of a game's arguments, and a value that it has to refuse."""
    return st.sampled_from([argument for argument in game.arguments if isinstance(argument, KINDS)]).flatmap(
        lambda argument: st.tuples(st.just(argument), out_of_range(argument))
    )


def in_range(argument: Any, largest: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    if isinstance(argument, Bool):
        return st.booleans()
    if isinstance(argument, Choice):
        return st.sampled_from(argument.choices)
    high = min(argument.high, largest.get(argument.name, argument.high))
    if isinstance(argument, Float):
        return st.floats(argument.low, high, width=32 if _is_single(argument.low, high) else 64)
    return st.integers(0, (high - argument.low) // argument.step).map(lambda k: argument.low + k * argument.step)


def out_of_range(argument: Any) -> st.SearchStrategy[Any]:
    if isinstance(argument, Bool):
        return st.one_of(st.text(), st.none(), st.integers().filter(lambda n: n not in (0, 1)))
    if isinstance(argument, Choice):
        return st.one_of(st.text().filter(lambda word: word not in argument.choices), st.none(), st.integers())
    outside = (st.integers(max_value=_below(argument.low)), st.integers(min_value=_above(argument.high)))
    other = (st.none(), st.text(), st.booleans(), st.just(float("nan")), st.just(float("inf")))
    if isinstance(argument, Int):
        return st.one_of(*outside, *other, st.floats())
    return st.one_of(*outside, *other, st.floats(max_value=argument.low, exclude_max=True))


KINDS = (Int, Float, Bool, Choice)


def _is_single(*values: float) -> bool:
    """Whether float32 has these numbers exactly, which hypothesis asks of limits."""
    import numpy as np

    return all(float(np.float32(value)) == value for value in values)


def _below(low: float) -> int:
    return int(-(-low // 1)) - 1


def _above(high: float) -> int:
    return int(high // 1) + 1
