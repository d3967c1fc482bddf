"""Names: found without importing anything, newest version first, and helpful when something is missing."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import pufferlib
from pufferlib.errors import EnvError, EnvNotFoundError
from pufferlib.plugins import registry
from pufferlib_pettingzoo import names
from pufferlib_pettingzoo.names import Source, list_versions, make_env, make_family, newest


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of envs in which spring has three versions, one of them a folder, and tide needs what nobody has."""
    folder = tmp_path / "fake_zoo" / "coast"
    folder.mkdir(parents=True)
    for name in ("spring_v2", "spring_v9"):
        (folder / f"{name}.py").write_text(f"def parallel_env(**kwargs): return '{name}', kwargs\n")
    (folder / "spring_v10").mkdir()
    (folder / "spring_v10" / "__init__.py").write_text(
        "import warnings\nwarnings.warn('old', DeprecationWarning)\ndef env(**kwargs): return 'spring_v10', kwargs\n"
    )
    (folder / "low_tide_v1.py").write_text("import nobody_has_this\n")
    (folder / "all_modules.py").write_text("")
    (tmp_path / "fake_zoo" / "__init__.py").write_text("raise AssertionError('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(names, "SOURCES", (Source("fake_zoo.coast", (), "pip install fake-zoo"),))
    return Path(tmp_path, "fake_zoo")


def test_the_newest_version_is_found_without_an_import(package):
    assert newest() == {"low-tide": "fake_zoo.coast.low_tide_v1", "spring": "fake_zoo.coast.spring_v10"}
    assert list_versions() == ["low-tide-v1", "spring-v10", "spring-v2", "spring-v9"]


def test_a_version_may_be_named(package):
    (package / "__init__.py").write_text("")
    assert make_family("spring-v2")(size=3) == ("spring_v2", {"size": 3})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert make_family("spring")() == ("spring_v10", {})
    with pytest.raises(EnvNotFoundError, match="pettingzoo-spring-v2, pettingzoo-spring-v9, pettingzoo-spring-v10"):
        make_family("spring-v3")


def test_what_is_missing_is_said_with_the_line_that_installs_it(package):
    (package / "__init__.py").write_text("")
    with pytest.raises(EnvError, match=r"low_tide_v1 cannot be imported.*nobody_has_this.*pip install fake-zoo"):
        make_env("fake_zoo.coast.low_tide_v1")


def test_envs_of_an_incomplete_package_are_not_listed_but_explained(package, monkeypatch):
    monkeypatch.setattr(names, "SOURCES", (Source("fake_zoo.coast", ("nobody_has_this",), "pip install fake-zoo"),))
    assert newest() == {} and list_versions() == []
    with pytest.raises(EnvNotFoundError, match=r"'pettingzoo-sprin'.*\n.*pettingzoo-spring.*\n.*pip install fake-zoo"):
        make_family("sprin")
    monkeypatch.setattr(names, "SOURCES", (Source("no_such_zoo", (), "pip install no-such-zoo"),))
    with pytest.raises(EnvNotFoundError, match="pip install no-such-zoo"):
        make_family("spring")


def test_listing_imports_no_env_package():
    code = (
        "import sys, pufferlib; names = pufferlib.list_envs();"
        "assert 'pettingzoo-chess' in names and 'pettingzoo-pistonball' in names, names;"
        "heavy = {'pettingzoo', 'mpe2', 'pygame', 'torch', 'gymnasium', 'numpy'} & set(sys.modules); assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_promised_name_is_registered():
    found = {spec.name for spec in registry().envs()}
    assert {f"pettingzoo-{name}" for name in ("knights-archers-zombies", "pistonball", "cooperative-pong")} <= found
    assert {f"pettingzoo-{name}" for name in ("chess", "connect-four", "tictactoe", "go", "hanabi", "texas-holdem")} <= found
    assert {f"pettingzoo-{name}" for name in ("simple-spread", "simple-tag", "simple-reference")} <= found


def test_a_wrong_name_gets_near_ones():
    with pytest.raises(EnvNotFoundError, match="pettingzoo-pistonball"):
        pufferlib.make("pettingzoo-piston-bal")


def test_without_the_plugin_an_error_names_it():
    code = (
        "import pufferlib\n"
        "from pettingzoo.test.example_envs import generated_agents_parallel_v0 as module\n"
        "for make in (lambda: pufferlib.emulate(module.parallel_env), lambda: pufferlib.make('pettingzoo-chess')):\n"
        "    try:\n        make()\n"
        "    except pufferlib.errors.PufferError as error:\n        print(str(error).replace(chr(10), ' '))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", "import pufferlib.errors\n" + code],
        capture_output=True, text=True, env={"PUFFERLIB_DISABLE_PLUGINS": "pettingzoo", "PATH": ""},
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert len(lines) == 2 and all("pip install 'pufferlib[pettingzoo]'" in line for line in lines), done.stdout + done.stderr
