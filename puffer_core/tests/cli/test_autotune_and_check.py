"""`puffer autotune` and `pufferlib.autotune`; `puffer check`."""

import sys
import time

import numpy as np
import pytest

import pufferlib
from pufferlib import PufferEnv, tuning
from pufferlib.cli.main import main
from pufferlib.config.run_config import VecConfig
from pufferlib.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class Slow(PufferEnv):
    """Takes `delay` seconds for a step."""

    def __init__(self, delay=0.001, buf=None):
        super().__init__(buf)
        self.delay = delay
        self.observation_space, self.action_space = self.make_space((1,)), self.make_discrete(2)

    def reset(self):
        return np.zeros(1, np.float32)

    def step(self, action):
        time.sleep(self.delay)
        return np.zeros(1, np.float32), 0.0, False, {}


def test_every_candidate_can_be_made_and_the_best_is_first():
    seen = []
    tuned = pufferlib.autotune(
        Slow, num_envs=[2, 4], model_ms=0.5, seconds=0.02, rounds=2, delay=0.0, report=lambda *event: seen.append(event)
    )
    assert {trial.backend for trial in tuned.trials} == {"serial", "processes"}
    assert all(len(trial.rates) >= 1 and not trial.error for trial in tuned.trials)
    assert len(tuned.best.rates) == 2 and tuned.best.median == max(t.median for t in tuned.trials if len(t.rates) == 2)
    assert all(done <= total for done, total, _ in seen) and seen[-1][0] == seen[-1][1] == len(seen)
    for trial in tuned.trials:
        assert trial.num_envs % trial.num_workers == 0 == trial.batch_size % (trial.num_envs // trial.num_workers)
    settings = tomllib.loads(tuned.toml())["vec"]
    VecConfig(**settings)
    pufferlib.emulate(Slow, **settings).close()


def test_envs_that_wait_are_best_stepped_side_by_side():
    tuned = pufferlib.autotune(Slow, num_envs=4, model_ms=0, seconds=0.2, rounds=1, delay=0.03)
    assert tuned.best.backend == "processes" and tuned.best.num_workers > 1


def test_a_model_on_the_cpu_and_by_the_row_takes_its_time():
    start = time.perf_counter()
    tuning._model(0.002, 0.001, True, 4)
    assert time.perf_counter() - start >= 0.006


def test_what_cannot_be_tuned_is_refused():
    with pytest.raises(ConfigError, match="model_ms must be a number of at least 0, got -1"):
        pufferlib.autotune(Slow, model_ms=-1)
    with pytest.raises(ConfigError, match="model_on must be 'device' or 'cpu'"):
        pufferlib.autotune(Slow, model_on="gpu")
    with pytest.raises(ConfigError, match="'nothing' is not registered"):
        pufferlib.autotune(Slow, backends=["nothing"])
    with pytest.raises(ConfigError, match=r"no candidate runs; the first one, threads: .*native envs only"):
        pufferlib.autotune(Slow, num_envs=2, backends=["threads"], seconds=0.01)


def test_the_command_prints_a_table_and_a_snippet(capsys):
    arguments = ["--num-envs", "8,16", "--backends", "serial,threads", "--model-ms", "0.1", "--seconds", "0.01", "--rounds", "1"]
    assert main(["autotune", "ocean-squared", *arguments, "--env.max-steps", "20"]) == 0
    out = capsys.readouterr().out
    assert "agent-steps/s" in out and "0.1 ms per batch, on a device" in out
    assert tomllib.loads(out[out.index("[vec]") :])["vec"]["num_envs"] in (8, 16)
    assert main(["autotune", "ocean-squared", "--num-envs", "many"]) == 2
    assert "whole numbers with commas" in capsys.readouterr().err
    assert main(["autotune"]) == 2 and main(["autotune", "--help"]) == 0


# ---------------------------------------------------------------- check


@pytest.fixture
def module(tmp_path, monkeypatch):
    """`module(text)`: the name of an importable module that registers `mine-env`."""

    def make(name, text):
        head = "import numpy as np, pufferlib\nfrom pufferlib import PufferEnv\n"
        (tmp_path / f"{name}.py").write_text(f"{head}{text}\npufferlib.register('{name}-env', Env, summary='x')\n")
        monkeypatch.syspath_prepend(tmp_path)
        return f"{name}:{name}-env"

    yield make
    for name in [name for name in sys.modules if name.startswith("checked_")]:
        del sys.modules[name]


GOOD = """
class Env(PufferEnv):
    def __init__(self, length=5, buf=None):
        super().__init__(buf)
        self.length = length
        self.observation_space, self.action_space = self.make_space((2,), 0, 9), self.make_discrete(2)
    def reset(self, seed=None):
        self.t = 0
        return np.zeros(2, np.float32)
    def step(self, action):
        self.t += 1
        return np.full(2, self.t, np.float32), 1.0, self.t == self.length, {}
"""


def test_a_good_env_is_told_so(module, capsys):
    name = module("checked_good", GOOD)
    assert main(["check", name, "--steps", "30", "--env.length", "4"]) == 0
    out = capsys.readouterr().out
    assert out.count("  ok  ") == 3 and "on back end processes" in out and "keeps the contract" in out


def test_findings_are_readable_and_set_the_exit_code(module, capsys):
    name = module("checked_bad", GOOD.replace("np.full(2, self.t, np.float32)", "np.random.random(2).astype(np.float32)"))
    assert main(["check", name, "--steps", "30"]) == 1
    out = capsys.readouterr().out
    assert "FAILED  the env's own contract:\n          a second run" in out and "checks failed" in out
    name = module("checked_raises", GOOD.replace("self.t += 1", "self.t += 1; assert self.t < 3, 'too far'"))
    assert main(["check", name, "--steps", "30"]) == 1
    assert "too far" in capsys.readouterr().out


def test_native_envs_are_checked_on_threads(capsys):
    assert main(["check", "ocean-squared", "--steps", "20", "--num-envs", "2"]) == 0
    assert "on back end threads" in capsys.readouterr().out


def test_plugins_are_checked_by_their_name(capsys, monkeypatch):
    import pufferlib.testing

    monkeypatch.setattr(pufferlib.testing, "check_plugin", lambda name, steps=50: [name, str(steps)])
    assert main(["check", "core", "--steps", "7"]) == 0
    assert "2 records: core, 7" in capsys.readouterr().out
    assert main(["check", "core", "--env.x", "1"]) == 2
    assert main(["check", "ocean-squard"]) == 2 and "ocean-squared" in capsys.readouterr().err
