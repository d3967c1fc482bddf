"""Networks of dense layers and recurrent cells in C against torch in float64, on every instruction set that this machine has."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

_dense = pytest.importorskip("pufferlib.native._dense", reason="built only where the compiler has vector types")


def available(instructions: str) -> bool:
    try:
        _dense.Net([1, 1], 1, "", 0, 1, instructions)
    except ValueError:
        return False
    return True


SETS = [name for name in ("plain", "avx2", "avx512") if available(name)]


class Case:
    """A network, its weights, and inputs; `exact` is what torch makes of them in float64."""

    def __init__(
        self, widths: list[int], rows: int, *, cell: str = "", cells: int = 0, horizon: int = 1, as_bytes: bool = False
    ) -> None:
        random = torch.Generator().manual_seed(0)

        def normal(*shape: int) -> torch.Tensor:
            return torch.randn(*shape, generator=random)

        self.widths, self.outputs, self.rows, self.horizon = widths[:-1], widths[-1], rows, horizon
        self.cell, self.cells = cell, cells
        last, gates = widths[-2], {"lstm": 4, "mingru": 2, "": 0}[cell]
        shapes = [(b, a) for a, b in pairwise(self.widths)]
        shapes += [(gates * last, last)] * (cells * (2 if cell == "lstm" else 1)) + [(self.outputs, last)]
        self.weights, self.biases = [normal(*shape) / shape[1] ** 0.5 for shape in shapes], [normal(b) for b, _ in shapes]
        self.scale, self.mean = normal(widths[0]), normal(widths[0])
        self.factor = torch.rand(widths[0], generator=random) + 0.5
        if as_bytes:
            self.inputs = torch.randint(0, 256, (horizon * rows, widths[0]), generator=random, dtype=torch.uint8)
            self.scale /= 255
        else:
            self.inputs = normal(horizon * rows, widths[0])
        self.d_outputs = normal(horizon * rows, self.outputs)
        self.states = [normal(rows, max(cells, 1), last) for _ in range(2)]
        self.starts = torch.rand(horizon, rows, generator=random) < 0.2

    def exact(self, samples: torch.Tensor | None = None) -> tuple[torch.Tensor, list[torch.Tensor], list[torch.Tensor]]:
        """Outputs, the states after the last step, and gradients."""
        weights, biases = ([p.double().requires_grad_() for p in part] for part in (self.weights, self.biases))
        layers = len(self.widths) - 1
        x = self.inputs.double() if samples is None else self.inputs[samples].double()
        x = (x * self.scale.double() - self.mean.double()) * self.factor.double()
        for layer in range(layers):
            x = nn.functional.gelu(x @ weights[layer].T + biases[layer])
        hidden, cell = (state.double() for state in self.states)
        if self.cell:
            x = x.reshape(self.horizon, self.rows, -1)
            steps = []
            for features, start in zip(x, self.starts, strict=True):
                keep = (~start)[:, None, None].double()
                hidden, cell = hidden * keep, cell * keep
                if self.cell == "lstm":
                    w, b = weights[layers : layers + 2], biases[layers : layers + 2]
                    new, kept = torch.lstm_cell(features, [hidden[:, 0], cell[:, 0]], *w, *b)
                    hidden, cell, features = new.unsqueeze(1), kept.unsqueeze(1), new
                else:
                    all_new = []
                    for index in range(self.cells):
                        gate, fresh = (features @ weights[layers + index].T + biases[layers + index]).chunk(2, -1)
                        z, g = gate.sigmoid(), torch.where(fresh >= 0, fresh + 0.5, fresh.sigmoid())
                        new = (1 - z) * hidden[:, index] + z * g
                        all_new.append(new)
                        features = features + new if index else new
                    hidden = torch.stack(all_new, 1)
                steps.append(features)
            x = torch.cat(steps)
        x = x @ weights[-1].T + biases[-1]
        x.backward(self.d_outputs[: len(x)].double())
        return x.detach(), [hidden.detach(), cell.detach()], [p.grad for p in (*weights, *biases)]  # type: ignore[misc]

    def net(self, threads: int = 1, instructions: str = "", codes: tuple[int, int, int] = (0, 0, 0)) -> Any:
        net = _dense.Net(self.widths, self.outputs, self.cell, self.cells, threads, instructions, codes)
        self.load(net)
        return net

    def load(self, net: Any) -> None:
        addresses = [[p.data_ptr() for p in part] for part in (self.weights, self.biases)]
        net.load(*addresses, self.scale.data_ptr(), self.mean.data_ptr(), self.factor.data_ptr())

    def source(self, samples: torch.Tensor | None = None) -> tuple[int, bool, int, int]:
        is_bytes = self.inputs.dtype == torch.uint8
        return self.inputs.data_ptr(), is_bytes, self.widths[0], 0 if samples is None else samples.data_ptr()

    def memory(self, after: list[torch.Tensor] | None = None) -> tuple[int, ...]:
        if not self.cell:
            return ()
        rest = [part.data_ptr() for part in after] if after else [0, 0]
        return (*(part.data_ptr() for part in self.states), *rest, self.starts.data_ptr())

    def rows_of(self, samples: torch.Tensor | None) -> int:
        return self.rows if samples is None else len(samples)

    def forward(self, net: Any, samples: torch.Tensor | None = None, after: list[torch.Tensor] | None = None) -> torch.Tensor:
        rows = self.rows_of(samples)
        out = torch.full((self.horizon * rows, self.outputs), torch.nan)
        net.forward(self.source(samples), self.memory(after), self.horizon, rows, out.data_ptr())
        return out

    def backward(self, net: Any, samples: torch.Tensor | None = None) -> list[torch.Tensor]:
        net.backward(self.source(samples), self.memory(), self.horizon, self.rows_of(samples), self.d_outputs.data_ptr())
        found = [torch.full_like(p, torch.nan) for p in (*self.weights, *self.biases)]
        for part in range(len(self.weights)):
            net.gradient(part, found[part].data_ptr(), found[len(self.weights) + part].data_ptr())
        return found


def assert_near(found: torch.Tensor, exact: torch.Tensor) -> None:
    """Within float32's rounding of sums of some thousand terms, which may cancel."""
    assert (found.double() - exact).abs().max() <= 2e-5 * max(1.0, float(exact.abs().max()))


