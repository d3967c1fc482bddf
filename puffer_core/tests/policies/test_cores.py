"""Recurrent cores against formulas: LSTM, GRU, MinGRU and attention over a window."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pufferlib.errors import ConfigError
from pufferlib.policies.attention import AttentionCore
from pufferlib.policies.cores import CELL_ROWS, GRUCore, LSTMCore, MinGRUCore, linear_recurrence, loop_over_time, scan_over_time
from pufferlib.policies.recurrent import map_state


def test_both_ways_of_an_lstms_step_are_the_same_function() -> None:
    core, random = LSTMCore(5, 8), torch.Generator().manual_seed(0)
    rows = 3 * CELL_ROWS
    features, state = torch.randn(rows, 5, generator=random), tuple(torch.randn(rows, 8, generator=random) for _ in range(2))
    whole, after = core.step(features, state)
    for part in torch.arange(rows).split(CELL_ROWS):
        few, few_after = core.step(features[part], map_state(lambda x, part=part: x[part], state))
        torch.testing.assert_close(whole[part], few, atol=1e-6, rtol=0)
        torch.testing.assert_close(after[1][part], few_after[1], atol=1e-6, rtol=0)


def test_gru_is_torchs() -> None:
    core = GRUCore(3, 4)
    features = torch.randn(6, 2, 3)
    out, state = core.sequence(features, core.initial_state(2), torch.zeros(6, 2, dtype=torch.bool))
    torch.testing.assert_close(out, core.gru(features)[0])
    torch.testing.assert_close(state, core.gru(features)[1][0])


def test_mingru_follows_the_paper() -> None:
    """Feng et al. 2024, algorithms 1 and 3: h = (1 - z) h + z g(x)."""
    core = MinGRUCore(2)
    weight = core.layers[0].weight.detach()
    x, h = torch.tensor([[0.3, -0.7]]), torch.tensor([[[0.5, 2.0]]])
    gate, candidate = (x @ weight.T).chunk(2, 1)
    expected = []
    for z, c, old in zip(gate[0].tolist(), candidate[0].tolist(), [0.5, 2.0], strict=True):
        z = 1 / (1 + math.exp(-z))
        g = c + 0.5 if c >= 0 else 1 / (1 + math.exp(-c))
        expected.append((1 - z) * old + z * g)
    out, state = core.step(x, h)
    assert out[0].tolist() == pytest.approx(expected, abs=1e-6) and state[0, 0].tolist() == pytest.approx(expected, abs=1e-6)


@given(st.integers(1, 70), st.integers(0, 2**31), st.booleans())
def test_the_scan_equals_the_loop(horizon: int, seed: int, backwards: bool) -> None:
    random = torch.Generator().manual_seed(seed)
    keep = torch.rand(horizon, 3, 2, generator=random, dtype=torch.float64) * (torch.rand(horizon, 3, 1, generator=random) < 0.8)
    add, initial = (torch.randn(*shape, generator=random, dtype=torch.float64) for shape in ((horizon, 3, 2), (3, 2)))
    expected, hidden = torch.empty_like(add), initial
    for t in reversed(range(horizon)) if backwards else range(horizon):
        hidden = keep[t] * hidden + add[t]
        expected[t] = hidden
    for way in (loop_over_time, scan_over_time):
        torch.testing.assert_close(way(keep, add, initial, backwards), expected, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("way", [loop_over_time, scan_over_time])
def test_gradients_of_the_recurrence_are_those_of_finite_differences(way, monkeypatch) -> None:
    monkeypatch.setattr("pufferlib.policies.cores._solve", way)
    shapes = (5, 2, 3), (5, 2, 3), (2, 3)
    given = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    assert torch.autograd.gradcheck(linear_recurrence, given)


def test_mingru_adds_up_in_float32_where_its_products_are_in_bfloat16() -> None:
    core, random = MinGRUCore(8, 2), torch.Generator().manual_seed(0)
    features, starts = torch.randn(200, 3, 8, generator=random), torch.zeros(200, 3, dtype=torch.bool)
    with torch.autocast("cpu", torch.bfloat16):
        _, end = core.sequence(features, core.initial_state(3), starts)
        state = core.initial_state(3)
        for step in features:
            _, state = core.step(step, state)
    assert end.dtype == state.dtype == torch.float32
    torch.testing.assert_close(end[:, 0], state[:, 0], atol=1e-5, rtol=1e-5)


def test_attention_equals_its_formula_in_float64() -> None:
    """One block, one head after another, every pair of steps by itself (Vaswani et al. 2017, eq. 1; Shaw et al. 2018, eq. 4)."""
    torch.manual_seed(0)
    core = AttentionCore(6, num_layers=1, num_heads=2, window=3).double()
    block = core.blocks[0]
    torch.nn.init.normal_(block.positions)
    core.requires_grad_(False)
    x = torch.randn(7, 1, 6, dtype=torch.float64)
    starts = torch.tensor([False, False, False, False, True, False, False]).unsqueeze(1)
    out, _ = core.sequence(x, map_state(lambda s: s.double() if s.is_floating_point() else s, core.initial_state(1)), starts)
    normed = torch.nn.functional.layer_norm(x[:, 0], (6,), block.attention_norm.weight, block.attention_norm.bias)
    q, k, v = (normed @ block.project.weight.T + block.project.bias).chunk(3, 1)
    for t in range(7):
        read = []
        for head in range(2):
            part = slice(3 * head, 3 * head + 3)
            seen = [s for s in range(t + 1) if t - s < 3 and (s >= 4) == (t >= 4)]
            scores = [
                sum(float(q[t, part][i] * (k[s, part][i] + block.positions[head, i, 2 - (t - s)])) for i in range(3))
                / math.sqrt(3)
                for s in seen
            ]
            total = sum(math.exp(score) for score in scores)
            read.append(sum(math.exp(score) / total * v[s, part] for score, s in zip(scores, seen, strict=True)))
        y = x[t, 0] + block.join(torch.cat(read))
        expected = core.norm(y + block.hidden(block.hidden_norm(y)))
        torch.testing.assert_close(out[t, 0], expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize(("layers", "reach"), [(1, 3), (2, 6)])
def test_attention_reaches_back_exactly_its_window(layers: int, reach: int) -> None:
    core = AttentionCore(8, layers, 2, window=4)
    features = torch.randn(10, 1, 8, requires_grad=True)
    out, _ = core.sequence(features, core.initial_state(1), torch.zeros(10, 1, dtype=torch.bool))
    out[9, 0, 0].backward()
    assert features.grad is not None
    assert (features.grad.abs().sum((1, 2)) > 0).tolist() == [9 - t <= reach for t in range(10)]


def test_settings_of_attention_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"num_heads=5 must divide hidden_size=16; nearest: 4"):
        AttentionCore(16, num_heads=5)
    with pytest.raises(ConfigError, match="window must be an integer of at least 2, got 1"):
        AttentionCore(16, window=1)
    with pytest.raises(ConfigError, match="core_layers"):
        MinGRUCore(16, 0)
