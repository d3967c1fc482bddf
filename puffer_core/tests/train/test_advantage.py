"""Advantages against the worked numbers of the issue and a float64 reference written from the papers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib.errors import ShapeError
from pufferlib.train import advantage as module
from pufferlib.train.advantage import advantages

NOTHING = np.zeros((4, 1), bool)
END = np.array([[0], [1], [0], [0]], bool)
REWARDS = np.ones((4, 1), np.float32)
VALUES = np.array([[0.5], [0.6], [0.7], [0.8], [0.5]], np.float32)
BOOTSTRAP = np.array([[7.0], [2.0], [7.0], [7.0]], np.float32)  # 7: must not be read


def run(*arrays: Any, **settings: Any) -> Any:
    given = [torch.from_numpy(np.ascontiguousarray(x)) for x in arrays[:6]]
    ratio = torch.from_numpy(arrays[6]) if len(arrays) > 6 else None
    return [x.numpy() for x in advantages(*given, ratio, **settings)]


def run_on_device(*arrays: Any, **settings: Any) -> Any:
    """The version for GPUs, whose arithmetic is torch's and so can be checked on a CPU as well."""
    given = [torch.from_numpy(np.ascontiguousarray(x)) for x in arrays[:6]]
    ratio = torch.from_numpy(arrays[6]) if len(arrays) > 6 else None
    out = module._on_device(
        *given, ratio, settings["gamma"], settings["lam"], settings.get("rho_clip", 1.0), settings.get("c_clip", 1.0)
    )
    return [x.numpy() for x in out]


BOTH = pytest.mark.parametrize("compute", [run, run_on_device])


@BOTH
def test_terminal_cuts_value_and_trace(compute: Any) -> None:
    advantage, _ = compute(REWARDS, VALUES, BOOTSTRAP, END, NOTHING, ~NOTHING, gamma=0.9, lam=0.8)
    np.testing.assert_allclose(advantage[:, 0], [1.328, 0.4, 1.488, 0.65], atol=1e-5)


@BOTH
def test_truncation_bootstraps_from_the_last_observation_and_cuts_the_trace(compute: Any) -> None:
    advantage, target = compute(REWARDS, VALUES, BOOTSTRAP, NOTHING, END, ~NOTHING, gamma=0.9, lam=0.8)
    np.testing.assert_allclose(advantage[:, 0], [2.624, 2.2, 1.488, 0.65], atol=1e-5)
    np.testing.assert_allclose(target[:, 0], [3.124, 2.8, 2.188, 1.45], atol=1e-5)


@BOTH
def test_a_step_that_was_not_real_has_no_advantage_and_ends_the_trace(compute: Any) -> None:
    masks = np.array([[1], [1], [0], [1]], bool)
    advantage, target = compute(REWARDS, VALUES, BOOTSTRAP, NOTHING, NOTHING, masks, gamma=0.9, lam=0.8)
    assert advantage[2, 0] == 0 and target[2, 0] == np.float32(0.7)
    assert advantage[1, 0] == pytest.approx(1 + 0.9 * 0.7 - 0.6, abs=1e-6)
    assert advantage[0, 0] == pytest.approx(1 + 0.9 * 0.6 - 0.5 + 0.72 * 1.03, abs=1e-6)


def test_arrays_that_disagree_are_named() -> None:
    with pytest.raises(ShapeError, match=r"values.*\(5, 1\)"):
        run(REWARDS, VALUES[:4], BOOTSTRAP, NOTHING, NOTHING, ~NOTHING, gamma=0.9, lam=0.8)
    with pytest.raises(ShapeError, match="terminals"):
        run(REWARDS, VALUES, BOOTSTRAP, NOTHING.astype(np.float32), NOTHING, ~NOTHING, gamma=0.9, lam=0.8)


def reference_gae(rewards: Any, values: Any, bootstrap: Any, terminals: Any, truncations: Any, gamma: float, lam: float) -> Any:
    """Schulman et al. 2016, eq. 16, as the sum it is: A_t = sum_l (gamma lam)^l delta_{t+l} up to the episode's end."""
    horizon = len(rewards)
    deltas, ends = np.zeros(horizon), terminals | truncations
    for t in range(horizon):
        following = 0.0 if terminals[t] else bootstrap[t] if truncations[t] else values[t + 1]
        deltas[t] = rewards[t] + gamma * following - values[t]
    result = np.zeros(horizon)
    for t in range(horizon):
        for step in range(t, horizon):
            result[t] += (gamma * lam) ** (step - t) * deltas[step]
            if ends[step]:
                break
    return result


