"""Exported policies compute what the policy does, read back by each format's own loader."""

from __future__ import annotations

import json
import math
import struct
import sys

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import nn

from pufferlib.cli.export import SUFFIXES
from pufferlib.errors import ConfigError, ExportError
from pufferlib.export import FORMATS, export_policy
from pufferlib.export.flat_reader import FlatPolicy
from pufferlib.export.step import Step
from pufferlib.loading import NormalisedPolicy
from pufferlib.policies import build_policy
from pufferlib.structure import structure_of

REALS = spaces.Box(-np.inf, np.inf, (6,), np.float32)
SEVERAL_DTYPES = structure_of(
    spaces.Dict(
        a=spaces.Discrete(4, start=2), b=spaces.Box(-1, 1, (2,), np.float32), c=spaces.Box(0, 9, (3,), np.int16),
        d=spaces.MultiDiscrete([2, 3]),
    )
).box  # fmt: skip
CASES = {
    "mlp": ("mlp", REALS, spaces.Discrete(3), {}),
    "onehot": ("mlp", spaces.Box(-1, 3, (4,), np.int8), spaces.Discrete(3), {"encode": "onehot"}),
    "mixed": (
        "mlp",
        spaces.Box(np.array([0, 0, -2]), np.array([3, 200, 1]), dtype=np.int16),
        spaces.Discrete(3),
        {"encode": "mixed"},
    ),
    "bytes": ("mlp", spaces.Box(0, 255, (2, 2), np.uint8), spaces.MultiDiscrete([2, 3]), {"num_layers": 1}),
    "parts": ("mlp", SEVERAL_DTYPES, spaces.Discrete(2), {}),
    "residual": ("residual", REALS, spaces.Box(-1, 1, (2,), np.float32), {"log_std": "output", "squash": True}),
    "lstm": ("lstm", REALS, spaces.MultiDiscrete([3, 2]), {}),
    "gru": ("gru", REALS, spaces.Discrete(3), {}),
    "mingru": ("mingru", REALS, spaces.Box(-1, 1, (2, 1), np.float32), {"core_layers": 2}),
    "nature": ("nature", spaces.Box(0, 255, (36, 37, 3), np.uint8), spaces.Discrete(3), {}),
    "impala": ("impala", spaces.Box(0, 1, (2, 11, 9), np.float32), spaces.Discrete(3), {}),
    "multi": ("multi", SEVERAL_DTYPES, spaces.Discrete(3), {}),
    "entities": ("entities", spaces.Box(-1, 1, (5, 3)), spaces.Discrete(3), {}),
    "attention": ("attention", REALS, spaces.Discrete(3), {"window": 3}),
    "independent": ("independent", REALS, spaces.Discrete(3), {"agents": 2, "base": "lstm"}),
}
NOT_FLAT = ("multi", "entities", "attention", "independent")


def case(name):
    """(policy, observation space, action space), its weights and statistics as if it had learnt something."""
    kind, observation_space, action_space, settings = CASES[name]
    policy = build_policy(kind, observation_space, action_space, seed=1, **{"hidden_size": 12, **settings})
    torch.manual_seed(2)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.03 * torch.randn_like(parameter))
    observation_space.seed(3)
    policy.update_statistics(torch.from_numpy(np.stack([observation_space.sample() for _ in range(9)])))
    return policy.eval(), observation_space, action_space


def read_back(format, path):
    """How a user of the format runs a file: tensors to tensors."""
    if format == "torchscript":
        return torch.jit.load(path)
    if format == "pt2":
        return torch.export.load(path).module()
    if format == "flat":
        policy = FlatPolicy(json.loads((path / "policy.json").read_text()), (path / "weights.bin").read_bytes())
        return lambda *inputs: [torch.from_numpy(np.array(out)) for out in policy.run([tensor.numpy() for tensor in inputs])]
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    names = [node.name for node in session.get_inputs()]
    return lambda *inputs: [torch.from_numpy(out) for out in session.run(
        None, {name: tensor.numpy() for name, tensor in zip(names, inputs, strict=True)})]  # fmt: skip


