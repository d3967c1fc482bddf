"""Trials that crash, hang, are killed or say nothing: each fails with its reason, and the sweep goes on."""

import itertools
import json
import math
import os
import signal
import sys
import time

import optuna
import pytest

from pufferlib import Protein
from pufferlib_sweep.process import LocalRun, members
from pufferlib_sweep.study import counts

SPACE = {
    "train.learning_rate": {"distribution": "log_normal", "min": 1e-5, "max": 1e-1},
    "train.gamma": {"distribution": "logit_normal", "min": 0.8, "max": 0.9999},
}
REASONS = {1: "CUDA out of memory", 2: "not finite", 3: "not finite"}


def check_flaky(trials, no_score):
    """What must be true of the 25 trials of the shared case, whoever ran them."""
    assert [trial.number for trial in trials] == list(range(25))
    failed = [trial for trial in trials if trial.state == optuna.trial.TrialState.FAIL]
    assert len(failed) == 16
    for trial in failed:
        assert (no_score if trial.number == 9 else REASONS[trial.number % 5]) in trial.user_attrs["failure"]
        assert "\n" not in trial.user_attrs["failure"]
    for trial in trials:
        assert 1e-5 <= trial.params["train.learning_rate"] <= 1e-1 and 0.8 <= trial.params["train.gamma"] <= 0.9999
    points = [tuple(trial.params.values()) for trial in trials]
    assert all(points.count(tuple(trial.params.values())) == 1 for trial in failed)
    best = max((trial for trial in trials if trial.value is not None), key=lambda trial: trial.value)
    assert 1e-4 <= best.params["train.learning_rate"] <= 1e-2


@pytest.mark.parametrize("method", ["protein", "random", "tpe", "cmaes"])
def test_a_function_that_fails_in_every_way(method, stub):
    calls = itertools.count()

    def function(params):
        return stub.flaky(next(calls), params["train.learning_rate"], params["train.gamma"])

    result = Protein(function, SPACE, num_trials=25, method=method, seed=3).optimize()
    check_flaky(result.study.trials, "returned no score")
    assert result.reason == "finished" and result.best == result.best_trial.settings
    assert abs(math.log10(result.best["train.learning_rate"]) + 3) <= 1


def test_trials_that_fail_in_every_way(sweep, load, tmp_path, capsys):
    (tmp_path / "space.toml").write_text(
        "[sweep]\ndefaults = false\n[sweep.train.learning_rate]\ndistribution='log_normal'\nmin=1e-5\nmax=1e-1\n"
        "[sweep.train.gamma]\ndistribution='logit_normal'\nmin=0.8\nmax=0.9999\n"
    )
    flags = ["--config", "space.toml", "--sweep.trials", "25", "--train.total-timesteps", "1000"]
    assert sweep("flaky", *flags, "--sweep.method", "protein") == 0
    check_flaky(load().trials, "no episode ended within 1,000 steps")
    assert "16 failed" in capsys.readouterr().out
    for trial in load().trials:
        json.dumps(trial.user_attrs, allow_nan=False)
        if trial.value is not None:
            assert trial.user_attrs["cost"] == 1.0 and len(trial.user_attrs["curve"]) == 9
            assert trial.value == trial.user_attrs["score"] == trial.user_attrs["curve"][-1][1]
            assert trial.intermediate_values == dict(
                zip(trial.user_attrs["curve_steps"], [score for _, score in trial.user_attrs["curve"]], strict=True)
            )
    assert sweep("flaky", *flags, "--sweep.method", "protein") == 0, "nothing is left to do, and the report is written again"
    assert len(load().trials) == 25


def test_a_function_in_a_process_of_its_own_may_die():
    def dying(params):
        if params["train.learning_rate"] < 1e-3:
            os.kill(os.getpid(), signal.SIGKILL)
        return -params["train.gamma"]

    result = Protein(dying, SPACE, num_trials=6, method="random", isolate=True, seed=1, goal="minimize").optimize()
    for trial in result.trials:
        died = trial.settings["train.learning_rate"] < 1e-3
        assert trial.state == ("failed" if died else "complete")
        assert not died or "exit code -9" in trial.failure
    assert result.best_score == min(trial.score for trial in result.trials if trial.score is not None)


def test_five_trials_that_fail_alike_end_the_sweep_with_their_error(sweep, load, capsys):
    assert sweep("crash", "--sweep.trials", "25") == 1
    assert len(load().trials) == 5
    said = capsys.readouterr().err
    assert "the first 5 trials failed alike" in said and "RuntimeError: no device number" in said and "0000.log" in said


def test_five_functions_that_fail_alike_raise():
    def broken(params):
        raise ValueError("wrong shape")

    with pytest.raises(RuntimeError, match="first 5 trials failed alike: ValueError: wrong shape"):
        Protein(broken, SPACE, num_trials=25, method="random").optimize()


def test_a_hanging_trial_fails_and_is_gone(sweep, load):
    assert sweep("hang", "--sweep.trials", "1", "--sweep.hang-timeout-s", "0.5") == 1
    (trial,) = load().trials
    assert "hangs: no row of metrics for 0.5 s" in trial.user_attrs["failure"]
    assert members(trial.user_attrs["owner"]["group"]) == []


