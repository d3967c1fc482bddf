"""The puffer command: light pages, clear refusals, exit codes."""

from __future__ import annotations

import errno
import subprocess
import sys
import textwrap

import pytest

from pufferlib.cli import main as module
from pufferlib.cli.main import main
from pufferlib.config import TrainConfig
from pufferlib.config.resolve import base_settings, resolve
from pufferlib.config.run_config import flag
from pufferlib.errors import EnvError, NonFiniteError
from pufferlib.plugins import CommandSpec, registry

HEAVY = ("torch", "tyro", "rich", "gymnasium", "numpy", "pufferlib_ocean.squared", "ale_py", "pettingzoo")


def puffer(capsys, *argv):
    code = main(list(argv))
    shown = capsys.readouterr()
    assert "Traceback" not in shown.out + shown.err
    return code, shown.out, shown.err


def run_blocked(blocked, *argv):
    """`puffer` in a process of its own, in which the blocked packages cannot be imported."""
    code = textwrap.dedent(f"""
        import sys
        class Missing:
            def find_spec(self, name, path=None, target=None):
                if any(name == b or name.startswith(b + ".") for b in {blocked!r}):
                    raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        sys.meta_path.insert(0, Missing())
        from pufferlib.cli.main import main
        sys.exit(main({list(argv)!r}))
    """)
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "argv", [[], ["--help"], ["-h"], ["list"], ["list", "--long"], ["plugins"], ["list", "--help"], ["--version"]]
)  # fmt: skip
def test_pages_need_no_heavy_package(argv):
    done = run_blocked(HEAVY, *argv)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("command", ["train", "eval", "list", "plugins", "bench"])
def test_help_of_a_command_needs_no_torch_and_no_env_package(command):
    done = run_blocked(("torch", "pufferlib_ocean", "ale_py"), command, "--help")
    assert done.returncode == 0, done.stderr
    assert f"puffer {command}" in done.stdout


def test_help_of_train_shows_every_setting(capsys):
    code, out, _ = puffer(capsys, "train", "--help")
    assert code == 0
    for key in (*base_settings(), "config", "resume"):
        assert f"{flag(key)} " in out, key
    assert "(default: 0.0025)" in out
    assert "--vec.num-workers INT|auto" in out
    assert "None" not in out
    assert "│ --env." not in out


def test_help_shows_a_list_as_one_flag_with_the_presets_value(capsys):
    _, out, _ = puffer(capsys, "train", "ocean-drive", "--help")
    shown = " ".join(out.split())
    assert "--policy.entities {auto}|VALUE" in shown and "[[8, 12, 7], [156, 32, 4]]" in shown
    assert "--policy.entities." not in shown


def test_help_of_train_with_an_env_shows_its_arguments(capsys):
    code, out, _ = puffer(capsys, "train", "ocean-squared", "--help")
    assert code == 0
    assert "--env.radius" in out
    assert "--env.max-steps" in out
    preset = resolve("ocean-squared").train
    assert preset.learning_rate != TrainConfig().learning_rate
    assert f"(default: {preset.learning_rate})" in out.replace("\n", " ")


def test_help_of_train_with_a_broken_env_still_helps():
    done = run_blocked(("torch", "pufferlib_ocean.squared"), "train", "ocean-squared", "--help")
    assert done.returncode == 0
    assert "--train.learning-rate" in done.stdout
    assert "ocean-squared" in done.stderr


def test_the_first_page_names_every_command(capsys):
    code, out, err = puffer(capsys)
    assert (code, err) == (0, "")
    assert all(f"  {name}" in out for name in module.BUILT_IN)
    assert len(out.splitlines()) < 25


@pytest.mark.parametrize(
    ("argv", "texts"),
    [
        (["trian"], ["trian", "did you mean train?"]), (["Train"], ["train"]), (["--train"], ["puffer train"]),
        (["zzz"], ["bench"]),
        (["train"], ["ocean-breakout"]), (["train", "ocean-sqared"], ["ocean-squared"]), (["train", "a", "b"], ["'b'"]),
        (["train", "ocean-squared", "--train.learning-rat", "1"], ["--train.learning-rate"]),
        (["train", "ocean-squared", "--train.learning-rate", "fast"], ["--train.learning-rate", "'fast'"]),
        (["train", "ocean-squared", "--train.seed", "-1"], ["seed", "-1"]),
        (["train", "ocean-squared", "train.seed=1"], ["--train.seed"]),
        (["train", "ocean-squared", "--config", "no.toml"], ["no.toml"]), (["train", "--resume", "nowhere"], ["nowhere"]),
        (["train", "gym-CartPol-v1"], ["CartPol"]), (["train", "gym-NoSuchThing-v0"], ["NoSuchThing"]),
        (["train", ""], ["ocean-breakout"]),
        (["train", "ocean-squared", "--logger", "wandbb"], ["wandbb"]),
        (["train", "ocean-squared", "--policy.name", "lsmt"], ["lstm"]),
        (["train", "ocean-squared", "--vec.num-envs", "5", "--vec.num-workers", "2"], ["num_envs", "num_workers"]),
        (["train", "ocean-squared", "--vec.num-envs", "0"], ["num_envs"]),
        (["train", "ocean-squared", "--vec.num-workers", "0"], ["0"]),
        (["train", "ocean-squared", "--vec.backend", "thread"], ["thread"]), (["train", "no_module:env"], ["no_module"]),
        (["list", "a", "b"], ["'b'"]), (["list", "--lnog"], ["--lnog"]), (["plugins", "x"], ["'x'"]),
        (["plugins", "--long"], ["--long"]),
        (["bench"], ["ocean-breakout"]), (["bench", "ocean-sqared"], ["ocean-squared"]),
        (["bench", "ocean-squared", "--num-envs", "0"], ["--num-envs"]),
        (["bench", "ocean-squared", "--second", "1"], ["--seconds"]),
        (["bench", "ocean-squared", "--env.radius", "99"], ["--env.radius", "99"]),
    ],
)  # fmt: skip
def test_a_wrong_request_exits_2_with_what_would_work(capsys, monkeypatch, tmp_path, argv, texts):
    monkeypatch.chdir(tmp_path)
    code, out, err = puffer(capsys, *argv)
    assert (code, out) == (2, "")
    assert err.startswith("puffer: ")
    assert all(text in err for text in texts), err
    assert len(err.splitlines()) <= 8
    assert not list(tmp_path.iterdir()), "nothing was left behind"


