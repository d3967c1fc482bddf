"""Stacks of dense layers in C against torch in float64, on every instruction set that this machine has."""

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
        _dense.Net([1, 1], False, 1, instructions)
    except ValueError:
        return False
    return True


SETS = [name for name in ("plain", "avx2", "avx512") if available(name)]


class Case:
    """A stack, its weights, and inputs; `exact` is what torch makes of them in float64."""

    def __init__(
        self, widths: list[int], rows: int, *, activate_last: bool = False, as_bytes: bool = False, seed: int = 0
    ) -> None:
        random = torch.Generator().manual_seed(seed)
        self.widths, self.rows, self.activate_last = widths, rows, activate_last
        self.weights = [torch.randn(b, a, generator=random) / a**0.5 for a, b in pairwise(widths)]
        self.biases = [torch.randn(b, generator=random) for b in widths[1:]]
        self.scale, self.mean = (torch.randn(widths[0], generator=random) for _ in range(2))
        self.factor = torch.rand(widths[0], generator=random) + 0.5
        if as_bytes:
            self.inputs = torch.randint(0, 256, (rows, widths[0]), generator=random, dtype=torch.uint8)
            self.scale /= 255
        else:
            self.inputs = torch.randn(rows, widths[0], generator=random)
        self.d_outputs = torch.randn(rows, widths[-1], generator=random)

    def exact(self, samples: torch.Tensor | None = None) -> tuple[torch.Tensor, list[torch.Tensor]]:
        parameters = [p.double().requires_grad_() for p in (*self.weights, *self.biases)]
        half = len(self.weights)
        x = self.inputs.double() if samples is None else self.inputs[samples].double()
        x = (x * self.scale.double() - self.mean.double()) * self.factor.double()
        for layer in range(half):
            x = x @ parameters[layer].T + parameters[half + layer]
            if self.activate_last or layer < half - 1:
                x = nn.functional.gelu(x)
        x.backward(self.d_outputs[: len(x)].double())
        return x.detach(), [p.grad for p in parameters]  # type: ignore[misc]

    def net(self, threads: int = 1, instructions: str = "") -> Any:
        net = _dense.Net(self.widths, self.activate_last, threads, instructions)
        self.load(net)
        return net

    def load(self, net: Any) -> None:
        addresses = [[p.data_ptr() for p in part] for part in (self.weights, self.biases)]
        net.load(*addresses, self.scale.data_ptr(), self.mean.data_ptr(), self.factor.data_ptr())

    def source(self, samples: torch.Tensor | None = None) -> tuple[int, bool, int, int]:
        is_bytes = self.inputs.dtype == torch.uint8
        return self.inputs.data_ptr(), is_bytes, self.widths[0], 0 if samples is None else samples.data_ptr()

    def forward(self, net: Any, samples: torch.Tensor | None = None) -> torch.Tensor:
        rows = self.rows if samples is None else len(samples)
        out = torch.full((rows, self.widths[-1]), torch.nan)
        net.forward(self.source(samples), rows, out.data_ptr())
        return out

    def backward(self, net: Any, samples: torch.Tensor | None = None) -> list[torch.Tensor]:
        rows = self.rows if samples is None else len(samples)
        net.backward(self.source(samples), rows, self.d_outputs.data_ptr())
        found = [torch.full_like(p, torch.nan) for p in (*self.weights, *self.biases)]
        for layer in range(len(self.weights)):
            net.gradient(layer, found[layer].data_ptr(), found[len(self.weights) + layer].data_ptr())
        return found


def assert_near(found: torch.Tensor, exact: torch.Tensor) -> None:
    """Within float32's rounding of sums of this size."""
    assert (found.double() - exact).abs().max() <= 5e-6 * max(1.0, float(exact.abs().max()))


@pytest.mark.parametrize("instructions", SETS)
@settings(max_examples=25, deadline=None)
@given(
    widths=st.lists(st.integers(1, 70), min_size=2, max_size=5),
    rows=st.integers(1, 300),
    activate_last=st.booleans(),
    as_bytes=st.booleans(),
    threads=st.integers(1, 3),
)
def test_outputs_and_gradients_equal_torchs_in_float64(
    instructions: str, widths: list[int], rows: int, activate_last: bool, as_bytes: bool, threads: int
) -> None:
    case = Case(widths, rows, activate_last=activate_last, as_bytes=as_bytes)
    net = case.net(threads, instructions)
    outputs, gradients = case.exact()
    assert_near(case.forward(net), outputs)
    for found, exact in zip(case.backward(net), gradients, strict=True):
        assert_near(found, exact)


@pytest.mark.parametrize("instructions", SETS)
def test_gelu_and_its_slope_are_right_from_far_left_to_far_right(instructions: str) -> None:
    x = torch.cat([torch.linspace(-15, 15, 20001), torch.tensor([0.0, -0.0, 1e-30, -1e-30, 1e4, -1e4, 3e38, -3e38])])
    case = Case([1, 1], len(x), activate_last=True)
    case.weights, case.biases = [torch.ones(1, 1)], [torch.zeros(1)]
    case.scale, case.mean, case.factor = torch.ones(1), torch.zeros(1), torch.ones(1)
    case.inputs = x.unsqueeze(1)
    net = case.net(1, instructions)
    exact = nn.functional.gelu(x.double())
    assert ((case.forward(net)[:, 0].double() - exact).abs() <= 5e-7 + 2e-7 * x.double().abs()).all()
    one, d_weight, d_bias = torch.ones(1), torch.empty(1, 1), torch.empty(1)
    for at in range(0, len(x) - 8, 1000):  # a bias's gradient of one row is that row's slope
        here = x[at].double().requires_grad_()
        nn.functional.gelu(here).backward()
        net.backward((x[at:].data_ptr(), False, 1, 0), 1, one.data_ptr())
        net.gradient(0, d_weight.data_ptr(), d_bias.data_ptr())
        assert d_bias.item() == pytest.approx(here.grad.item(), abs=5e-7)  # type: ignore[union-attr]


def test_any_number_of_threads_gives_the_same_bits() -> None:
    case = Case([37, 64, 20, 5], 5000)
    samples = torch.randperm(5000)
    results = []
    for threads in (1, 2, 7):
        net = case.net(threads)
        results.append([case.forward(net, samples), *case.backward(net, samples)])
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
    for found, exact in zip(case.backward(case.net(2), samples), case.exact(samples)[1], strict=True):
        assert_near(found, exact)


def test_changed_weights_are_seen_by_the_next_pass() -> None:
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
        assert_near(case.forward(net), case.exact()[0])


@pytest.mark.parametrize("where", ["weight", "input"])
def test_nan_is_never_lost(where: str) -> None:
    case = Case([9, 32, 32, 4], 100)
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


@pytest.mark.parametrize("widths", [[3], [3, 0, 2], [5000, 2], [2] * 18])
def test_impossible_stacks_are_refused(widths: list[int]) -> None:
    with pytest.raises(ValueError, match="widths"):
        _dense.Net(widths, False, 1)
    with pytest.raises(ValueError, match="abacus"):
        _dense.Net([1, 1], False, 1, "abacus")
