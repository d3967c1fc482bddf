"""What a setting's value may look like, on the command line and in a TOML file alike.

The rules are strict where a lenient parser would ruin a run in silence: `False` is not true, `1.5` is not an integer,
`nan` is no learning rate, `007` stays text.
"""

from __future__ import annotations

import difflib
import re
import sys
import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, Union, get_args, get_origin

NUMBER = re.compile(r"[+-]?(\d+(_\d+)*)?(\.\d+(_\d+)*|\.)?([eE][+-]?\d+)?", re.ASCII)
TRUTH = {"true": True, "1": True, "false": False, "0": False}
AUTO = "auto"
"""How None, "the library chooses", is written in files and flags."""
LARGEST = 2**63 - 1
LARGEST_FLOAT = Decimal(sys.float_info.max)
MOST_DIGITS = 400
METAVARS = {"bool": "{True,False}", "int": "INT", "float": "FLOAT", "text": "TEXT", "texts": "TEXT", "any": "VALUE"}


@dataclass(frozen=True)
class Kind:
    """The type of a setting. `low` and `high` are inclusive; `optional` values may also be `auto` (None)."""

    name: Literal["bool", "int", "float", "text", "texts", "any"]
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    optional: bool = False

    @property
    def metavar(self) -> str:
        """How help pages show a value of this kind."""
        if self.choices:
            return "{" + ",".join(self.choices) + "}"
        shown = METAVARS[self.name]
        return f"{{{AUTO}}}|{shown}" if self.optional else shown


def kind_of(annotation: Any) -> Kind:
    """The kind of a dataclass field's type. Raises TypeError for a type that has no rule here."""
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [part for part in get_args(annotation) if part is not type(None)]
        if len(inner) == 1:
            return Kind(**{**vars(kind_of(inner[0])), "optional": True})
    if get_origin(annotation) is Literal:
        return Kind("text", choices=tuple(str(choice) for choice in get_args(annotation)))
    if get_origin(annotation) in (list, tuple, Sequence):
        return Kind("texts")
    plain: dict[Any, Kind] = {bool: Kind("bool"), int: Kind("int"), float: Kind("float"), str: Kind("text"), Any: Kind("any")}
    if annotation not in plain:
        raise TypeError(f"no rule for settings of type {annotation}")
    return plain[annotation]


def from_text(kind: Kind, text: str) -> Any:
    """The value that `text`, a command-line argument, stands for. Raises ValueError that says what is expected."""
    if kind.optional and text.lower() in (AUTO, "none"):
        return None
    if kind.name == "bool":
        if text.lower() not in TRUTH:
            raise ValueError(f"expected True or False, got {text!r}")
        return TRUTH[text.lower()]
    if kind.name in ("int", "float"):
        number = read_number(text)
        if number is None:
            raise ValueError(f"expected {describe(kind)}, got {text!r}")
        return check_number(kind, number, repr(text))
    if kind.name == "texts":
        return [text]
    return check_choice(kind, text) if kind.name == "text" else literal(text)


def from_toml(kind: Kind, value: Any) -> Any:
    """The value that a TOML value stands for, by the same rules. Raises ValueError that says what is expected."""
    if kind.optional and value == AUTO:
        return None
    if kind.name == "any":
        return value
    if kind.name == "bool" and isinstance(value, (bool, int)) and value in (0, 1):
        return bool(value)
    if kind.name in ("int", "float") and isinstance(value, (int, float)) and not isinstance(value, bool):
        return check_number(kind, value, repr(value))
    if kind.name == "text" and isinstance(value, str):
        return check_choice(kind, value)
    if kind.name == "texts" and isinstance(value, list) and all(isinstance(part, str) for part in value):
        return value
    hint = f'; write "{value}" in quotes' if kind.name == "text" and isinstance(value, (int, float)) else ""
    raise ValueError(f"expected {describe(kind)}, got {value!r}{hint}")


def describe(kind: Kind) -> str:
    """What is expected, in words."""
    if kind.choices:
        return "one of " + ", ".join(kind.choices)
    words = {
        "bool": "true or false",
        "int": "an integer such as 64 or 1e6",
        "float": "a finite number such as 0.5 or 1e-3",
        "text": "text",
        "texts": "a list of texts",
        "any": "a value",
    }[kind.name]
    return f"{words}, or {AUTO}" if kind.optional else words


def read_number(text: str) -> Decimal | None:
    """The exact number that `text` writes (1e6, 1_000_000, -.5), or None."""
    if not NUMBER.fullmatch(text) or not any(c.isdigit() for c in text.lower().split("e")[0]) or len(text) > MOST_DIGITS:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond Decimal's own limits
        return None


def check_number(kind: Kind, number: Decimal | int | float, shown: str) -> int | float:
    """`number` as the int or float that `kind` wants, if it is finite, whole where it must be, and in range."""
    exact = Decimal(number)
    if not exact.is_finite() or abs(exact) > (LARGEST if kind.name == "int" else LARGEST_FLOAT):
        raise ValueError(f"expected {describe(kind)}, got {shown}")
    if kind.name == "int" and int(exact) != exact:
        raise ValueError(f"expected {describe(kind)}, got {shown}")
    value = int(exact) if kind.name == "int" else float(exact)
    too_low = kind.low is not None and value < kind.low
    if too_low or (kind.high is not None and value > kind.high):
        low = "-inf" if kind.low is None else f"{kind.low:g}"
        high = "inf" if kind.high is None else f"{kind.high:g}"
        raise ValueError(f"must be in [{low}, {high}], got {shown}")
    return value


def check_choice(kind: Kind, text: str) -> str:
    """`text`, if it is one of the choices or there are none to choose from."""
    if kind.choices and text not in kind.choices:
        raise ValueError(f"expected {describe(kind)}, got {text!r}{near(text, kind.choices)}")
    return text


def literal(text: str) -> Any:
    """A value of a setting whose type nobody declared: a TOML literal, True or False, or else the text itself."""
    from pufferlib.config.files import tomllib

    if text in ("True", "False"):
        return text == "True"
    number = read_number(text)
    if number is not None and not re.fullmatch(r"[+-]?0\d.*", text):
        return int(text) if re.fullmatch(r"[+-]?[\d_]+", text, re.ASCII) else check_number(Kind("float"), number, repr(text))
    try:
        value = tomllib.loads(f"value = {text}")["value"] if "\n" not in text else text
    except tomllib.TOMLDecodeError:
        return text
    return check_number(Kind("float"), value, repr(text)) if isinstance(value, float) else value


def near(name: str, known: Iterable[str]) -> str:
    """`; did you mean X?` for the nearest of the known names, or nothing."""
    known = list(known)
    tail = {k.rsplit(".", 1)[-1].lstrip("-"): k for k in reversed(known)}
    wanted = name.rsplit(".", 1)[-1].lstrip("-")
    found = difflib.get_close_matches(name, known, 1, 0.7)
    if not found:
        found = [tail[t] for t in difflib.get_close_matches(wanted, tail, 1, 0.7)]
    found = found or difflib.get_close_matches(name, known, 1, 0.5)
    return f"; did you mean {found[0]}?" if found else ""
