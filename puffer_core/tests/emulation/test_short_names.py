"""Short names for Gymnasium ids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pufferlib.emulation.short_names import ShortNames
from pufferlib.errors import EnvNotFoundError

IDS = [
    "Door-5x5-v0", "Door-8x8-v0", "Door-16x16-v0", "Door-Random-5x5-v0", "RoomS3R2-v0", "RoomS3R1-v0", "Maze-v0", "Maze-v2",
    "Maze-v10", "Maze-Big-v1", "Old",
]  # fmt: skip
NAMES = ShortNames("zoo", {f"Zoo-{name}": name for name in IDS})


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("door-8x8", "Door-8x8-v0"), ("Door_8x8", "Door-8x8-v0"), ("door8x8", "Door-8x8-v0"), ("door-8x8-v0", "Door-8x8-v0"),
        ("door", "Door-5x5-v0"), ("door-random", "Door-Random-5x5-v0"), ("room", "RoomS3R1-v0"), ("room-s3", "RoomS3R1-v0"),
        ("maze", "Maze-v10"), ("maze-v2", "Maze-v2"), ("maze-big", "Maze-Big-v1"), ("old", "Old"),
    ],
)  # fmt: skip
def test_a_name_is_found(name, found):
    assert NAMES.find(name) == f"Zoo-{found}"


def test_each_env_is_shown_once_and_older_versions_by_name():
    assert NAMES.names() == [
        "door-16x16", "door-5x5", "door-8x8", "door-random-5x5", "maze", "maze-big", "maze-v0", "maze-v2",
        "old", "rooms3r1", "rooms3r2",
    ]  # fmt: skip


@given(st.sets(st.from_regex(r"[A-Z][a-z]{1,6}(-[A-Z][a-z]{1,3})?-v[0-9]", fullmatch=True), min_size=1))
def test_every_shown_name_leads_to_an_id_of_its_own(names):
    short = ShortNames("zoo", {f"Zoo-{name}": name for name in names})
    keys = {(name.lower().replace("-", "")) for name in names}
    assert len({short.find(name) for name in short.names()}) == len(short.names()) == len(keys)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dor-8x8", "Near matches: zoo-door-8x8"), ("maze-v3", "There is zoo-maze-v0, zoo-maze-v2, zoo-maze-v10"),
        ("doo", "Near matches: zoo-door-16x16"), ("", "`puffer list zoo-` shows all"), ("maze-v3", "'zoo-maze-v3'"),
    ],
)  # fmt: skip
def test_a_wrong_name_gets_near_ones(name, text):
    with pytest.raises(EnvNotFoundError) as caught:
        NAMES.find(name)
    assert text in str(caught.value)
