"""NativeEnv: arguments, seeds, actions, logs, rendering, worlds, and the build helper."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from pufferlib.errors import ActionError, ConfigError, EnvError, ShapeError
from pufferlib.native import get_include
from pufferlib.native.arguments import Bool, Choice, Float, Int, resolve

# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"rows": 0}, r"^dummy: rows must be in \[1, 64\], got 0$"),
        ({"rows": 65}, r"rows must be in \[1, 64\], got 65"),
        ({"rows": 2.5}, r"rows must be an integer in \[1, 64\], got 2.5"),
        ({"rows": "2"}, "rows must be an integer"),
        ({"rows": True}, "rows must be an integer"),
        ({"scale": float("nan")}, r"scale must be in \[-100, 100\], got nan"),
        ({"scale": 100.5}, r"scale must be in \[-100, 100\], got 100.5"),
        ({"scale": "1"}, "scale must be a number"),
        ({"with_mask": 2}, "with_mask must be True or False, got 2"),
        ({"fail": "maybe"}, "fail must be one of 'no', 'yes', got 'maybe'"),
        ({"num_envs": 0}, r"num_envs must be in \[1, 1048576\], got 0"),
        ({"num_envs": 2**20 + 1}, "num_envs"),
        ({"render_mode": "ansi"}, "render_mode"),
    ],
)
def test_values_out_of_range_are_named(dummy, kwargs, message):
    with pytest.raises(ConfigError, match=message):
        dummy(**kwargs)


def test_unknown_argument_names_the_near_one(dummy):
    with pytest.raises(TypeError, match="dummy: unknown argument 'row'; did you mean 'rows'"):
        dummy(row=3)


def test_limits_are_inside_the_range(dummy):
    for rows in (1, 64):
        env = dummy(rows=rows)
        assert env.num_agents == rows
        env.close()


def test_numpy_numbers_are_numbers(dummy):
    env = dummy(num_envs=np.int64(2), rows=np.int32(3), scale=np.float32(0.5), with_mask=np.bool_(True))
    assert (env.num_envs, env.args.rows, env.args.scale, env.args.with_mask) == (2, 3, 0.5, True)


def test_default_may_be_a_function_of_the_other_arguments(dummy):
    assert dummy(rows=4).args.precise == 4.5
    assert dummy(rows=4, precise=7.0).args.precise == 7.0


def test_integers_in_steps():
    odd = (Int("size", 21, 5, 47, step=2),)
    assert resolve("maze", odd, {"size": 7}).size == 7
    with pytest.raises(ConfigError, match=r"maze: size must be in \[5, 47\] in steps of 2, got 8"):
        resolve("maze", odd, {"size": 8})


def test_every_kind_of_argument_reaches_c(dummy):
    env = dummy(num_envs=2, rows=3, scale=0.25, precise=8.75, max_steps=2)
    env.reset(0)
    env.step(np.full(6, 3, np.int32))
    assert np.array_equal(env.observations[:, [2, 4, 5]], np.tile(np.float32([0.75, 12345, 8.75]), (6, 1)))
    env.step(np.full(6, 3, np.int32))
    assert env.truncations.all()


def test_a_file_reaches_c_as_the_bytes_that_python_reads(dummy, tmp_path):
    path = tmp_path / "seven"
    path.write_bytes(b"\x07 and more")
    for file, shared in ((path, 19345), (str(path), 19345), (None, 12345), ("", 12345)):
        env = dummy(file=file)
        env.reset(0)
        assert env.observations[0, 4] == shared and env.shared_bytes() == np.float32(shared).tobytes()
    for wrong in (tmp_path, tmp_path / "none", 3):
        with pytest.raises(ConfigError, match="dummy: file must be the path of a file, got"):
            dummy(file=wrong)


def test_what_init_refuses_is_an_error_with_its_text(dummy):
    with pytest.raises(ConfigError, match="dummy: it was told to fail"):
        dummy(fail="yes")


def test_fields_of_c_and_python_must_agree(dummy):
    class Fewer(dummy):
        arguments = tuple(a for a in dummy.arguments if a.name != "work")

    class More(dummy):
        arguments = (*dummy.arguments, Int("speed", 1, 0, 9))

    with pytest.raises(EnvError, match=r"only in C: \['work'\]"):
        Fewer()
    with pytest.raises(EnvError, match=r"only in Python: \['speed'\]"):
        More()


def test_spaces_must_have_the_sizes_that_c_has(dummy):
    from gymnasium.spaces import Box, Discrete, MultiDiscrete

    class Wide(dummy):
        @classmethod
        def spaces(cls, a):
            return Box(0, 1, (7,), np.float32), Discrete(4)

    class Two(dummy):
        @classmethod
        def spaces(cls, a):
            return Box(0, 1, (6,), np.float32), MultiDiscrete([2, 2])

    class OneRow(dummy):
        @classmethod
        def agents(cls, a):
            return 1

    with pytest.raises(EnvError, match="bytes of an observation: 24 in C, 28"):
        Wide()
    with pytest.raises(EnvError, match="bytes of an action: 4 in C, 8"):
        Two()
    with pytest.raises(EnvError, match="rows of a world: 2 in C, 1"):
        OneRow(rows=2)


def test_game_that_is_not_built_says_so(dummy):
    class Lost(dummy):
        module = "stranger_games.lost._lost"

    with pytest.raises(EnvError, match=r"stranger_games\.lost\._lost is not built"):
        Lost()


def test_argument_kinds_name_what_they_take():
    arguments = (Bool("dense", True), Choice("opponent", "bot", ("bot", "self")), Float("p", 0.5, 0, 1))
    values = resolve("pong", arguments, {})
    assert [a.to_c(getattr(values, a.name)) for a in arguments] == [1, 0, 0.5]


# ---------------------------------------------------------------- seeds


def test_same_seed_same_bits_and_none_goes_on(dummy):
    env = dummy(num_envs=4)
    first = env.reset(7)[0].copy()
    went_on = env.reset()[0].copy()
    assert not np.array_equal(first, went_on)
    assert np.array_equal(env.reset(7)[0], first)
    assert np.array_equal(env.reset()[0], went_on)


def test_worlds_have_distinct_seeds_that_do_not_depend_on_their_number(dummy):
    many, few = dummy(num_envs=64), dummy(num_envs=8)
    drawn = many.reset(3)[0][:, 3].copy()
    assert len(np.unique(drawn)) == 64
    assert np.array_equal(few.reset(3)[0][:, 3], drawn[:8])


def test_never_seeded_reset_takes_entropy(dummy):
    a, b = dummy(num_envs=8), dummy(num_envs=8)
    assert not np.array_equal(a.reset()[0], b.reset()[0])


def test_constructor_seed_serves_the_first_reset(dummy):
    env = dummy(num_envs=4, seed=7)
    first = env.reset()[0].copy()
    assert np.array_equal(first, dummy(num_envs=4).reset(7)[0])
    assert not np.array_equal(first, env.reset()[0])


def test_one_seed_per_env_up_to_64_bits(dummy):
    env = dummy(num_envs=2)
    first = env.reset([2**64 - 1, 5])[0].copy()
    assert np.array_equal(first[::-1], env.reset([5, 2**64 - 1])[0])
    for bad in ([1], [1, -1], [1, 2**64], [1, 2.5]):
        with pytest.raises(ConfigError, match="seed"):
            env.reset(bad)


# ---------------------------------------------------------------- actions


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint32, np.uint64])
def test_integer_actions_of_any_width(dummy, dtype):
    env = dummy(num_envs=3)
    env.reset(0)
    assert env.step(np.array([0, 3, 2], dtype))[1].tolist() == [0, 3, 2]


def test_wide_actions_do_not_wrap_around(dummy):
    env = dummy(num_envs=2, max_steps=1)
    env.reset(0)
    assert env.step(np.array([2**32 + 1, -(2**32) + 1]))[1].tolist() == [0, 0]
    assert env.drain_log()["invalid_actions"] == 1.0  # a mean over two episodes of one row each: both were counted


@pytest.mark.parametrize("actions", [np.zeros(3, np.int32), np.zeros((2, 1), np.int32), np.int32(0)])
def test_actions_of_a_wrong_shape_are_refused(dummy, actions):
    env = dummy(num_envs=2)
    env.reset(0)
    with pytest.raises(ShapeError, match="actions must have shape"):
        env.step(actions)


def test_float_actions_are_refused_where_choices_are_due(dummy):
    env = dummy(num_envs=2)
    env.reset(0)
    with pytest.raises(ActionError, match="must be integers, got float64"):
        env.step(np.zeros(2))


@pytest.mark.parametrize("bad", [4, -1])
def test_check_actions_raises_and_names_the_row(dummy, bad):
    env = dummy(num_envs=3, check_actions=True)
    env.reset(0)
    with pytest.raises(ActionError, match=rf"dummy: the action of row 2 must be an integer in \[0, 4\), got {bad}"):
        env.step(np.array([0, 1, bad]))
    assert (env.observations[:, 0] == 0).all()  # nothing was stepped


def test_check_actions_refuses_nan_in_boxes(dummy):
    from gymnasium.spaces import Box

    class Continuous(dummy):
        @classmethod
        def spaces(cls, a):
            return Box(-np.inf, np.inf, (6,), np.float32), Box(-1, 1, (1,), np.float32)

    env = Continuous(num_envs=2, check_actions=True)
    env.reset(0)
    for bad in (np.nan, 1.5):
        with pytest.raises(ActionError, match="row 1 must be in"):
            env.step(np.array([[0.0], [bad]], np.float32))
    env.step(np.zeros((2, 1), np.float32))


# ---------------------------------------------------------------- logs, masks, frames, worlds


def test_log_is_the_mean_over_ended_rows_and_starts_anew(dummy):
    env = dummy(num_envs=3, rows=2, max_steps=5)
    env.reset(0)
    for _ in range(4):
        env.step(env.actions)
    assert env.drain_log() == {}
    for _ in range(6):
        env.step(env.actions)
    log = env.drain_log()
    assert (log["n"], log["episode_length"]) == (12.0, 5.0)
    assert env.drain_log() == {}
    assert env.log_names[:2] == ("score", "episode_return")


def test_action_masks_come_from_c(dummy):
    env = dummy(num_envs=2, with_mask=True)
    env.reset(0)
    assert env.action_masks.shape == (2, 4)
    env.step(env.actions)
    assert (env.action_masks == 1).all()
    assert dummy(num_envs=2).action_masks is None


def test_frame_shows_the_world_and_changes_nothing(dummy):
    env = dummy(num_envs=2)
    env.reset(0)
    for _ in range(9):
        env.step(env.actions)
    before = env.world_bytes(1)
    frame = env.render(1)
    assert (frame.shape, frame.dtype) == ((48, 64, 3), np.uint8)
    assert frame[40, 5].tolist() == [255, 0, 0]
    assert frame[40, 20].tolist() == [0, 0, 0]
    assert np.array_equal(frame, env.render(1))
    assert env.world_bytes(1) == before


def test_draw_commands_are_views_that_outlive_the_env(dummy):
    env = dummy()
    env.reset(0)
    drawn = env.draw_commands()
    assert (drawn.width, drawn.height, drawn.overflow) == (64, 48, False)
    assert drawn.commands["kind"].tolist() == [0, 1, 6]
    text = drawn.commands[2]
    assert drawn.data[text["data"] : text["data"] + text["size"]].tobytes() == b"dummy"
    env.close()
    del env
    assert drawn.commands["color"].tolist() == [0x000000FF, 0xFF0000FF, 0xFFFFFFFF]
    assert not drawn.commands.flags.writeable


def test_drawing_before_the_first_reset_is_an_error(dummy):
    with pytest.raises(EnvError, match="reset"):
        dummy().render()


def test_world_bytes_bring_a_world_back_and_leave_the_others(dummy):
    env = dummy(num_envs=2, max_steps=100)
    env.reset(0)
    saved = env.world_bytes(0)
    seen = []
    for _ in range(3):
        env.set_world_bytes(0, saved)
        other = env.world_bytes(1)
        env.set_world_bytes(0, saved)
        assert env.world_bytes(1) == other
        env.step(env.actions)
        seen.append(env.observations.copy())
    assert all(np.array_equal(s[0], seen[0][0]) for s in seen)
    assert [s[1, 0] for s in seen] == [1, 2, 3]
    with pytest.raises(ShapeError, match="bytes"):
        env.set_world_bytes(0, saved[:-1])


def test_stepping_one_world_leaves_the_bytes_of_another(dummy):
    alone, pair = dummy(num_envs=1), dummy(num_envs=2)
    alone.reset([5])
    pair.reset([5, 6])
    for _ in range(20):
        alone.step(alone.actions)
        pair.step(pair.actions)
        assert np.array_equal(alone.observations[0], pair.observations[0])


# ---------------------------------------------------------------- build helper


def test_include_folder_holds_the_interface():
    assert {"puffer_env.h", "draw.h", "puffer_module.h"} <= set(os.listdir(get_include()))


def test_build_helper_needs_only_setuptools():
    script = (
        "import sys; from pufferlib.native.build import game_extensions\n"
        "heavy = {'numpy', 'gymnasium', 'torch', 'Cython', 'pluggy'} & set(sys.modules); sys.exit(f'{heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_folder_without_games_is_an_error(tmp_path, monkeypatch):
    from pufferlib.native.build import game_extensions

    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="no game in 'nothing'"):
        game_extensions("nothing")


def test_only_the_named_games_are_built(stranger, monkeypatch):
    from pufferlib.native.build import game_extensions

    monkeypatch.chdir(stranger)
    monkeypatch.setenv("PUFFERLIB_BUILD_ONLY", "other, another")
    assert game_extensions("stranger_games") == []
    monkeypatch.setenv("PUFFERLIB_BUILD_ONLY", "dummy")
    (extension,) = game_extensions("stranger_games")
    assert extension.name == "stranger_games.dummy._dummy"
    assert not any("native" in flag.split("=") for flag in extension.extra_compile_args)


def test_game_modules_serve_every_python_from_3_10(stranger):
    built = list((stranger / "stranger_games" / "dummy").glob("_dummy.*"))
    assert len(built) == 1
    assert ".abi3." in built[0].name or built[0].suffix == ".pyd"
