"""Reading flags: every flag takes exactly one value, `--train.seed 3` or `--train.seed=3`.

tyro renders the help pages from the dataclasses, but the parsing is ours, because one set of rules must hold for flags and
for TOML files, with one short message each: tyro's booleans know no 0 and 1, its integers no 1e6, its floats let nan
through, and its errors are boxes of several lines that wrap names at the terminal's width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pufferlib.config.run_config import Given
from pufferlib.config.values import near
from pufferlib.errors import ConfigError


@dataclass
class Arguments:
    """A command's arguments, taken apart."""

    positional: list[str] = field(default_factory=list)
    flags: list[Given] = field(default_factory=list)
    wants_help: bool = False

    def take(self, name: str) -> str | None:
        """The value of a flag that is no setting, such as --config; it is removed."""
        found = [given for given in self.flags if given.key == name]
        self.flags = [given for given in self.flags if given.key != name]
        return found[-1].value if found else None

    def refuse_flags(self, known: Sequence[str] = ()) -> None:
        """Raise ConfigError if a flag is left that the command does not know."""
        for given in self.flags:
            raise ConfigError(f"{given.label}: no such flag{near(given.label, known)}")

    def at_most(self, count: int, command: str) -> None:
        """Raise ConfigError if there are more positional arguments than the command takes."""
        if len(self.positional) > count:
            extra = self.positional[count]
            hint = f"; flags begin with --: --{extra}" if "." in extra else ""
            raise ConfigError(f"{command}: unexpected argument {extra!r}{hint}")


def scan(argv: Sequence[str], switches: Sequence[str] = ()) -> Arguments:
    """Take `argv` apart. `switches` are the flags without a value. Raises ConfigError for a flag whose value is missing."""
    found = Arguments()
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word in ("-h", "--help"):
            found.wants_help = True
        elif word.startswith("--") and word != "--":
            name, given, value = word.partition("=")
            if name[2:] in switches:
                value = "True"
            elif not given:
                if not rest or rest[0].startswith("--") or rest[0] in ("-h",):
                    raise ConfigError(f"{name}: needs a value, such as {name} VALUE")
                value = rest.pop(0)
            found.flags.append(Given(name[2:].replace("-", "_"), value, name, True))
        elif word.startswith("-") and len(word) > 1 and not word[1].isdigit():
            raise ConfigError(f"{word}: no such flag; flags begin with --, as in --train.seed 3")
        else:
            found.positional.append(word)
    return found
