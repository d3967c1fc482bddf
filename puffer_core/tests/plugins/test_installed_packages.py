"""Real packages, built and installed by pip into an empty folder, used by a fresh interpreter with every warning an error."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2]
HEADER = "from pufferlib.plugins import *\nPUFFERLIB_API = 1\n"
ENVS = """
@hookimpl
def pufferlib_envs():
    return [{records}]
"""


def envs(*records):
    return HEADER + ENVS.format(records=", ".join(records))


PACKAGES = {
    "alpha": envs(
        "EnvSpec('alpha-maze', target='alpha.heavy:Maze', summary='A maze', preset='maze.toml', aliases=('maze',))",
        "EnvSpec('alpha-lost', target='alpha.nowhere:Env')",
    ),
    "beta": envs("EnvSpec('alpha-maze', target='beta:Other')", "EnvSpec('beta-only', target='beta:Other')"),
    "exits": HEADER + "raise SystemExit(3)\n",
    "raises": HEADER + "import no_such_dependency\n",
    "warns": HEADER + "import warnings\nwarnings.warn('old', DeprecationWarning)\n",
    "ancient": "PUFFERLIB_API = 0\n",
    "silent": "",
    "half": envs("EnvSpec('half-a', target='half:A')")
    + "@hookimpl\ndef pufferlib_policies():\n    raise RuntimeError('no policies')\n",
    "wrong": HEADER + "@hookimpl\ndef pufferlib_envs():\n    return ['text']\n",
    "unheard": HEADER + "@hookimpl\ndef pufferlib_envz():\n    return []\n",
}
DISTRIBUTIONS = {
    "dist-alpha": ["alpha"],
    "dist-beta": ["beta"],
    "dist-broken": [name for name in PACKAGES if name not in ("alpha", "beta")],
}
HEAVY = """
print('HEAVY')
import gymnasium, numpy
class Maze(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 1, (2,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        return numpy.zeros(2, numpy.float32), {}
    def step(self, action):
        return numpy.ones(2, numpy.float32), 1.0, True, False, {}
"""


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """A folder into which every package of PACKAGES is installed."""
    root = tmp_path_factory.mktemp("packages")
    for distribution, modules in DISTRIBUTIONS.items():
        for name in modules:
            folder = root / distribution / name
            folder.mkdir(parents=True)
            (folder / "__init__.py").write_text(PACKAGES[name])
            (folder / "maze.toml").write_text("[train]\nlearning_rate = 0.1\n")
            (folder / "heavy.py").write_text(HEAVY)
        points = "".join(f'{name} = "{name}"\n' for name in modules)
        (root / distribution / "pyproject.toml").write_text(
            f'[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
            f'[project]\nname = "{distribution}"\nversion = "1.5"\n'
            f'[project.entry-points."pufferlib.plugins"]\n{points}'
            f'[tool.setuptools]\npackages = {modules}\n[tool.setuptools.package-data]\n"*" = ["*.toml"]\n'
        )
    target = root / "site"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-build-isolation",
        "--no-deps",
        "--no-index",
        "--target",
        str(target),
    ]
    done = subprocess.run([*pip, *(str(root / name) for name in DISTRIBUTIONS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def python(site):
    """`python(code)`: what a fresh interpreter printed as its last line, parsed as JSON."""

    def run(code, **variables):
        environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{CORE}", **variables}
        command = [sys.executable, "-W", "error", "-c", "import json, pufferlib\nfrom pufferlib.plugins import registry\n" + code]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1]), done

    return run


LIST = "print(json.dumps({p.name: [p.status, p.reason, p.distribution, p.version] for p in registry().plugins()}))"


def test_broken_plugins_are_listed_with_their_reasons_and_harm_nobody(python):
    plugins, done = python(LIST)
    assert plugins["core"][0] == "ok" and plugins["alpha"] == ["ok", "", "dist-alpha", "1.5"]
    words = {
        "beta": ["env 'alpha-maze'", "'alpha' (dist-alpha 1.5)", "'beta' (dist-beta 1.5)"],
        "exits": ["SystemExit: 3"],
        "raises": ["ModuleNotFoundError", "no_such_dependency"],
        "warns": ["DeprecationWarning: old"],
        "ancient": ["PUFFERLIB_API 0", "speaks 1"],
        "silent": ["declares no PUFFERLIB_API"],
        "half": ["RuntimeError: no policies"],
        "wrong": ["pufferlib_envs", "EnvSpec or EnvFamily", "'text'"],
        "unheard": ["pufferlib_envz"],
    }
    for name, expected in words.items():
        assert plugins[name][0] == "failed" and all(word in plugins[name][1] for word in expected), plugins[name]
        assert name in done.stderr, "also said on stderr, by logging"


def test_listing_imports_no_target(python):
    names, done = python("print(json.dumps(pufferlib.list_envs()))")
    assert {"alpha-maze", "alpha-lost"} <= set(names) and not {"beta-only", "half-a"} & set(names)
    assert "HEAVY" not in done.stdout


def test_names_of_plugins_that_work_are_made_by_name_and_by_alias(python):
    code = "env = pufferlib.make('{}', num_envs=2)\nprint(json.dumps(env.reset(seed=0)[0].tolist()))"
    for name in ("alpha-maze", "maze"):
        observations, done = python(code.format(name))
        assert observations == [[0, 0], [0, 0]] and "HEAVY" in done.stdout


ERROR = """
try:
    pufferlib.make({!r})
except Exception as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""


def test_only_using_a_broken_name_raises(python):
    (kind, text), _ = python(ERROR.format("beta-only"))
    assert kind == "PluginError" and "'beta' (dist-beta 1.5)" in text and "'alpha' (dist-alpha 1.5)" in text
    (kind, text), _ = python(ERROR.format("alpha-lost"))
    assert kind == "PluginError" and "env 'alpha-lost' of plugin 'alpha'" in text and "alpha.nowhere" in text
    (kind, text), _ = python(ERROR.format("raises-env"))
    assert kind == "EnvNotFoundError" and "'raises' (dist-broken 1.5) is failed: ModuleNotFoundError" in text


def test_plugins_are_allowed_and_denied_by_name(python):
    plugins, _ = python(LIST, PUFFERLIB_PLUGINS="alpha, half")
    assert plugins["alpha"][0] == "ok" and plugins["half"][0] == "failed"
    assert plugins["exits"][:2] == ["disabled", "not named in PUFFERLIB_PLUGINS"] and plugins["core"][0] == "ok"
    plugins, _ = python(LIST, PUFFERLIB_DISABLE_PLUGINS="alpha")
    assert plugins["alpha"][:2] == ["disabled", "named in PUFFERLIB_DISABLE_PLUGINS"]
    assert plugins["beta"][0] == "ok", "nobody else has the name now"


def test_the_preset_is_found_in_the_installed_package(python, site):
    path, _ = python("print(json.dumps(str(registry().preset_path(registry().find_env('maze')))))")
    assert Path(path) == site / "alpha" / "maze.toml"


def test_a_module_that_is_no_plugin_registers_by_being_named(python, tmp_path):
    (tmp_path / "my_module.py").write_text(
        "import pufferlib\nfrom alpha.heavy import Maze\npufferlib.register('my-env', Maze)\n"
        "pufferlib.register('his-env', 'alpha.heavy:Maze')\n"
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    observations, _ = python(code + "print(json.dumps(pufferlib.make('my_module:my-env').reset(seed=0)[0].tolist()))")
    assert observations == [[0, 0]]
    assert "his-env" in python(code + "import my_module\nprint(json.dumps(pufferlib.list_envs()))")[0]
    (kind, text), _ = python(code + ERROR.format("my_module:my-emv"))
    assert kind == "EnvNotFoundError" and "my-env" in text
    (kind, text), _ = python(code + ERROR.format("no_module:my-env"))
    assert kind == "EnvNotFoundError" and "no_module" in text
