"""Reference policies for NetHack and MiniHack, in the manner of NLE's baseline (Küttler et al. 2020, section 4)."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.errors import ConfigError, SpaceError
from pufferlib.policies.cores import LSTMCore, State
from pufferlib.policies.distributions import Distribution
from pufferlib.policies.layers import Heads, check_count, dense_stack, layer_init
from pufferlib.structure import Leaf, structure_of

X, Y, HP, MAX_HP, CONDITION = 0, 1, 10, 11, 25
"""Places in `blstats`, as in NLE's nletypes.h."""
CONDITIONS = 13
"""Bits of the condition: stoned, slimed, ..., riding."""
CHARACTERS = 256
READ = ("glyphs", "glyphs_crop", "blstats", "message", "inv_glyphs")


class NetHackEncoder(nn.Module):
    """Rows of a Dict observation to float32 [rows, hidden_size]. Parts that are not observed are left out, keys beyond READ too.

    | part | network |
    |---|---|
    | glyphs [21, 79] | an embedding, three convolutions of stride 2 |
    | the `crop_size` x `crop_size` glyphs around the agent, or glyphs_crop as it is | the embedding, two convolutions |
    | blstats [27] | logarithms, standardised, conditions bit by bit, share of hit points: two GELU layers |
    | message [256] | an embedding of characters, two convolutions |
    | inv_glyphs [55] | the mean of the embeddings |

    All glyphs share one embedding. One GELU layer joins the parts.
    """

    def __init__(
        self, observation_space: spaces.Box, hidden_size: int, embedding_size: int, crop_size: int, channels: int
    ) -> None:
        super().__init__()
        for name, value in {"hidden_size": hidden_size, "embedding_size": embedding_size, "channels": channels}.items():
            check_count(name, value)
        if not isinstance(crop_size, int) or crop_size < 1 or crop_size % 2 == 0:
            raise ConfigError(f"crop_size must be an odd number, the agent in its middle, got {crop_size!r}")
        self.structure = structure_of(observation_space)
        self.leaves = {leaf.path[0]: leaf for leaf in self.structure.leaves if leaf.path and leaf.path[0] in READ}
        if not self.leaves:
            raise SpaceError(f"this policy reads a Dict with some of {', '.join(READ)}, got {self.structure.space}")
        glyphs = [int(leaf.high.max()) + 1 for name, leaf in self.leaves.items() if "glyphs" in name]
        self.nothing = max(glyphs, default=1)
        """The code of what lies outside of the map."""
        self.glyph = nn.Embedding(self.nothing + 1, embedding_size) if glyphs else None
        parts: dict[str, tuple[nn.Module, int]] = {}
        if "glyphs" in self.leaves:
            parts["map"] = _map_stack(self.leaves["glyphs"], embedding_size, channels, hidden_size)
        self.crop_size = crop_size if {"glyphs", "blstats"} <= set(self.leaves) else 0
        if "glyphs_crop" in self.leaves:
            parts["around"] = _crop_stack(self.leaves["glyphs_crop"].shape, embedding_size, channels, hidden_size)
        elif self.crop_size:
            parts["around"] = _crop_stack((crop_size, crop_size), embedding_size, channels, hidden_size)
        if "blstats" in self.leaves:
            inputs = self.leaves["blstats"].size + CONDITIONS + 1
            parts["stats"] = dense_stack(inputs, hidden_size // 2 or 1, 2, standardise=True), hidden_size // 2 or 1
        if "message" in self.leaves:
            parts["message"] = _message_stack(self.leaves["message"].size, hidden_size // 2 or 1)
        self.parts = nn.ModuleDict({name: part for name, (part, _) in parts.items()})
        width = sum(width for _, width in parts.values()) + (embedding_size if "inv_glyphs" in self.leaves else 0)
        self.join = dense_stack(width, hidden_size, 1)

    def forward(self, observations: Tensor) -> Tensor:
        """observations: [rows, *shape]."""
        seen = {name: self.structure.stored(observations, leaf) for name, leaf in self.leaves.items()}
        features = []
        if "map" in self.parts:
            features.append(self.parts["map"](self._embedded(seen["glyphs"])))
        if "around" in self.parts:
            around = seen["glyphs_crop"] if "glyphs_crop" in seen else self._around(seen["glyphs"], seen["blstats"])
            features.append(self.parts["around"](self._embedded(around)))
        if "stats" in self.parts:
            features.append(self.parts["stats"](stats_inputs(seen["blstats"])))
        if "message" in self.parts:
            features.append(self.parts["message"](seen["message"].long()))
        if "inv_glyphs" in seen and self.glyph is not None:
            features.append(self.glyph(seen["inv_glyphs"].long()).mean(1))
        return self.join(torch.cat(features, 1))  # type: ignore[no-any-return]

    def update_statistics(self, observations: Tensor) -> None:
        """Take observations [n, *shape] into what blstats are standardised by."""
        if "stats" in self.parts:
            self.parts["stats"][0].update(stats_inputs(self.structure.stored(observations, self.leaves["blstats"])))  # type: ignore

    def _embedded(self, glyphs: Tensor) -> Tensor:
        """int [rows, height, width] to float32 [rows, embedding, height, width]."""
        assert self.glyph is not None
        return self.glyph(glyphs.long()).permute(0, 3, 1, 2)  # type: ignore[no-any-return]

    def _around(self, glyphs: Tensor, blstats: Tensor) -> Tensor:
        """int [rows, crop_size, crop_size]: the agent's surroundings."""
        half = self.crop_size // 2
        padded = nn.functional.pad(glyphs.long(), (half, half, half, half), value=self.nothing)
        offsets = torch.arange(self.crop_size, device=glyphs.device)
        ys = blstats[:, Y].clamp(0, glyphs.shape[1] - 1)[:, None] + offsets
        xs = blstats[:, X].clamp(0, glyphs.shape[2] - 1)[:, None] + offsets
        rows = torch.arange(len(glyphs), device=glyphs.device)
        return padded[rows[:, None, None], ys[:, :, None], xs[:, None, :]]


class NetHack(nn.Module):
    """A `NetHackEncoder` under the heads.

    hidden_size: width of what the parts are joined to; channels: of the convolutions; crop_size: side of the agent's surroundings
    """

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], *, hidden_size: int = 128, embedding_size: int = 16,
        crop_size: int = 9, channels: int = 16,
    ) -> None:  # fmt: skip
        super().__init__()
        self.encoder = NetHackEncoder(observation_space, hidden_size, embedding_size, crop_size, channels)
        self.heads = Heads(hidden_size, action_space)

    @property
    def distribution(self) -> Distribution:
        """What the action parameters mean."""
        return self.heads.distribution

    def forward(self, observations: Tensor) -> tuple[Any, Tensor]:
        """observations: [rows, *shape]. Returns (action parameters, value [rows])."""
        return self.heads(self.encoder(observations))  # type: ignore[no-any-return]

    def update_statistics(self, observations: Tensor) -> None:
        """See `NetHackEncoder`. The trainer calls it between rollouts."""
        self.encoder.update_statistics(observations)


