"""What every shipped policy keeps: shapes, gradients, single steps that equal sequences, and export."""

from __future__ import annotations

import copy
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from gymnasium import spaces

import pufferlib
from pufferlib.config.run_config import BUILT_IN_POLICIES, FEED_FORWARD_POLICIES
from pufferlib.policies import build_policy
from pufferlib.policies.recurrent import map_state, reset_state, unroll

ROWS = 6
HORIZON = 9

PIXELS = spaces.Box(0, 255, (1, 36, 36), np.uint8)
TILES = spaces.Box(0, 255, (7, 9, 3), np.uint8)
VECTOR = spaces.Box(-1, 1, (2, 3))
PARTS = spaces.Dict(
    {
        "tiles": TILES,
        "code": spaces.Discrete(4, start=-1),
        "codes": spaces.MultiDiscrete([2, 5]),
        "bits": spaces.MultiBinary(3),
        "x": spaces.Box(-1, 1, (2,)),
    }
)
SETS = spaces.Dict({"cars": spaces.Box(-1, 1, (5, 3)), "own": spaces.Box(-1, 1, (2,)), "signs": spaces.Box(-1, 1, (4, 2))})
SMALL: dict[str, Any] = {"hidden_size": 16}


class Case(NamedTuple):
    """A policy by name, what it sees, and its settings."""

    name: str
    space: spaces.Space[Any]
    settings: dict[str, Any]

    def build(self, action_space: Any, seed: int = 0) -> Any:
        return build_policy(self.name, pufferlib.structure_of(self.space).box, action_space, seed=seed, **self.settings)

    def observations(self, count: int, seed: int = 0) -> torch.Tensor:
        """[count, *shape of a row]"""
        self.space.seed(seed)
        structure = pufferlib.structure_of(self.space)
        return torch.from_numpy(np.stack([structure.flatten(self.space.sample()) for _ in range(count)]))


