"""Settings that change over training: what schedules give, what is refused, and that a run's config.toml keeps them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pufferlib.config.resolve import resolve
from pufferlib.config.run_config import Given
from pufferlib.config.schedules import CHANGEABLE, Cosine, Linear, Piecewise, make_schedules, parse, scheduled
from pufferlib.config.train_config import TrainConfig
from pufferlib.errors import ConfigError

progresses = st.floats(0, 1)
values = st.floats(-1e6, 1e6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("constant 0.3", {0: 0.3, 0.7: 0.3, 1: 0.3}),
        ("linear 0.02 0", {0: 0.02, 0.25: 0.015, 1: 0}),
        ("cosine 1 0", {0: 1, 1 / 3: 0.75, 0.5: 0.5, 1: 0}),
        ("piecewise 0.2:1 0.4:3 0.8:1", {0: 1, 0.2: 1, 0.3: 2, 0.4: 3, 0.6: 2, 0.8: 1, 1: 1}),
        ("steps 0:1 0.5:2 0.75:4", {0: 1, 0.49: 1, 0.5: 2, 0.74: 2, 0.75: 4, 1: 4}),
        ("math:sqrt", {0: 0, 0.25: 0.5, 1: 1}),
    ],
)
def test_values_by_hand(text, expected):
    schedule = parse(text)
    assert {at: schedule(at) for at in expected} == pytest.approx(expected)


@given(values, values, progresses)
def test_lines_and_cosines_stay_between_their_ends(start, end, progress):
    slack = 1e-9 * (1 + abs(start) + abs(end))
    for schedule in (Linear(start, end), Cosine(start, end)):
        assert min(start, end) - slack <= schedule(progress) <= max(start, end) + slack
        assert schedule(0.0) == pytest.approx(start, abs=slack)
        assert schedule(1.0) == pytest.approx(end, abs=slack)


@given(st.lists(progresses, min_size=1, max_size=6, unique=True), st.data())
def test_piecewise_meets_its_points_and_is_continuous_where_it_is_made_of_lines(at, data):
    at = sorted(at)
    heights = data.draw(st.lists(st.floats(-10, 10), min_size=len(at), max_size=len(at)))
    points = tuple(zip(at, heights, strict=True))
    for steps in (False, True):
        schedule = Piecewise(points, steps)
        assert [schedule(x) for x in at] == pytest.approx(heights)
        assert schedule(0.0) == heights[0]
        assert schedule(1.0) == heights[-1]
    middle = Piecewise(points)((at[0] + at[-1]) / 2)
    assert min(heights) - 1e-9 <= middle <= max(heights) + 1e-9


@pytest.mark.parametrize(
    "text", ["", "linear 1", "linear 1 x", "linear nan 1", "wave 1 2", "piecewise 0.5:1 0.5:2", "piecewise 0:1 2:1", "steps 0",
             "no_such_module:f", "math:no_such", "math:pi"],
)  # fmt: skip
def test_texts_that_are_no_schedule_are_refused_by_name(text):
    with pytest.raises(ConfigError, match="schedule of ent_coef"):
        make_schedules({"ent_coef": text}, TrainConfig()) or pytest.fail("not refused")


def test_settings_that_cannot_change_say_so():
    for name in ("horizon", "adam_beta1", "optimizer", "seed", "prio_alpha"):
        with pytest.raises(ConfigError, match=rf"{name}.* cannot change during training; those that can are .*ent_coef"):
            make_schedules({name: 1.0}, TrainConfig())
    with pytest.raises(ConfigError, match="no such setting; did you mean clip_coef"):
        make_schedules({"clip_coeff": 1.0}, TrainConfig())


def test_values_out_of_range_are_refused_before_training():
    with pytest.raises(ConfigError, match=r"schedule of gamma at progress 1: .*gamma.* must be in \[0, 1\], got 1.1"):
        make_schedules({"gamma": "linear 0.9 1.1"}, TrainConfig())
    with pytest.raises(ConfigError, match="must be text, a number or a function"):
        make_schedules({"gamma": [1, 2]}, TrainConfig())


@given(progresses)
def test_all_that_may_change_do_and_nothing_else(progress):
    given = {name: lambda p: 0.5 + p / 2 for name in CHANGEABLE} | {"update_epochs": lambda p: 1 + 3 * p}
    made = make_schedules(given, TrainConfig())
    before, after = TrainConfig(), scheduled(TrainConfig(), made, progress)
    for name, value in vars(after).items():
        if name == "update_epochs":
            assert value == round(1 + 3 * progress)
        elif name in CHANGEABLE:
            assert value == 0.5 + progress / 2
        else:
            assert value == vars(before)[name]


def test_a_runs_config_keeps_schedules_callbacks_and_self_play():
    flags = [
        Given("schedule.ent_coef", "linear 0.02 0", "--schedule.ent-coef", True),
        Given("callback", "one:A", "--callback", True),
        Given("callback", "two:B", "--callback", True),
        Given("self_play.share", "0.25", "--self-play.share", True),
    ]
    config = resolve("ocean-squared", flags)
    assert config.schedule == {"ent_coef": "linear 0.02 0"}
    assert config.callback == ["one:A", "two:B"]
    assert config.self_play.share == 0.25
    again = resolve("ocean-squared", base=config.tables())
    assert again == config


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("schedule.ent_coef", "linear 1", "schedule of ent_coef: expected constant V"),
        ("schedule.horizon", "linear 1 2", "no such setting"),
        ("self_play.share", "1.5", r"share .* must be in \[0, 1\], got 1.5"),
        ("self_play.active", "0", "active .* must be at least 1"),
        ("self_play.pick", "best", "expected one of prioritised, uniform"),
    ],
)
def test_bad_values_on_the_command_line_are_refused(key, value, words):
    with pytest.raises(ConfigError, match=words):
        resolve("ocean-squared", [Given(key, value, f"--{key}", True)])