@pytest.mark.parametrize("instructions", SETS)
@settings(max_examples=25, deadline=None)
@given(
    widths=st.lists(st.integers(1, 70), min_size=3, max_size=5),
    rows=st.integers(1, 300),
    as_bytes=st.booleans(),
    threads=st.integers(1, 3),
)
def test_outputs_and_gradients_equal_torchs_in_float64(
    instructions: str, widths: list[int], rows: int, as_bytes: bool, threads: int
) -> None:
    case = Case(widths, rows, as_bytes=as_bytes)
    net = case.net(threads, instructions)
    outputs, _, gradients = case.exact()
    assert_near(case.forward(net), outputs)
    for found, exact in zip(case.backward(net), gradients, strict=True):
        assert_near(found, exact)


@pytest.mark.parametrize("instructions", SETS)
@pytest.mark.parametrize("cell", ["lstm", "mingru"])
@settings(max_examples=12, deadline=None)
@given(
    width=st.sampled_from([16, 48]),
    cells=st.integers(1, 3),
    rows=st.integers(1, 150),
    horizon=st.integers(1, 9),
    threads=st.integers(1, 3),
)
def test_memories_and_their_gradients_equal_torchs_in_float64(
    instructions: str, cell: str, width: int, cells: int, rows: int, horizon: int, threads: int
) -> None:
    case = Case([5, 30, width, 3], rows, cell=cell, cells=1 if cell == "lstm" else cells, horizon=horizon)
    net = case.net(threads, instructions)
    outputs, states, gradients = case.exact()
    after = [torch.full_like(part, torch.nan) for part in case.states]
    assert_near(case.forward(net, after=after), outputs)
    for found, exact in zip(after[: 2 if cell == "lstm" else 1], states, strict=False):
        assert_near(found, exact)
    for found, exact in zip(case.backward(net), gradients, strict=True):
        assert_near(found, exact)


@pytest.mark.parametrize("instructions", SETS)
def test_gelu_and_its_slope_are_right_from_far_left_to_far_right(instructions: str) -> None:
    x = torch.cat([torch.linspace(-15, 15, 20001), torch.tensor([0.0, -0.0, 1e-30, -1e-30, 1e4, -1e4, 3e38, -3e38])])
    case = Case([1, 1, 1], len(x))
    case.weights, case.biases = [torch.ones(1, 1)] * 2, [torch.zeros(1)] * 2
    case.scale, case.mean, case.factor = torch.ones(1), torch.zeros(1), torch.ones(1)
    case.inputs = x.unsqueeze(1)
    net = case.net(1, instructions)
    exact = nn.functional.gelu(x.double())
    assert ((case.forward(net)[:, 0].double() - exact).abs() <= 5e-7 + 2e-7 * x.double().abs()).all()
    one, d_weight, d_bias = torch.ones(1), torch.empty(1, 1), torch.empty(1)
    for at in range(0, len(x) - 8, 1000):  # the first bias's gradient of one row is that row's slope
        here = x[at].double().requires_grad_()
        nn.functional.gelu(here).backward()
        net.backward((x[at:].data_ptr(), False, 1, 0), (), 1, 1, one.data_ptr())
        net.gradient(0, d_weight.data_ptr(), d_bias.data_ptr())
        assert d_bias.item() == pytest.approx(here.grad.item(), abs=5e-7)  # type: ignore[union-attr]