CASES = {
    "mlp": Case("mlp", VECTOR, SMALL),
    "residual": Case("residual", VECTOR, SMALL),
    "nature": Case("nature", PIXELS, SMALL),
    "impala": Case("impala", TILES, SMALL),
    "multi": Case("multi", PARTS, SMALL),
    "entities": Case("entities", SETS, SMALL),
    "entities in a flat row": Case("entities", VECTOR, {**SMALL, "entities": [[0, 2, 2]]}),
    "lstm": Case("lstm", VECTOR, SMALL),
    "lstm on entities": Case("lstm", SETS, {**SMALL, "encoder": "entities"}),
    "lstm on nature": Case("lstm", PIXELS, SMALL),
    "gru": Case("gru", VECTOR, SMALL),
    "gru on residual": Case("gru", VECTOR, {**SMALL, "encoder": "residual"}),
    "mingru": Case("mingru", VECTOR, SMALL),
    "mingru on impala, two layers": Case("mingru", TILES, {**SMALL, "core_layers": 2}),
    "attention": Case("attention", VECTOR, {**SMALL, "window": 4}),
    "attention on parts, two blocks": Case("attention", PARTS, {**SMALL, "window": 3, "core_layers": 2, "num_heads": 2}),
    "independent": Case("independent", VECTOR, {**SMALL, "agents": 2}),
    "independent lstms": Case("independent", VECTOR, {**SMALL, "agents": 3, "base": "lstm"}),
}
assert {case.name for case in CASES.values()} == set(BUILT_IN_POLICIES), "every policy has a case"
RECURRENT = [name for name, case in CASES.items() if case.name not in FEED_FORWARD_POLICIES]
ACTIONS = {
    "discrete": spaces.Discrete(4),
    "multi-discrete": spaces.MultiDiscrete([2, 5]),
    "box": spaces.Box(-1, 1, (3,)),
    "box of no axis": spaces.Box(-1, 1, ()),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(params=RECURRENT)
def recurrent_case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def leaves(parameters: Any) -> list[torch.Tensor]:
    """The tensors of action parameters or of a state."""
    return [parameters] if isinstance(parameters, torch.Tensor) else [leaf for part in parameters for leaf in leaves(part)]


def arguments(policy: Any, observations: torch.Tensor) -> tuple[Any, ...]:
    """What `forward` takes for the first step."""
    return (observations, policy.initial_state(len(observations))) if hasattr(policy, "initial_state") else (observations,)


@pytest.mark.parametrize("actions", ACTIONS)
def test_action_parameters_and_one_value_a_row(case: Case, actions: str) -> None:
    policy = case.build(ACTIONS[actions])
    parameters, value, *_ = policy(*arguments(policy, case.observations(ROWS)))
    expected = {
        "discrete": [(ROWS, 4)], "multi-discrete": [(ROWS, 2), (ROWS, 5)], "box": [(ROWS, 3)] * 2, "box of no axis": [(ROWS,)] * 2
    }[actions]  # fmt: skip
    assert [tuple(part.shape) for part in leaves(parameters)] == expected
    assert value.shape == (ROWS,) and all(part.dtype == torch.float32 for part in [*leaves(parameters), value])


def test_gradients_reach_every_parameter(case: Case) -> None:
    policy = case.build(ACTIONS["box"])
    observations = case.observations(HORIZON * ROWS)
    if hasattr(policy, "initial_state"):
        segments = observations.unflatten(0, (HORIZON, ROWS))
        parameters, value, _ = unroll(policy, segments, policy.initial_state(ROWS), torch.zeros(HORIZON, ROWS, dtype=torch.bool))
    else:
        parameters, value = policy(observations)
    mean, log_std = parameters
    (mean.square().sum() + (log_std + 1).square().sum() + value.square().sum()).backward()
    idle = [name for name, p in policy.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    assert idle == []


def test_a_row_does_not_depend_on_the_rows_beside_it(case: Case) -> None:
    policy = case.build(ACTIONS["discrete"])
    observations = case.observations(ROWS)
    given = arguments(policy, observations)
    rows = torch.tensor([4, 0, 3])
    whole, part = policy(*given), policy(*(map_state(lambda x: x[rows], arg) for arg in given))
    for a, b in zip(leaves(whole), leaves(part), strict=True):
        torch.testing.assert_close(a[rows], b, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("actions", ["multi-discrete", "box"])
def test_a_sequence_equals_single_steps_with_resets_between(recurrent_case: Case, actions: str) -> None:
    policy = recurrent_case.build(ACTIONS[actions])
    random = torch.Generator().manual_seed(0)
    observations = recurrent_case.observations((HORIZON + 3) * ROWS).unflatten(0, (-1, ROWS))
    starts = torch.rand(HORIZON, ROWS, generator=random) < 0.25
    starts[:, 4] = False
    state = initial = policy.initial_state(ROWS)
    for step in observations[HORIZON:]:  # a state that remembers something
        _, _, state = policy(step, state)
    order = torch.randperm(ROWS, generator=random)  # segments come in any order
    state, initial = (map_state(lambda part: part[order], x) for x in (state, initial))
    parameters, values, end = unroll(policy, observations[:HORIZON, order], state, starts)
    assert values.shape == (HORIZON, ROWS)
    for t in range(HORIZON):
        step, value, state = policy(observations[t, order], reset_state(state, starts[t], initial))
        for whole, single in zip(leaves(parameters), leaves(step), strict=True):
            torch.testing.assert_close(whole[t], single, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(values[t], value, atol=1e-5, rtol=1e-5)
    for ours, theirs in zip(leaves(end), leaves(state), strict=True):
        seen = leaves(state)[-1] if recurrent_case.name == "attention" else None
        if seen is not None and ours.ndim == 4:  # what stands before the episode's first step is never looked at
            places = torch.arange(ours.shape[2]) >= ours.shape[2] - seen.unsqueeze(1)
            ours, theirs = (x * places[:, None, :, None] for x in (ours, theirs))
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def test_gradients_do_not_flow_across_an_episodes_start(recurrent_case: Case) -> None:
    policy = recurrent_case.build(ACTIONS["discrete"])
    seen: list[torch.Tensor] = []
    for member in getattr(policy, "members", [policy]):
        member.encoder.register_forward_hook(lambda _module, _given, out: seen.append(out.detach().requires_grad_()) or seen[-1])
    observations = recurrent_case.observations(6 * ROWS).unflatten(0, (6, ROWS))
    starts = torch.zeros(6, ROWS, dtype=torch.bool)
    starts[3] = True
    _, values, _ = unroll(policy, observations, policy.initial_state(ROWS), starts)
    values[5].sum().backward()
    reached = torch.stack([x.grad.unflatten(0, (6, -1)).flatten(1).abs().sum(1) for x in seen if x.grad is not None]).sum(0) > 0
    remembers = getattr(policy, "remembers", True)
    assert reached.tolist() == [False] * 3 + [remembers] * 2 + [True]


@pytest.mark.parametrize("actions", ["discrete", "box"])
def test_torch_export_and_a_trace_give_equal_outputs(case: Case, actions: str) -> None:
    policy = case.build(ACTIONS[actions]).eval()
    example, other = (arguments(policy, case.observations(rows, seed)) for seed, rows in enumerate((ROWS, 2 * ROWS)))
    if len(other) > 1:
        other = (other[0], policy(*other)[2])
    expected = leaves(policy(*other))
    any_rows = map_state(lambda _: {0: torch.export.Dim("rows", min=2)}, example)
    outputs_of = {"export": torch.export.export(policy, example, dynamic_shapes=any_rows).module()(*other)}
    if not pufferlib.structure_of(case.space).is_bytes:  # TorchScript knows no view of bytes as floats
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outputs_of["trace"] = torch.jit.trace(policy, example, check_trace=False)(*other)
    for name, outputs in outputs_of.items():
        for ours, theirs in zip(expected, leaves(outputs), strict=True):
            torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5, msg=name)


def test_copies_and_saved_weights_give_the_same_bits(case: Case, tmp_path: Any) -> None:
    policy, other = case.build(ACTIONS["discrete"]), case.build(ACTIONS["discrete"], seed=1)
    torch.save(policy.state_dict(), tmp_path / "weights.pt")
    other.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    given = arguments(policy, case.observations(ROWS))
    for same in (copy.deepcopy(policy), other):
        assert all(torch.equal(a, b) for a, b in zip(leaves(policy(*given)), leaves(same(*given)), strict=True))
