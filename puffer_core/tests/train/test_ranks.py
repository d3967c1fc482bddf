"""Several ranks learn what one process with all their envs would, and end together when one fails (ranks.py runs them)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

SCRIPT = Path(__file__).with_name("ranks.py")
SAME = ("mlp", "torch", "muon", "lstm", "box")
OTHERS = (
    "bfloat16", "uneven", "nan_reward", "nan_skipped", "infinite_gradient", "resume", "other_settings", "statistics", "stop",
    "raises", "raises_outside", "hangs", "killed",
)  # fmt: skip


def launch(size: int, folder: Path, *names: str) -> dict[int, dict[str, Any]]:
    """{rank: {scenario: result}}; rank -1 trained alone."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(size), str(folder), *names], env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    found = {rank: torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(-1, size)}
    missing = [name for name in names if name != "killed" and name not in found[0]]
    assert not missing, f"{missing}\n{done.stderr[-3000:]}"
    return found


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    return launch(2, tmp_path_factory.mktemp("two"), *SAME, *OTHERS)


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    return launch(4, tmp_path_factory.mktemp("four"), "mlp", "uneven", "killed")


@pytest.fixture(params=["two", "four"])
def both(request: pytest.FixtureRequest) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = request.getfixturevalue(request.param)
    return found


def ranks_of(found: dict[int, dict[str, Any]], name: str) -> list[Any]:
    return [found[rank][name] for rank in range(len(found) - 1)]


def same_weights(results: list[Any]) -> bool:
    first = results[0]["weights"]
    return all(torch.equal(result["weights"][name], value) for result in results for name, value in first.items())


def check_equal_to_one_process(found: dict[int, dict[str, Any]], name: str) -> None:
    alone, ranks = found[-1][name], ranks_of(found, name)
    assert [seed for result in ranks for seed in result["seeds"]] == alone["seeds"]
    assert len(set(alone["seeds"])) == len(alone["seeds"])
    np.testing.assert_allclose(np.concatenate([result["actions"] for result in ranks], 1), alone["actions"], atol=1e-5)
    assert same_weights(ranks)
    for part, value in alone["weights"].items():
        torch.testing.assert_close(ranks[0]["weights"][part], value, atol=1e-6, rtol=1e-5, msg=part)
    for result in ranks:
        assert result["log"] == pytest.approx(alone["log"], rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("name", SAME)
def test_two_ranks_equal_one_process_with_their_envs(two: Any, name: str) -> None:
    check_equal_to_one_process(two, name)


def test_four_ranks_equal_one_process_with_their_envs(four: Any) -> None:
    check_equal_to_one_process(four, "mlp")


def test_target_kl_ends_the_epochs_of_all_ranks_after_the_same_update(two: Any) -> None:
    updates = {found["torch"]["updates"] for found in two.values()}
    assert len(updates) == 1 and updates.pop() < 3 * 6, "six epochs in each of three rollouts"


def test_ranks_of_bfloat16_hold_the_same_float32_weights(two: Any) -> None:
    results = ranks_of(two, "bfloat16")
    assert same_weights(results)
    assert {value.dtype for value in results[0]["weights"].values()} == {torch.float32}


def test_ranks_with_other_numbers_of_envs_and_minibatches_stay_in_step(both: Any) -> None:
    results = ranks_of(both, "uneven")
    assert same_weights(results)
    rows = [result["actions"].shape[1] for result in results]
    assert len(set(rows)) == len(rows)
    assert {result["log"]["global_step"] for result in results} == {3 * 6 * sum(rows)}
    assert 0 < results[0]["log"]["agent_steps"] < 3 * 6 * sum(rows[1:]), "all worlds of rank 0 sleep"
    assert {result["log"]["environment/n"] for result in results} == {sum(result["episodes"] for result in results)}


def test_nan_on_one_rank_is_raised_by_all_and_changes_no_weight(two: Any) -> None:
    for result in ranks_of(two, "nan_reward"):
        assert "NonFiniteError: on rank 1: NaN or infinity from the environment in rewards (row 0)" in result["error"]
        assert all(torch.equal(result["weights"][name], value) for name, value in result["before"].items())


def test_a_skipped_row_is_skipped_and_counted_by_all(two: Any) -> None:
    results = ranks_of(two, "nan_skipped")
    assert same_weights(results)
    assert all(torch.isfinite(value).all() for value in results[0]["weights"].values())
    assert [result["log"]["losses/skipped_rows"] for result in results] == [1, 1]


def test_an_infinite_gradient_on_one_rank_is_raised_by_all(two: Any) -> None:
    for result in ranks_of(two, "infinite_gradient"):
        assert "heads.linear.weight" in result["error"]
        assert all(torch.equal(result["weights"][name], value) for name, value in result["before"].items())


def test_all_ranks_go_on_from_the_checkpoint_that_rank_0_reads(two: Any) -> None:
    results = ranks_of(two, "resume")
    assert same_weights(results)
    for result in results:
        assert all(torch.equal(result["loaded"][name], value) for name, value in result["before"].items())
        assert result["step"] == 2 * 2 * 3 * 6
        assert "CheckpointError: no checkpoint at" in result["error"]
    assert results[0]["draws"] != results[1]["draws"]


def test_ranks_started_with_other_settings_are_refused(two: Any) -> None:
    for result in ranks_of(two, "other_settings"):
        assert "gamma is 0.99 on rank 0 and 0.9 on rank 1" in result["error"]


def test_running_statistics_of_wrappers_are_of_what_all_ranks_saw(two: Any) -> None:
    results = ranks_of(two, "statistics")
    seen = np.concatenate([np.array(result["observed"], np.float64) for result in results])
    for result in results:
        (state,) = result["state"].values()
        assert state["count"] == pytest.approx(len(seen), abs=0.01)
        np.testing.assert_allclose(state["mean"], seen.mean(0), atol=1e-5)
        np.testing.assert_allclose(state["var"], seen.var(0), atol=1e-4)


def test_a_stop_on_one_rank_stops_all(two: Any) -> None:
    assert [result["epoch"] for result in ranks_of(two, "stop")] == [2, 2]


def test_an_env_that_raises_ends_all_ranks_with_the_cause(two: Any) -> None:
    other, guilty = ranks_of(two, "raises")
    assert guilty["error"] == "KeyError: 'speed'"
    assert other["error"] == "RankError: rank 1 failed: KeyError: 'speed'"


def test_a_script_that_raises_on_one_rank_ends_all_with_the_cause(two: Any) -> None:
    other, guilty = ranks_of(two, "raises_outside")
    assert guilty["error"] == "ZeroDivisionError: in the user's loop"
    assert other["error"] == "RankError: rank 1 failed: ZeroDivisionError: in the user's loop"


def test_a_rank_that_hangs_is_named_after_the_timeout(two: Any) -> None:
    assert "RankError: rank 1 does not answer" in two[0]["hangs"]["error"]
    assert "rank_timeout_s (--train.rank-timeout-s) is 4" in two[0]["hangs"]["error"]


def test_a_killed_rank_is_named_by_all_others(both: Any) -> None:
    assert "killed" not in both[1]
    for rank in set(both) - {-1, 1}:
        assert "RankError: rank 1 does not answer: it was killed, or hangs" in both[rank]["killed"]["error"]
