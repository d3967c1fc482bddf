"""Trials of a sweep as tasks of the cluster."""

import pytest

import pufferlib
from pufferlib.errors import ConfigError

pytest.importorskip("pufferlib_sweep", reason="the plugin is not installed: pip install -e plugins/sweep")
SPACE = {"train.learning_rate": {"distribution": "log_normal", "min": 1e-3, "max": 3e-2}}


def protein(tmp_path, trials, **options):
    settings = {"train.total_timesteps": 1500, **options.pop("settings", {})}
    options = {"method": "random", "backend": "ray", **options}
    return pufferlib.Protein("ocean-bandit", SPACE, trials, settings=settings, run_dir=tmp_path / "sweep", **options)


def test_trials_run_on_the_cluster_and_come_home(cluster, tmp_path):
    result = protein(tmp_path, 2, parallel=2).optimize()
    assert [trial.state for trial in result.trials] == ["complete"] * 2, result.trials
    for trial in result.trials:
        run = tmp_path / "sweep" / trial.run_dir
        assert (run / "metrics.jsonl").is_file() and list((run / "checkpoints").iterdir())
        assert "steps     1,536" in (tmp_path / f"sweep/logs/{trial.number:04d}.log").read_text()


def test_a_trial_that_fails_on_the_cluster_says_why(cluster, tmp_path):
    result = protein(tmp_path, 1, settings={"train.device": "cuda:99"}).optimize()
    (trial,) = result.trials
    assert trial.state == "failed" and "cuda" in trial.failure.lower()


def test_a_cluster_without_room_is_refused(cluster, tmp_path):
    with pytest.raises(ConfigError, match=r"trial-cpus 64.*no machine of the Ray cluster has so much \(they have 1 CPU"):
        protein(tmp_path, 1, trial_cpus=64.0)