def test_what_a_crashed_trial_leaves_behind_is_gone_before_the_next(sweep, load, tmp_path):
    assert sweep("tree", "--sweep.trials", "2") == 1
    assert [trial.user_attrs["failure"] for trial in load().trials] == ["ended with exit code 3"] * 2
    for number in (0, 1):
        child = int((tmp_path / "sweep" / f"left-{number}").read_text())
        assert not alive(child)


def test_a_killed_process_is_told_from_one_that_gave_up(tmp_path):
    def ended(code):
        run = LocalRun([sys.executable, "-c", code], tmp_path, tmp_path / "log")
        while run.ended() is None:
            time.sleep(0.01)
        run.close()
        return run.ended()

    assert ended("import os; os.kill(os.getpid(), 9)") == "killed by SIGKILL, perhaps for want of memory"
    assert ended("print('puffer: no such env\\ntraceback'); raise SystemExit(2)") == "no such env"
    assert ended("pass") == ""


def test_ctrl_c_breaks_a_function(monkeypatch):
    def interrupted(params):
        signal.raise_signal(signal.SIGINT)
        return 1.0

    protein = Protein(interrupted, SPACE, num_trials=2, method="random")
    with pytest.raises(KeyboardInterrupt):
        protein.optimize()
    assert [trial.user_attrs.get("failure") for trial in protein.study.trials] == ["interrupted", None]  # the second waits


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(happens, process, seconds=120):
    end = time.monotonic() + seconds
    while not happens():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.05)


def running(tmp_path, load):
    """The trial that is at work and has written rows, or None."""
    if not (tmp_path / "sweep" / "sweep.toml").exists():
        return None
    found = [trial for trial in load().trials if trial.state.name == "RUNNING" and trial.user_attrs.get("run_dir")]
    found = [trial for trial in found if (tmp_path / "sweep" / trial.user_attrs["run_dir"] / "metrics.jsonl").exists()]
    return found[0] if found else None


def test_killed_in_the_middle_it_goes_on_with_what_has_finished(start_sweep, sweep, load, tmp_path):
    flags = ["--sweep.trials", "4", "--train.total-timesteps", "1000"]
    assert sweep("good", "--sweep.trials", "2", "--train.total-timesteps", "1000") == 0
    before = load().trials
    process = start_sweep("slow", *flags)
    wait_for(lambda: running(tmp_path, load), process)
    lost = running(tmp_path, load)
    process.kill()
    process.wait()
    assert sweep("good", *flags) == 0
    after = load().trials
    assert after[:2] == before
    assert members(lost.user_attrs["owner"]["group"]) == []
    assert after[lost.number].state.name == "FAIL" and "lost" in after[lost.number].user_attrs["failure"]
    assert [trial.state.name for trial in after if counts(trial)] == ["COMPLETE"] * 4
    assert after[lost.number + 1].params == lost.params, "what was lost is tried again"


def test_what_is_lost_three_times_has_failed(sweep, load, tmp_path):
    from pufferlib_sweep.study import Owner

    assert sweep("good", "--sweep.trials", "1", "--train.total-timesteps", "1000") == 0
    study = load()
    study.enqueue_trial(study.trials[0].params, user_attrs={"tries": 3})
    dead = {**Owner().attribute(), "pid": 2**22 + 1}  # above the largest that Linux gives
    study.ask().set_user_attr("owner", dead)
    assert sweep("good", "--sweep.trials", "2", "--train.total-timesteps", "1000") == 0
    assert [trial.state.name for trial in load().trials] == ["COMPLETE", "FAIL"]
    assert counts(load().trials[1]) and "lost" in load().trials[1].user_attrs["failure"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_keeps_what_has_finished_and_says_how_to_go_on(start_sweep, sweep, load, tmp_path, number, code):
    process = start_sweep("slow", "--sweep.trials", "2", "--train.total-timesteps", "1000")
    wait_for(lambda: running(tmp_path, load), process)
    group = running(tmp_path, load).user_attrs["owner"]["group"]
    process.send_signal(number)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == code
    assert "go on with: puffer sweep --sweep.resume sweep" in said
    assert members(group) == []
    assert [trial.user_attrs["failure"] for trial in load().trials if trial.state.name == "FAIL"] == ["interrupted"]
    assert sweep("good", "--sweep.trials", "2", "--train.total-timesteps", "1000") == 0
    assert sum(counts(trial) and trial.state.name == "COMPLETE" for trial in load().trials) == 2


def test_processes_on_one_study_share_its_trials(start_sweep, load, tmp_path):
    flags = ["--sweep.trials", "8", "--train.total-timesteps", "1000"]
    both = [start_sweep("good", *flags) for _ in range(2)]
    for process in both:
        said, _ = process.communicate(timeout=200)
        assert process.returncode == 0, said
    trials = [trial for trial in load().trials if counts(trial)]
    assert [trial.state.name for trial in trials] == ["COMPLETE"] * 8
    assert len({trial.user_attrs["run_dir"] for trial in trials}) == 8 == len(list((tmp_path / "sweep" / "trials").iterdir()))
    assert len({tuple(trial.params.values()) for trial in trials}) == 8
