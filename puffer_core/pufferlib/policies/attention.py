"""Attention over a sliding window of an episode's last steps, as a recurrent core."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pufferlib.errors import ConfigError
from pufferlib.policies.cores import State
from pufferlib.policies.layers import check_count, layer_init


class AttentionCore(nn.Module):
    """Transformer blocks that see the last `window` steps of the episode, the present one among them.

    Keys and values of earlier steps are kept as the state (Dai et al. 2019, Transformer-XL: no gradient into it), positions
    are relative (Shaw et al. 2018, eq. 4), and the norms stand inside the residual branches, which Parisotto et al. 2020 found
    to matter for reinforcement learning. A block sees what the one below made of its own window, so memory reaches back
    `num_layers` * (`window` - 1) steps.

    The state is (keys, values, age): float32[rows, num_layers, window - 1, hidden_size] twice, oldest step first, and
    int64[rows], how many of them are of this episode.
    """

    def __init__(self, hidden_size: int, num_layers: int = 1, num_heads: int = 4, window: int = 16) -> None:
        super().__init__()
        check_count("core_layers", num_layers)
        check_count("num_heads", num_heads)
        check_count("window", window, 2)
        if hidden_size % num_heads:
            near = min((n for n in range(1, hidden_size + 1) if hidden_size % n == 0), key=lambda n: abs(n - num_heads))
            raise ConfigError(f"num_heads={num_heads} must divide hidden_size={hidden_size}; nearest: {near}")
        self.hidden_size, self.window = hidden_size, window
        self.blocks = nn.ModuleList(AttentionBlock(hidden_size, num_heads, window) for _ in range(num_layers))
        self.norm = nn.LayerNorm(hidden_size)

    def initial_state(self, rows: int) -> State:
        """An empty window."""
        device = self.norm.weight.device
        keys = torch.zeros(rows, len(self.blocks), self.window - 1, self.hidden_size, device=device)
        return keys, keys.clone(), torch.zeros(rows, dtype=torch.int64, device=device)

    def step(self, features: Tensor, state: State) -> tuple[Tensor, State]:
        """One query, against the window. features: float32[rows, hidden_size]"""
        old_keys, old_values, age = state
        place = torch.arange(self.window, device=features.device)
        seen = place >= self.window - 1 - age.unsqueeze(1)
        keys, values = [], []
        for index, block in enumerate(self.blocks):
            features, block_keys, block_values = block(
                features.unsqueeze(1), old_keys[:, index], old_values[:, index], seen.unsqueeze(1)
            )
            features = features[:, 0]
            keys.append(block_keys)
            values.append(block_values)
        age = (age + 1).clamp(max=self.window - 1)
        return self.norm(features), (torch.stack(keys, 1), torch.stack(values, 1), age)

    def sequence(self, features: Tensor, state: State, starts: Tensor) -> tuple[Tensor, State]:
        """All queries at once. A step sees another if it is at most window - 1 later and in the same episode."""
        old_keys, old_values, age = state
        horizon, before = len(features), self.window - 1
        episode = starts.T.long().cumsum(1)  # [rows, horizon]; 0: the one that the state is of
        place = torch.arange(before + horizon, device=features.device)
        kept = torch.where(place[:before] >= before - age.unsqueeze(1), 0, -1)
        distance = place[before:].unsqueeze(1) - place
        near = (distance >= 0) & (distance < self.window)
        seen = near & (episode.unsqueeze(2) == torch.cat([kept, episode], 1).unsqueeze(1))
        features = features.transpose(0, 1)
        keys, values = [], []
        for index, block in enumerate(self.blocks):
            features, block_keys, block_values = block(features, old_keys[:, index], old_values[:, index], seen)
            keys.append(block_keys)
            values.append(block_values)
        last = episode[:, -1:]
        age = ((episode == last).sum(1) + torch.where(last[:, 0] == 0, age, 0)).clamp(max=before)
        return self.norm(features).transpose(0, 1), (torch.stack(keys, 1), torch.stack(values, 1), age)


class AttentionBlock(nn.Module):
    """Multi-head attention and a hidden layer of twice the size, both residual."""

    def __init__(self, size: int, num_heads: int, window: int) -> None:
        super().__init__()
        self.num_heads, self.window = num_heads, window
        self.attention_norm, self.hidden_norm = nn.LayerNorm(size), nn.LayerNorm(size)
        self.project = layer_init(nn.Linear(size, 3 * size), std=1.0)
        self.positions = nn.Parameter(torch.zeros(num_heads, size // num_heads, window))
        """A key for each distance, the farthest first."""
        self.join = layer_init(nn.Linear(size, size), std=1.0)
        self.hidden = nn.Sequential(layer_init(nn.Linear(size, 2 * size)), nn.GELU(), layer_init(nn.Linear(2 * size, size), 0.1))

    def forward(self, features: Tensor, old_keys: Tensor, old_values: Tensor, seen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """features: [rows, steps, size]; old_keys, old_values: [rows, window - 1, size]

        seen: bool[rows, steps, window - 1 + steps], which keys a query may look at, the old ones first
        Returns features, and keys and values of the last window - 1 steps.
        """
        queries, keys, values = self.project(self.attention_norm(features)).chunk(3, -1)
        keys, values = torch.cat([old_keys, keys], 1), torch.cat([old_values, values], 1)
        by_head = self._heads(queries)
        scores = by_head @ self._heads(keys).transpose(2, 3) + self._by_distance(by_head @ self.positions)
        scores = scores * (queries.shape[-1] // self.num_heads) ** -0.5
        weights = scores.masked_fill(~seen.unsqueeze(1), float("-inf")).softmax(-1)
        read = (weights @ self._heads(values)).transpose(1, 2).flatten(2)
        features = features + self.join(read)
        features = features + self.hidden(self.hidden_norm(features))
        first = features.shape[1]
        return features, keys[:, first:], values[:, first:]

    def _heads(self, x: Tensor) -> Tensor:
        """[rows, steps, size] to [rows, heads, steps, size of a head]."""
        return x.reshape(*x.shape[:2], self.num_heads, -1).transpose(1, 2)

    def _by_distance(self, scores: Tensor) -> Tensor:
        """[..., steps, window] to [..., steps, window - 1 + steps], row t moved t places to the right, zeros elsewhere.

        With `steps` zeros behind each row, reading the numbers in rows that are one shorter moves each row by one more.
        """
        steps = scores.shape[-2]
        width = self.window - 1 + steps
        flat = nn.functional.pad(scores, (0, steps)).flatten(-2)
        return flat[..., : steps * width].reshape(*scores.shape[:-1], width)