def reference_vtrace(row: dict[str, Any], gamma: float, lam: float, rho_clip: float, c_clip: float) -> Any:
    """Espeholt et al. 2018: v_s by eq. 1 with c_i = lam min(c_clip, ratio_i) (remark 2), as the sum of products it is.

    The advantage of the policy gradient is r_s + gamma v_{s+1} - V(x_s), with the bootstrapped v_{s+1} mixed with V(x_{s+1}) by
    lam, so that ratios of 1 give GAE. Its own rho_s is left to PPO's objective.
    """
    rewards, values, ratios, masks = row["rewards"], row["values"], row["ratios"], row["masks"]
    horizon = len(rewards)
    following, stops = np.zeros(horizon), row["terminals"] | row["truncations"]
    for t in range(horizon):
        following[t] = 0.0 if row["terminals"][t] else row["bootstrap"][t] if row["truncations"][t] else values[t + 1]
    deltas = rewards + gamma * following - values[:-1]
    corrections = np.zeros(horizon + 1)
    for s in range(horizon):
        product = 1.0
        for t in range(s, horizon):
            if not masks[t]:
                break
            corrections[s] += gamma ** (t - s) * product * min(rho_clip, ratios[t]) * deltas[t]
            product *= lam * min(c_clip, ratios[t])
            if stops[t]:
                break
    targets = values[:-1] + corrections[:-1]
    going_on = np.where(stops, 0.0, corrections[1:])
    return np.where(masks, deltas + gamma * lam * going_on, 0.0), targets


@st.composite
def rollouts(draw: Any) -> dict[str, Any]:
    horizon, rows = draw(st.integers(1, 12)), draw(st.sampled_from([1, 2, 5, 513]))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    ends = random.random((horizon, rows))
    chance = draw(st.sampled_from([0.0, 0.1, 0.5]))
    return {
        "rewards": random.normal(size=(horizon, rows)).astype(np.float32),
        "values": random.normal(size=(horizon + 1, rows)).astype(np.float32),
        "bootstrap": random.normal(size=(horizon, rows)).astype(np.float32),
        "terminals": ends < chance,
        "truncations": ends > 1 - chance,
        "masks": random.random((horizon, rows)) >= draw(st.sampled_from([0.0, 0.2])),
        "ratios": np.exp(random.normal(size=(horizon, rows))).astype(np.float32),
    }


@settings(max_examples=60, deadline=None)
@given(rollouts(), st.floats(0, 1), st.floats(0, 1), st.floats(0.1, 3), st.floats(0.1, 3))
def test_equals_the_papers_in_float64(data: dict[str, Any], gamma: float, lam: float, rho_clip: float, c_clip: float) -> None:
    clips = {"rho_clip": rho_clip, "c_clip": c_clip}
    got = run(*data.values(), gamma=gamma, lam=lam, **clips)
    on_device = run_on_device(*data.values(), gamma=gamma, lam=lam, **clips)
    for row in range(min(5, data["rewards"].shape[1])):
        one = {name: array[:, row].astype(array.dtype if array.dtype == bool else np.float64) for name, array in data.items()}
        for expected, ours, theirs in zip(reference_vtrace(one, gamma, lam, **clips), got, on_device, strict=True):
            np.testing.assert_allclose(ours[:, row], expected, atol=2e-5, rtol=2e-5)
            np.testing.assert_allclose(theirs[:, row], expected, atol=2e-5, rtol=2e-5)


@settings(max_examples=40, deadline=None)
@given(rollouts(), st.floats(0, 1), st.floats(0, 1))
def test_equals_gae_while_the_policy_has_not_moved(data: dict[str, Any], gamma: float, lam: float) -> None:
    data = {**data, "masks": np.ones_like(data["masks"])}
    ones = np.ones_like(data["ratios"])
    with_ones = run(*list(data.values())[:6], ones, gamma=gamma, lam=lam)
    without = run(*list(data.values())[:6], gamma=gamma, lam=lam)
    row = {name: data[name][:, 0] for name in ("rewards", "values", "bootstrap", "terminals", "truncations")}
    expected = reference_gae(*(x if x.dtype == bool else x.astype(np.float64) for x in row.values()), gamma, lam)
    for advantage, target in (with_ones, without):
        np.testing.assert_allclose(advantage[:, 0], expected, atol=2e-5, rtol=2e-5)
        np.testing.assert_allclose(target[:, 0], expected + row["values"][:-1], atol=2e-5, rtol=2e-5)