def test_list_has_bare_names_first_and_summaries(capsys):
    code, out, _ = puffer(capsys, "list")
    assert code == 0
    names = [line.split()[0] for line in out.splitlines()]
    assert {"ocean-squared", "ocean-breakout", "gym-*"} <= set(names)
    assert len(names) == len(set(names))


def test_list_takes_parts_of_names_patterns_and_families(capsys):
    _, out, _ = puffer(capsys, "list", "QUARE")
    assert [line.split()[0] for line in out.splitlines()] == ["ocean-squared"]
    _, out, _ = puffer(capsys, "list", "ocean-[bc]*")
    assert {line.split()[0][:7] for line in out.splitlines()} == {"ocean-b", "ocean-c"}
    _, out, _ = puffer(capsys, "list", "gym-CartPole")
    assert "gym-CartPole-v1" in out.split()
    code, out, _ = puffer(capsys, "list", "nothing-like-it")
    assert code == 1
    assert "nothing-like-it" in out


def test_list_long_names_the_plugin(capsys):
    _, out, _ = puffer(capsys, "list", "--long", "ocean-squared")
    assert "pufferlib-ocean" in out


def test_plugins_shows_versions_records_and_failures(capsys, monkeypatch):
    from pufferlib.plugins import Plugin

    broken = Plugin("broken", "broken_module", "pufferlib-broken", "0.3", "failed", "ImportError: no module named magic " * 9)
    monkeypatch.setattr(registry(), "_plugins", [*registry().plugins(), broken])
    code, out, _ = puffer(capsys, "plugins")
    assert code == 0
    failed = "broken  (pufferlib-broken 0.3)  FAILED"
    for text in ("ocean", "envs (", "ocean-squared", "policies (11): attention, entities, gru, ", failed, "magic"):
        assert text in out, text
    assert all(len(line) <= 110 for line in out.splitlines())


def test_a_plugins_command_is_found_listed_and_run(capsys, monkeypatch):
    seen = []
    spec = CommandSpec("greet", lambda argv: seen.append(argv) or 7, "say hello")
    monkeypatch.setattr(registry(), "commands", lambda: [spec])
    assert puffer(capsys, "greet", "--name", "x")[0] == 7
    assert seen == [["--name", "x"]]
    assert "say hello" in puffer(capsys)[1]
    assert "did you mean greet" in puffer(capsys, "gret")[2]


def test_a_missing_plugins_command_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setattr(registry(), "commands", list)
    monkeypatch.setattr(registry(), "plugins", list)
    code, _, err = puffer(capsys, "sweep", "ocean-pong")
    assert code == 2
    assert "sweep: no such command; install it with: pip install 'pufferlib[sweep]'" in err


def failing(error):
    def run(argv):
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (KeyboardInterrupt(), 130, "interrupted"), (NonFiniteError("rewards are NaN"), 1, "rewards are NaN"),
        (EnvError("broke"), 1, "broke"),
        (ModuleNotFoundError("No module named 'torch'", name="torch"), 1, "pip install torch"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "No space left"),
    ],
)  # fmt: skip
def test_exit_codes_of_failures(capsys, monkeypatch, error, code, text):
    monkeypatch.setattr(registry(), "commands", lambda: [CommandSpec("fail", failing(error))])
    found, _, err = puffer(capsys, "fail")
    assert found == code
    assert text in err


def test_a_bug_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(registry(), "commands", lambda: [CommandSpec("fail", failing(ZeroDivisionError()))])
    with pytest.raises(ZeroDivisionError):
        main(["fail"])


def test_a_reader_that_stops_reading_is_no_error():
    command = f"{sys.executable} -m pufferlib list | head -n 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


def test_bench_measures_the_bare_env_and_the_back_ends(capsys):
    code, out, _ = puffer(capsys, "bench", "ocean-squared", "--num-envs", "64", "--seconds", "0.05", "--env.radius", "3")
    assert code == 0
    for text in ("ocean-squared, 64 rows", "bare env", "VecEnv serial", "VecEnv threads", "100.0%", "ns to each agent-step"):
        assert text in out