class NetHackLSTM(nn.Module):
    """A `NetHackEncoder`, a long short-term memory, and the heads. Settings as those of `NetHack`."""

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], *, hidden_size: int = 128, embedding_size: int = 16,
        crop_size: int = 9, channels: int = 16,
    ) -> None:  # fmt: skip
        super().__init__()
        self.encoder = NetHackEncoder(observation_space, hidden_size, embedding_size, crop_size, channels)
        self.core = LSTMCore(hidden_size, hidden_size)
        self.heads = Heads(hidden_size, action_space)

    @property
    def distribution(self) -> Distribution:
        """What the action parameters mean."""
        return self.heads.distribution

    def initial_state(self, rows: int) -> State:
        """The state before an episode: zeros."""
        return self.core.initial_state(rows)

    def forward(self, observations: Tensor, state: State) -> tuple[Any, Tensor, State]:
        """observations: [rows, *shape]. Returns (action parameters, value [rows], state)."""
        features, state = self.core.step(self.encoder(observations), state)
        parameters, value = self.heads(features)
        return parameters, value, state

    def forward_sequence(self, observations: Tensor, state: State, starts: Tensor) -> tuple[Any, Tensor, State]:
        """observations: [horizon, rows, *shape]; starts: bool[horizon, rows]."""
        encoded = self.encoder(observations.flatten(0, 1)).unflatten(0, observations.shape[:2])
        features, state = self.core.sequence(encoded, state, starts)
        parameters, value = self.heads(features)
        return parameters, value, state

    def update_statistics(self, observations: Tensor) -> None:
        """See `NetHackEncoder`. The trainer calls it between rollouts."""
        self.encoder.update_statistics(observations)


def stats_inputs(blstats: Tensor) -> Tensor:
    """int64 [rows, n] to float32 [rows, n + CONDITIONS + 1]: sign(x) log(1 + |x|), the condition's bits, the share of hit points.

    MiniHack can leave the last number out, the alignment; the others are always there.
    """
    numbers = blstats.float()
    logs = numbers.sign() * numbers.abs().log1p()
    bits = torch.arange(CONDITIONS, device=blstats.device)
    conditions = (blstats[:, CONDITION, None] >> bits) & 1
    share = numbers[:, HP] / numbers[:, MAX_HP].clamp(min=1)
    return torch.cat([logs, conditions.float(), share[:, None]], 1)


def _map_stack(leaf: Leaf, embedding_size: int, channels: int, hidden_size: int) -> tuple[nn.Module, int]:
    sizes = [embedding_size, channels, 2 * channels, 2 * channels]
    convolutions = [part for pair in itertools.pairwise(sizes) for part in (layer_init(nn.Conv2d(*pair, 3, 2, 1)), nn.GELU())]
    return _joined(convolutions, torch.zeros(1, embedding_size, *leaf.shape), hidden_size)


def _crop_stack(shape: tuple[int, ...], embedding_size: int, channels: int, hidden_size: int) -> tuple[nn.Module, int]:
    sizes = [embedding_size, channels, channels]
    convolutions = [part for pair in itertools.pairwise(sizes) for part in (layer_init(nn.Conv2d(*pair, 3, 1, 1)), nn.GELU())]
    return _joined(convolutions, torch.zeros(1, embedding_size, *shape), hidden_size)


def _message_stack(length: int, hidden_size: int, size: int = 8) -> tuple[nn.Module, int]:
    layers: list[nn.Module] = [
        nn.Embedding(CHARACTERS, size), _Transposed(), layer_init(nn.Conv1d(size, 2 * size, 5, 3)), nn.GELU(),
        layer_init(nn.Conv1d(2 * size, 2 * size, 5, 3)), nn.GELU(),
    ]  # fmt: skip
    return _joined(layers, torch.zeros(1, length, dtype=torch.int64), hidden_size)


def _joined(layers: list[nn.Module], sample: Tensor, hidden_size: int) -> tuple[nn.Module, int]:
    body = nn.Sequential(*layers, nn.Flatten())
    with torch.no_grad():
        width = body(sample).shape[1]
    return nn.Sequential(body, layer_init(nn.Linear(width, hidden_size)), nn.GELU()), hidden_size


class _Transposed(nn.Module):
    def forward(self, sequence: Tensor) -> Tensor:
        """[rows, length, size] to [rows, size, length]."""
        return sequence.transpose(1, 2)
