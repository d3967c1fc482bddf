"""Atari games as one PufferEnv batch: row i is game i, its observations are written straight into the batch's arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from pufferlib.buffers import Array, Buffers
from pufferlib.emulation.actions import ActionCodec
from pufferlib.emulation.episodes import EpisodeLog
from pufferlib.env import PufferEnv
from pufferlib.errors import ConfigError
from pufferlib_atari.game import Game
from pufferlib_atari.settings import Settings

FRAMES_PER_SECOND = 60


class Atari(PufferEnv):
    """`num_envs` emulators of one ROM, stepped one after the other; worker processes hold a batch each.

    game: a ROM that ale-py ships, such as space_invaders
    render_mode: None or "rgb_array", the first game's screen
    settings: see `pufferlib_atari.settings.Settings`

    Observations are uint8[frame_stack * planes, height, width], actions indices of the game's own actions. `drain_log` has
    `episode_return` and `episode_length` (in steps) of the episodes as the agent sees them, and `score` and `lives_played`
    of whole games; the step in which a game ends has an info with both. Raises ConfigError for a setting that cannot be.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}

    def __init__(
        self, game: str, num_envs: int = 1, buf: Buffers | None = None, render_mode: str | None = None, **settings: Any
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigError(f"render_mode must be None or 'rgb_array', got {render_mode!r}")
        self.settings = Settings(**settings)
        first = Game(game, self.settings)
        self.games = [first, *(Game(game, self.settings, like=first) for _ in range(num_envs - 1))]
        self.num_envs = self.num_agents = num_envs
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": FRAMES_PER_SECOND / self.settings.frame_skip}
        self.single_observation_space = Box(0, 255, first.stack.shape, np.uint8)
        self._num_actions = len(first.actions)
        self.single_action_space = Discrete(self._num_actions)
        self._actions = ActionCodec(self.single_action_space)
        self._log = EpisodeLog()
        self._returns = [0.0] * num_envs
        self._lengths = [0] * num_envs
        self._episodes = [0] * num_envs
        """Episodes of the game that runs: lives, with episodic_life."""
        super().__init__(buf)

    def reset(self, seed: Sequence[int] | int | None = None) -> tuple[Array, list[dict[str, Any]]]:
        """Begin a new game in every row. seed: one per row, one for all that is spread, or None."""
        seeds: Sequence[int | None] = [None] * self.num_envs
        if seed is not None:
            seeds = list(seed) if isinstance(seed, Sequence) else [seed + i for i in range(self.num_envs)]
        self.rewards[:] = 0
        self.terminals[:] = self.truncations[:] = False
        self.masks[:] = True
        for index, (game, own) in enumerate(zip(self.games, seeds, strict=True)):
            game.reset(own)
            self.observations[index] = game.stack
            self._returns[index], self._lengths[index], self._episodes[index] = 0.0, 0, 0
        return self.observations, []

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, list[dict[str, Any]]]:
        """One step of every game. Raises ActionError for an action that the game does not have."""
        observations, rewards, returns, lengths = self.observations, self.rewards, self._returns, self._lengths
        self.terminals.fill(False)
        self.truncations.fill(False)
        self.masks.fill(True)
        infos: list[dict[str, Any]] = []
        choices = actions.tolist()
        if min(choices) < 0 or max(choices) >= self._num_actions:
            self._actions.decode(actions, self.first_env)  # which refuses them
        for index, (game, choice) in enumerate(zip(self.games, choices, strict=True)):
            reward, terminal, truncation, over = game.step(choice)
            rewards[index] = reward
            returns[index] += reward
            lengths[index] += 1
            if terminal or truncation:
                self.terminals[index], self.truncations[index] = terminal, truncation
                self.final_observations[index] = game.stack
                self._end_episode(index, over, infos)
            observations[index] = game.stack
        return observations, rewards, self.terminals, self.truncations, infos

    def render(self) -> Array | None:
        """The first game's screen, uint8[height, width, 3]."""
        return None if self.render_mode is None else self.games[0].ale.getScreenRGB()

    def drain_log(self) -> dict[str, float]:
        return self._log.drain()

    def close(self) -> None:
        self.games = []

    def _end_episode(self, index: int, over: bool, infos: list[dict[str, Any]]) -> None:
        game = self.games[index]
        self._log.add_episode(self._returns[index], self._lengths[index])
        self._returns[index], self._lengths[index] = 0.0, 0
        self._episodes[index] += 1
        if not over:
            game.next_life()
            return
        info = {"score": game.score, "lives_played": self._episodes[index]}
        self._log.add_info(info)
        infos.append({**info, "env_index": self.first_env + index})
        self._episodes[index] = 0
        game.reset()
