"""What Ocean registers, and that registering imports no game."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pufferlib_ocean
from pufferlib.cli.main import main
from pufferlib.config.files import read_toml
from pufferlib.plugins.games import class_name as class_of
from pufferlib_ocean.plugin import pufferlib_envs

PACKAGE = Path(pufferlib_ocean.__file__).parent
FOLDERS = sorted(stub.stem for stub in PACKAGE.glob("*/*.py") if stub.stem == stub.parent.name)


def test_every_folder_with_a_stub_is_an_env():
    specs = {spec.name: spec for spec in pufferlib_envs()}
    assert sorted(specs) == [f"ocean-{folder}" for folder in FOLDERS] and "squared" in FOLDERS
    for folder in FOLDERS:
        spec = specs[f"ocean-{folder}"]
        docstring = ast.get_docstring(ast.parse((PACKAGE / folder / f"{folder}.py").read_text()))
        assert spec.summary == docstring.splitlines()[0] and len(spec.summary) < 120
        assert spec.target == f"pufferlib_ocean.{folder}:{''.join(word.capitalize() for word in folder.split('_'))}"


def test_every_game_has_a_preset_and_a_short_stub():
    for folder in FOLDERS:
        preset = read_toml(PACKAGE / folder / "preset.toml")
        assert set(preset) <= {"vec", "train", "policy", "env", "schedule"}, folder
        assert len((PACKAGE / folder / f"{folder}.py").read_text().splitlines()) < 100, folder
        assert (PACKAGE / folder / f"test_{folder}.py").is_file(), folder


@pytest.mark.parametrize("folder", [name for name in FOLDERS if (PACKAGE / name / f"{name}.h").is_file()])
def test_every_game_gives_a_video(folder, tmp_path, capsys):
    """`puffer eval --video`: a frame a step."""
    imageio = pytest.importorskip("imageio.v2")
    path, name = tmp_path / "out.gif", f"ocean-{folder}"
    game = getattr(importlib.import_module(f"pufferlib_ocean.{folder}"), class_of(folder))
    names = [argument.name for argument in game.arguments]
    short = ["--env.max-steps", "3"] if "max_steps" in names else []
    assert main(["eval", name, "--episodes", "1", "--seed", "0", "--video", str(path), *short]) == 0
    assert re.search(r"out.gif: [1-9]\d* frames", capsys.readouterr().out)
    first = next(iter(imageio.get_reader(path)))
    assert first.ndim == 3 and min(first.shape[:2]) >= 64 and len(np.unique(first.reshape(-1, first.shape[2]), axis=0)) >= 2


def test_listing_imports_no_game():
    code = "import sys, pufferlib_ocean.plugin as plugin; plugin.pufferlib_envs(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in loaded if name.startswith("pufferlib_ocean.")] == ["pufferlib_ocean.plugin"]
    assert not {"numpy", "gymnasium", "torch"} & set(loaded)
