"""`puffer new`: what it makes installs, keeps the contract, passes its own tests and trains; what it cannot make is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pufferlib.cli.main import main
from pufferlib.cli.new import TEMPLATES

ROOT = Path(__file__).parent.parent
PUFFER = (sys.executable, "-m", "pufferlib")


def run(*command: object, cwd: Path, path: Path | None = None) -> str:
    """Run it, with `path` before what is installed; fail with what it said."""
    extra = {} if path is None else {"PYTHONPATH": str(path)}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **extra}
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def train(name: str, *flags: object, folder: Path, path: Path) -> None:
    short = ("--train.total-timesteps", 8_192, "--train.device", "cpu", "--run-dir", folder / "run")
    run(*PUFFER, "train", name, *short, *flags, cwd=folder, path=path)
    assert list((folder / "run").rglob("*.pt")), "a checkpoint"


@pytest.mark.parametrize(
    ("flags", "shown", "trains"),
    [
        (["--env", "c"], "acme-two-catch", ["acme-two-catch"]),
        (["--env", "python"], "acme-two-catch", ["acme-two-catch"]),
        ([], "acme-two", ["ocean-squared", "--policy.name", "acme-two"]),
    ],
    ids=["c", "python", "policy"],
)
def test_a_new_plugin_installs_is_listed_passes_its_tests_and_trains(
    tmp_path: Path, flags: list[str], shown: str, trains: list[str]
) -> None:
    run(*PUFFER, "new", "plugin", "acme-two", *flags, cwd=tmp_path)
    package, site = tmp_path / "pufferlib-acme-two", tmp_path / "site"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-compile")
    run(*pip, "--target", site, package, cwd=tmp_path)
    listed = run(*PUFFER, "list" if flags else "plugins", cwd=tmp_path, path=site)
    assert shown in listed
    run(*PUFFER, "check", shown, cwd=tmp_path, path=site)
    pytest_there = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    said = run(*pytest_there, package / "tests", *site.glob("pufferlib_acme_two/*/test_*.py"), cwd=site, path=site)
    assert "passed" in said and "skipped" not in said
    train(*trains, folder=tmp_path, path=site)


def test_a_new_game_of_ocean_builds_passes_every_common_test_and_trains(tmp_path: Path) -> None:
    """In a copy of the package, with one other game as a neighbour."""
    copy, package = tmp_path / "ocean", ROOT / "plugins" / "ocean"
    others = [path.name for path in (package / "pufferlib_ocean").iterdir() if path.is_dir()]
    keep = {"squared", "performance_py"}
    shutil.copytree(package, copy, ignore=lambda _, names: {"build", "__pycache__", *(set(names) & set(others) - keep)})
    said = run(*PUFFER, "new", "game", "star_fall", cwd=copy, path=copy)
    assert "pytest . -k star_fall" in said
    run(sys.executable, "setup.py", "-q", "build_ext", "--inplace", cwd=copy, path=copy)
    tests = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", ".", "-k", "star_fall", cwd=copy, path=copy)
    assert int(tests.split(" passed")[0].rsplit(maxsplit=1)[-1]) > 12
    assert "ocean-star_fall " in run(*PUFFER, "list", cwd=tmp_path, path=copy)
    train("ocean-star_fall", folder=tmp_path, path=copy)


def test_a_plugin_takes_further_games(tmp_path: Path) -> None:
    run(*PUFFER, "new", "plugin", "acme", "--env", "c", cwd=tmp_path)
    package = tmp_path / "pufferlib-acme" / "pufferlib_acme"
    run(*PUFFER, "new", "game", "rocket", cwd=package)
    assert not list(tmp_path.rglob("checks.toml")), "which only Ocean's tests read"
    assert {path.name for path in package.iterdir() if path.is_dir()} == {"catch", "rocket"}
    code = "import pufferlib_acme.plugin as p; print([(spec.name, spec.target, spec.preset) for spec in p.pufferlib_envs()])"
    assert "('acme-rocket', 'pufferlib_acme.rocket:Rocket', 'rocket/preset.toml')" in run(
        sys.executable, "-c", code, cwd=tmp_path, path=package.parent
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["game", "Lander"], "Lander: a game's name is small letters"),
        (["game", "2048"], "begins with a letter"),
        (["game", "moon-lander"], "small letters, digits and _"),
        (["game", "class"], "class_game"),
        (["game", "draw"], "take another name"),
        (["game", "a_2"], "call it a2"),
        (["game", "../up"], "small letters"),
        (["game", "squared"], "exists already"),
        (["game", "tripletriad"], "ocean-tripletriad already"),
        (["game", "moon", "--env", "c"], "--env is not a flag of `puffer new game`"),
        (["game", "moon", "--into", "nowhere"], "no Python package"),
        (["plugin", "Acme"], "a plugin's name is small letters"),
        (["plugin", "gym"], "there is a plugin of this name"),
        (["plugin", "ocean"], "there is a plugin of this name"),
        (["plugin", "there"], "exists already"),
        (["plugin", "acme", "--env", "rust"], "c, python"),
        (["plugin", "acme", "--into", "x"], "--into is not a flag of `puffer new plugin`"),
        (["plugin"], "puffer new plugin NAME"),
        (["novel", "acme"], "puffer new game NAME"),
    ],
)
def test_what_cannot_be_made_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    games = tmp_path / "plugins" / "ocean" / "pufferlib_ocean"
    for folder in (games / "squared", tmp_path / "pufferlib-there"):
        folder.mkdir(parents=True)
    (games / "__init__.py").touch()
    (games.parent / "setup.py").write_text('setup(ext_modules=game_extensions("pufferlib_ocean"))')
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    assert main(["new", *words]) == 2
    assert said in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_where_no_package_of_games_is_the_error_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "game", "moon"]) == 2
    assert "puffer new plugin NAME --env c" in capsys.readouterr().err


def test_every_template_fits_the_line_length(tmp_path: Path) -> None:
    """With the longest name that one may expect."""
    for template in TEMPLATES.rglob("*.py.in"):
        assert max(map(len, template.read_text(encoding="utf-8").splitlines()), default=0) <= 130, template