def assert_same(policy, observation_space, action_space, run, rows=8):
    """Two steps that follow from one another, on rows that the export did not look at."""
    step = Step(policy, observation_space, action_space)
    state = step.initial_state(rows)
    for number in (11, 12):
        inputs = (step.observations(rows, number), *state)
        with torch.no_grad():
            expected, found = step(*inputs), run(*inputs)
        assert len(expected) == len(found)
        for ours, theirs in zip(expected, found, strict=True):
            torch.testing.assert_close(theirs.float(), ours.float(), atol=1e-5, rtol=1e-5)
        state = expected[len(expected) - len(state) :]


EVERY = [("flat", name) for name in CASES if name not in NOT_FLAT]
EVERY += [("torchscript", name) for name in CASES if name not in ("parts", "multi")]
EVERY += [("pt2", name) for name in ("mlp", "parts", "lstm", "impala", "entities", "independent")]
EVERY += [("onnx", name) for name in ("mlp", "lstm", "mingru", "entities")]


@pytest.mark.parametrize(("format", "name"), EVERY)
def test_a_file_computes_what_the_policy_does(format, name, tmp_path):
    if format == "onnx":
        pytest.importorskip("onnxruntime")
    policy, *spaces_of_env = case(name)
    exported = export_policy(policy, *spaces_of_env, tmp_path / "out", format, env_name="my-env")
    assert exported.difference < 1e-5
    assert_same(policy, *spaces_of_env, read_back(format, tmp_path / "out"))


def test_the_inputs_and_outputs_of_an_onnx_model_are_named_and_rows_are_free(tmp_path):
    onnx = pytest.importorskip("onnx")
    policy, *spaces_of_env = case("lstm")
    export_policy(policy, *spaces_of_env, tmp_path / "p.onnx", "onnx", env_name="my-env")
    model = onnx.load(tmp_path / "p.onnx")
    onnx.checker.check_model(model)
    assert [node.name for node in model.graph.input] == ["observations", "state_0", "state_1"]
    assert [node.name for node in model.graph.output] == ["logits_0", "logits_1", "value", "next_state_0", "next_state_1"]
    assert all(node.type.tensor_type.shape.dim[0].dim_param for node in [*model.graph.input, *model.graph.output])
    record = json.loads({entry.key: entry.value for entry in model.metadata_props}["pufferlib.json"])
    assert record["env"] == "my-env" and record["policy"] == "lstm"
    assert record["action"] == {"type": "multi_discrete", "sizes": [3, 2]}
    assert record["inputs"][1] == {"name": "state_0", "dtype": "float32", "shape": [12]}


@pytest.mark.parametrize("clip", [1.5, math.inf])
@pytest.mark.parametrize("format", ["flat", "torchscript"])
def test_the_statistics_of_a_wrapper_travel_along(format, clip, tmp_path):
    policy, *spaces_of_env = case("lstm")
    statistics = {"mean": np.arange(6.0), "var": np.arange(1.0, 7.0), "epsilon": 1e-8, "clip": clip}
    normalised = NormalisedPolicy(policy, statistics).eval()
    export_policy(normalised, *spaces_of_env, tmp_path / "out", format)
    assert_same(normalised, *spaces_of_env, read_back(format, tmp_path / "out"))


def test_frames_of_a_stack_are_normalised_alike(tmp_path):
    stack = spaces.Box(-np.inf, np.inf, (2, 6), np.float32)
    policy = build_policy("mlp", stack, spaces.Discrete(3), seed=1, hidden_size=12)
    statistics = {"mean": np.arange(6.0), "var": np.arange(1.0, 7.0), "epsilon": 1e-8, "clip": 2.0}
    normalised = NormalisedPolicy(policy, statistics).eval()
    export_policy(normalised, stack, spaces.Discrete(3), tmp_path / "out", "flat")
    assert_same(normalised, stack, spaces.Discrete(3), read_back("flat", tmp_path / "out"))


class Own(nn.Module):
    """A policy of a user's own, with a state of two parts and values of shape [rows, 1]."""

    def __init__(self):
        super().__init__()
        self.actor, self.critic = nn.Linear(6, 3), nn.Linear(6, 1)

    def initial_state(self, rows):
        return torch.zeros(rows, 6), (torch.zeros(rows, 2),)

    def forward(self, observations, state):
        mean, (count,) = state
        mean = 0.9 * mean + 0.1 * observations
        return self.actor(mean), self.critic(mean) + count[:, :1], (mean, (count + 1,))