@pytest.mark.parametrize("case", [Case([37, 64, 20, 5], 5000), Case([9, 16, 4], 300, cell="lstm", cells=1, horizon=7)])
def test_any_number_of_threads_gives_the_same_bits(case: Case) -> None:
    results = []
    for threads in (1, 2, 7):
        net = case.net(threads)
        results.append([case.forward(net), *case.backward(net)])
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_a_row_has_the_same_outputs_wherever_it_stands() -> None:
    case = Case([9, 32, 4], 1000)
    net = case.net(2)
    whole = case.forward(net)
    samples = torch.randint(0, 1000, (333,))
    assert torch.equal(case.forward(net, samples), whole[samples])


def test_samples_choose_the_rows_to_learn_from() -> None:
    case = Case([9, 32, 4], 1000)
    samples = torch.randint(0, 1000, (2500,))  # more than a chunk, with repeats
    case.d_outputs = torch.randn(2500, 4)
    for found, exact in zip(case.backward(case.net(2), samples), case.exact(samples)[2], strict=True):
        assert_near(found, exact)


@pytest.mark.parametrize("instructions", SETS)
@pytest.mark.parametrize("memory", [{}, {"cell": "lstm", "cells": 1, "horizon": 3}])
def test_codes_are_one_hot_or_scaled_and_a_code_that_is_none_of_them_is_nothing(
    instructions: str, memory: dict[str, Any]
) -> None:
    case = Case([8, 144, 4], 90, **memory)  # 144: a whole block of columns and some
    rows = len(case.inputs)
    codes = torch.stack([torch.randint(0, high, (rows,)) for high in (5, 256, 2)], 1).to(torch.uint8)
    offsets, factors = torch.tensor([0, 5, 6]), torch.tensor([0, 1 / 255, 0])
    codes[4, 2] = 250  # an env that breaks its promise must not write elsewhere
    read = torch.zeros(rows, 8)
    read[:, :5] = nn.functional.one_hot(codes[:, 0].long(), 5)
    read[:, 5] = codes[:, 1] / 255
    read[:, 6], read[:, 7] = codes[:, 2] == 0, codes[:, 2] == 1
    case.inputs, case.scale = read, torch.ones(8)
    outputs, _, gradients = case.exact()
    net = case.net(2, instructions, (3, offsets.data_ptr(), factors.data_ptr()))
    case.inputs, case.widths = codes, [3]  # numbers of a row
    assert_near(case.forward(net), outputs)
    for found, exact in zip(case.backward(net), gradients, strict=True):
        assert_near(found, exact)


def test_changed_weights_are_seen_by_the_next_load() -> None:
    case = Case([9, 32, 4], 50)
    net = case.net()
    case.forward(net)
    for change in (
        lambda: case.weights[1].data.mul_(2),
        lambda: case.biases[0].add_(1),
        lambda: case.mean.add_(1),
        lambda: case.factor.mul_(3),
    ):
        change()
        case.load(net)
        assert_near(case.forward(net), case.exact()[0])


@pytest.mark.parametrize("where", ["weight", "input"])
@pytest.mark.parametrize("memory", [{}, {"cell": "lstm", "cells": 1}, {"cell": "mingru", "cells": 2}])
def test_nan_is_never_lost(where: str, memory: dict[str, Any]) -> None:
    case = Case([9, 32, 32, 4], 100, **memory)
    if where == "weight":
        case.weights[0][3, 5] = torch.nan
    else:
        case.inputs[70, 2] = torch.nan
    net = case.net()
    assert case.forward(net)[70].isnan().all()
    assert all(part.isnan().any() for part in case.backward(net)[:-1]), "the last bias sees only the slope that it is given"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_can_go_on_computing() -> None:
    case = Case([37, 64, 5], 4000)
    net = case.net(2)
    before = case.forward(net)
    child = os.fork()
    if child == 0:
        os._exit(0 if torch.equal(case.forward(net), before) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (([3], 2), "widths"), (([3, 0], 2), "widths"), (([5000, 2], 2), "widths"), (([2] * 18, 2), "widths"),
        (([2, 2], 0), "widths"),
        (([2, 16], 2, "lstm", 2), "lstm"), (([2, 16], 2, "gru", 1), "gru"), (([2, 17], 2, "lstm", 1), "17"),
        (([2, 2], 2, "", 0, 0), "threads"), (([2, 2], 2, "", 0, 1, "abacus"), "abacus"),
    ],
)  # fmt: skip
def test_impossible_networks_are_refused(given: Any, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        _dense.Net(*given)
