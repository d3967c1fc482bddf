"""The rules for one value, on the command line and in TOML."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pufferlib.config.values import Kind, from_text, from_toml, kind_of, near

INT, FLOAT, BOOL, TEXT, ANY = Kind("int"), Kind("float"), Kind("bool"), Kind("text"), Kind("any")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (INT, "1e6", 1_000_000), (INT, "1_000_000", 1_000_000), (INT, "2.5e3", 2500), (INT, "-3", -3), (INT, "+3", 3),
        (INT, "007", 7),
        (INT, "9007199254740993", 2**53 + 1), (INT, "9223372036854775807", 2**63 - 1),
        (FLOAT, "1e-3", 0.001), (FLOAT, "3", 3.0), (FLOAT, ".5", 0.5), (FLOAT, "-1_0.5", -10.5), (FLOAT, "1e-400", 0.0),
        (BOOL, "True", True), (BOOL, "true", True), (BOOL, "1", True), (BOOL, "False", False), (BOOL, "0", False),
        (TEXT, "007", "007"), (TEXT, "", ""), (TEXT, "True", "True"), (Kind("texts"), "wandb", ["wandb"]),
        (Kind("int", optional=True), "auto", None), (Kind("int", optional=True), "None", None),
        (Kind("int", optional=True), "4", 4),
        (Kind("text", choices=("adam", "muon")), "muon", "muon"),
    ],
)  # fmt: skip
def test_text_becomes_the_value(kind, text, value):
    found = from_text(kind, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *((INT, text) for text in (
            "1.5", "four", "", " 4", "0x10", "1__0", "_1", "1e", "e6", ".", "1e400", "1e99999999999999999999", "nan", "inf",
            "9223372036854775808", "True", "٣", "1,000", "1-2", "1" * 500,
        )),
        *((FLOAT, text) for text in (
            "nan", "-nan", "inf", "-inf", "Infinity", "1e999", "fast", "", "1e", "0x1p3", "1.2.3", "--1",
        )),
        *((BOOL, text) for text in ("maybe", "yes", "2", "", "-1", "1.0", "None")),
        (Kind("text", choices=("adam", "muon")), "Adam"), (Kind("int", low=1, high=16), "0"),
        (Kind("int", low=1, high=16), "17"),
        (INT, "auto"), (ANY, "nan"), (ANY, "inf"),
    ],
)  # fmt: skip
def test_text_is_refused_with_itself_in_the_message(kind, text):
    with pytest.raises(ValueError, match=r"expected|must be") as refused:
        from_text(kind, text)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "given_value", "value"),
    [
        (INT, 1e6, 1_000_000), (INT, 7, 7), (FLOAT, 3, 3.0), (BOOL, True, True), (BOOL, 0, False), (TEXT, "007", "007"),
        (Kind("int", optional=True), "auto", None), (Kind("texts"), ["a", "b"], ["a", "b"]), (ANY, {"x": [1]}, {"x": [1]}),
        (Kind("any", optional=True), "auto", None), (Kind("any", optional=True), [[8, 12, 7]], [[8, 12, 7]]),
    ],
)  # fmt: skip
def test_toml_value_is_taken(kind, given_value, value):
    found = from_toml(kind, given_value)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (INT, 1.5), (INT, True), (INT, "4"), (INT, math.nan), (INT, math.inf), (INT, 2**63), (FLOAT, math.nan),
        (FLOAT, -math.inf),
        (FLOAT, "0.1"), (FLOAT, False), (FLOAT, 10**400), (BOOL, "False"), (BOOL, 2), (BOOL, 0.5), (TEXT, 7), (TEXT, True),
        (TEXT, ["a"]),
        (Kind("texts"), "wandb"), (Kind("texts"), [1]), (Kind("text", choices=("adam",)), "sgd"), (INT, "auto"), (INT, [1]),
    ],
)  # fmt: skip
def test_toml_value_is_refused(kind, value):
    with pytest.raises(ValueError, match="expected"):
        from_toml(kind, value)


def test_a_number_where_text_belongs_is_told_to_be_quoted():
    with pytest.raises(ValueError, match='write "7" in quotes'):
        from_toml(TEXT, 7)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3), ("-3", -3), ("1_000", 1000), ("1e3", 1000.0), ("0.5", 0.5), (".5", 0.5), ("true", True), ("True", True),
        ("False", False),
        ('"3"', "3"), ("[1, 2]", [1, 2]), ("{a = 1}", {"a": 1}), ("007", "007"), ("easy", "easy"), ("", ""), ("a b", "a b"),
        ("-", "-"),
        ("x\ny = 3", "x\ny = 3"), ("1 # one", 1),
    ],
)  # fmt: skip
def test_a_value_without_declared_type_is_a_toml_literal_or_text(text, value):
    found = from_text(ANY, text)
    assert found == value
    assert type(found) is type(value)


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_every_integer_survives(value):
    assert from_text(INT, str(value)) == from_toml(INT, value) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_float_survives(value):
    assert from_text(FLOAT, repr(value)) == from_toml(FLOAT, value) == value


@given(st.text())
def test_no_text_breaks_the_reader(text):
    for kind in (INT, FLOAT, BOOL, ANY):
        try:
            value = from_text(kind, text)
        except ValueError:
            continue
        assert kind.name != "float" or math.isfinite(value)


def test_kinds_of_types():
    assert kind_of(int | None) == Kind("int", optional=True)
    assert kind_of(list[str]) == Kind("texts")
    with pytest.raises(TypeError, match="complex"):
        kind_of(complex)


@pytest.mark.parametrize(
    ("name", "known", "found"),
    [
        ("trian", ["train", "eval", "list"], "train"),
        ("--train.learning-rte", ["--train.learning-rate", "--train.seed"], "learning-rate"),
        ("--seed", ["--train.learning-rate", "--train.seed"], "--train.seed"), ("zzz", ["train"], ""),
    ],
)  # fmt: skip
def test_near_match(name, known, found):
    assert found in near(name, known)
    assert bool(found) == bool(near(name, known))