@pytest.mark.parametrize("format", ["torchscript", "pt2"])
def test_a_policy_of_ones_own_is_exported(format, tmp_path):
    export_policy(Own(), REALS, spaces.Discrete(3), tmp_path / "out", format)
    torch.manual_seed(0)
    policy = Own()
    export_policy(policy, REALS, spaces.Discrete(3), tmp_path / "out", format)  # replaces the first
    assert_same(policy, REALS, spaces.Discrete(3), read_back(format, tmp_path / "out"))


def test_the_flat_files_can_be_read_without_any_of_our_code(tmp_path):
    """A feed-forward network by the words of docs/export.md, in plain Python."""
    policy, *spaces_of_env = case("mlp")
    export_policy(policy, *spaces_of_env, tmp_path / "p", "flat")
    record = json.loads((tmp_path / "p" / "policy.json").read_text())
    content = (tmp_path / "p" / "weights.bin").read_bytes()
    weights = struct.unpack(f"<{record['weights']['count']}f", content)

    def layer(one, x):
        if one["type"] == "activation":
            assert one["function"] == "gelu"
            return [0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x]
        w, b = one["weight"]["offset"], one["bias"]["offset"]
        n = one["inputs"]
        return [weights[b + o] + sum(weights[w + o * n + i] * x[i] for i in range(n)) for o in range(one["outputs"])]

    observation = [0.5, -2.0, 3.0, 0.0, 1.0, -0.25]
    x = observation
    for one in record["layers"]:
        x = layer(one, x)
    logits, value = policy(torch.tensor([observation]))
    np.testing.assert_allclose(x[: record["output"]["value_index"]], logits[0].detach(), atol=1e-5)
    assert x[record["output"]["value_index"]] == pytest.approx(value.item(), abs=1e-5)
    assert (record["format"], record["version"]) == ("pufferlib-policy", 1)


def test_weights_of_another_export_are_refused(tmp_path):
    policy, *spaces_of_env = case("mlp")
    export_policy(policy, *spaces_of_env, tmp_path / "p", "flat")
    record = json.loads((tmp_path / "p" / "policy.json").read_text())
    content = (tmp_path / "p" / "weights.bin").read_bytes()
    for wrong in (content[:-4], content[:-1] + b"?"):
        with pytest.raises(ExportError, match="export both anew"):
            FlatPolicy(record, wrong)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize("wrong", [1e-2, math.nan])
def test_what_computes_something_else_is_an_error_and_is_not_written(wrong, tmp_path, monkeypatch):
    good = FORMATS["flat"]

    def load(contents):
        run = good.load(contents)
        return lambda inputs: [run(inputs)[0] + np.float32(wrong), *run(inputs)[1:]]

    monkeypatch.setitem(FORMATS, "flat", good._replace(load=load))
    policy, *spaces_of_env = case("mlp")
    with pytest.raises(ExportError, match="the exported logits differs from the policy's"):
        export_policy(policy, *spaces_of_env, tmp_path / "p", "flat")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", NOT_FLAT)
def test_what_the_flat_format_does_not_know_is_named(name, tmp_path):
    policy, *spaces_of_env = case(name)
    with pytest.raises(ExportError, match=r"flat format .*(MultiInputEncoder|EntityEncoder|AttentionCore|Independent).*onnx"):
        export_policy(policy, *spaces_of_env, tmp_path / "p", "flat")


def test_wrong_requests_say_what_would_work(tmp_path):
    policy, *spaces_of_env = case("mlp")
    with pytest.raises(ConfigError, match="onnx, torchscript, pt2, flat, got 'keras'"):
        export_policy(policy, *spaces_of_env, tmp_path / "p", "keras")
    with pytest.raises(ConfigError, match="is a folder"):
        export_policy(policy, *spaces_of_env, tmp_path, "torchscript")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="is a file"):
        export_policy(policy, *spaces_of_env, tmp_path / "file", "flat")
    parts, *spaces_of_env = case("parts")
    with pytest.raises(ExportError, match="several dtypes are; pt2, flat can"):
        export_policy(parts, *spaces_of_env, tmp_path / "p", "onnx")


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    policy, *spaces_of_env = case("mlp")
    with pytest.raises(ExportError, match=r"pip install 'pufferlib\[export\]'"):
        export_policy(policy, *spaces_of_env, tmp_path / "p.onnx", "onnx")


def test_the_command_line_knows_the_formats():
    assert list(SUFFIXES) == list(FORMATS)
