"""MicroRTS (Ontanon 2013) through gym-microrts 0.6 (Huang et al. 2021, "Gym-µRTS"), many games of one JVM as one batch.

The package's own step begins the next game where one ends, so that its last position is lost; games are stepped one by one here,
and begun again once their last position is kept. It cuts games at a limit without saying so; the limit here is a truncation.
"""

from __future__ import annotations

import difflib
import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Array, Buffers
from pufferlib.emulation.actions import ActionCodec
from pufferlib.emulation.episodes import EpisodeLog
from pufferlib.env import PufferEnv
from pufferlib.errors import ConfigError, EnvError
from pufferlib.numbering import first_env
from pufferlib_microrts.draw import frame

INSTALL = (
    "pip install 'pufferlib[microrts]'\n"
    "pip install --no-deps --ignore-requires-python gym-microrts==0.6.0\n"
    "and Java 17, such as apt install openjdk-17-jre-headless"
)
REWARDS = ("win_loss", "resources", "workers", "buildings", "attacks", "combat_units")
PAPER_WEIGHTS = (10.0, 1.0, 1.0, 0.2, 1.0, 4.0)
"""Of `REWARDS`, as in section V of Huang et al. 2021."""
SELF = "self"
NO_LIMIT = 2**31 - 1


class MicroRTS(PufferEnv):
    """`num_envs` games on one map, against bots (a row each) or of both sides (two rows each).

    map_name: a map of the package, without its ending
    opponent: a bot's name, several (dealt out to the games in turn), or "self": both sides are rows
    max_steps: after so many a game is truncated
    partial_obs: whether each side sees what its units see only
    reward_weights: of win or loss (1, -1), resources gathered, workers, buildings, attacks and combat units

    Observations are uint8[height, width, planes] of zeros and ones. An action has seven parts for every cell: what its unit does,
    four directions, what it makes and what it attacks; cells in which none of one's units is idle have one choice each.
    """

    def __init__(
        self,
        *,
        num_envs: int = 1,
        buf: Buffers | None = None,
        map_name: str = "16x16/basesWorkers16x16",
        opponent: str | Sequence[str] = "coacAI",
        max_steps: int = 2000,
        partial_obs: bool = False,
        reward_weights: Sequence[float] = PAPER_WEIGHTS,
        render_mode: str | None = None,
    ) -> None:
        if len(reward_weights) != len(REWARDS):
            raise ConfigError(f"reward_weights must be {len(REWARDS)} numbers, of {', '.join(REWARDS)}; got {reward_weights!r}")
        if not isinstance(max_steps, int) or max_steps < 1:
            raise ConfigError(f"max_steps must be a whole number of at least 1, got {max_steps!r}")
        if render_mode not in (None, "rgb_array"):
            raise ConfigError(f"render_mode must be 'rgb_array', got {render_mode!r}")
        self.render_mode, self.num_envs = render_mode, num_envs
        names = [opponent] if isinstance(opponent, str) else list(opponent)
        self._engine = engine(num_envs, map_name, names, partial_obs)
        self._is_self_play = names == [SELF]
        self._rows_per_game = 2 if self._is_self_play else 1
        self.num_agents = num_envs * self._rows_per_game
        cells = self._engine.height * self._engine.width
        heads = np.array(self._engine.action_space_dims)
        self.single_observation_space = spaces.Box(0, 1, self._engine.obs.shape[1:], np.uint8)
        self.single_action_space = spaces.MultiDiscrete(np.tile(heads, cells))
        self.action_mask_size = int(heads.sum()) * cells
        self._choices = np.tile(heads, cells).astype(np.uint32)
        self._begins = np.cumsum([0, *heads[:-1]])
        self._kinds = int(heads[0])
        """How many things a unit can do; a cell whose mask allows none of them has no unit to command."""
        self._idle = np.zeros((cells, int(heads.sum())), np.uint8)
        self._idle[:, self._begins] = 1
        self._weights, self._max_steps = np.array(reward_weights, np.float64), max_steps
        self._ages = [0] * num_envs
        """Steps of each game."""
        self._sums = np.zeros((self.num_agents, len(REWARDS)))
        self._returns = np.zeros(self.num_agents)
        self._log = EpisodeLog()
        super().__init__(buf)

    def reset(self, seed: Any = None) -> tuple[Array, list[dict[str, Any]]]:
        """Begin every game anew. Nothing is drawn but by bots, whose draws cannot be seeded."""
        self._clear()
        self._sums[:], self._returns[:] = 0, 0
        for game in range(self.num_envs):
            self._begin(game)
        self._show()
        return self.observations, []

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, list[dict[str, Any]]]:
        """Step every game. Raises ActionError for a choice that there is not."""
        if (actions.view(np.uint32) >= self._choices).any():  # negative numbers are large ones there
            ActionCodec(self.single_action_space).decode(actions, self.first_env * self._rows_per_game)  # names the row
        self._engine.actions[:] = actions.reshape(self._engine.actions.shape)
        self._clear()
        raw, over = self._play()
        self._sums += raw
        self.rewards[:] = raw @ self._weights
        self._returns += self.rewards
        infos = []
        for game in range(self.num_envs):
            self._ages[game] += 1
            if over[game] or self._ages[game] >= self._max_steps:
                infos += self._end(game, bool(over[game]))
        self._show()
        return self.observations, self.rewards, self.terminals, self.truncations, infos

    def drain_log(self) -> dict[str, float]:
        """Over the row-episodes that ended: `win`, and the sums of all six unweighted rewards."""
        return self._log.drain()

    def render(self) -> Array:
        """uint8[height * 32, width * 32, 3] of the first game: green resources, blue units of row 0, red ones of its opponent."""
        return frame(self.observations[0])

    def close(self) -> None:
        """Let the games go. The JVM stays, since a process can have only one, and only once."""
        if self._engine is not None:
            self._engine.vec_client.close()
            self._engine = None

    def _clear(self) -> None:
        self.rewards.fill(0)
        self.terminals.fill(False)
        self.truncations.fill(False)
        self.masks.fill(True)

    def _rows(self, game: int) -> slice:
        return slice(game * self._rows_per_game, (game + 1) * self._rows_per_game)

    def _play(self) -> tuple[Array, list[bool]]:
        """The six rewards of every row, and which games are over."""
        client = self._engine.vec_client
        rewards, over = [], []
        if self._is_self_play:
            for game in client.selfPlayClients:
                game.gameStep()
                answers = [game.getResponse(side) for side in (0, 1)]
                rewards += [answer.reward[:] for answer in answers]
                over.append(bool(answers[0].done[0]))
        else:
            for game in client.clients:
                answer = game.gameStep(0)
                rewards.append(answer.reward[:])
                over.append(bool(answer.done[0]))
        return np.array(rewards, np.float64), over

    def _begin(self, game: int) -> None:
        client = self._engine.vec_client
        if self._is_self_play:
            client.selfPlayClients[game].reset()
        else:
            client.clients[game].reset(0)
        self._ages[game] = 0

    def _end(self, game: int, by_rules: bool) -> list[dict[str, Any]]:
        rows = self._rows(game)
        self.terminals[rows], self.truncations[rows] = by_rules, not by_rules
        self.final_observations[rows] = self._engine.obs[rows]
        said: dict[str, Any] = {}
        for row in range(rows.start, rows.stop):
            said = {"win": float(self._sums[row, 0] > 0), **dict(zip(REWARDS, self._sums[row].tolist(), strict=True))}
            self._log.add_info(said)
            self._log.add_episode(float(self._returns[row]), self._ages[game])
        self._sums[rows], self._returns[rows] = 0, 0
        self._begin(game)
        return [] if self._is_self_play else [{**said, "env_index": self.first_env + game}]

    def _show(self) -> None:
        """Observations, and masks in which every part of every cell has a choice."""
        self.observations[:] = self._engine.obs
        if self.action_masks is None:
            return
        allowed = self._engine.get_action_mask()
        masks = self.action_masks.reshape(allowed.shape)
        masks[:] = self._idle
        cells = allowed.reshape(-1, allowed.shape[2])
        kinds = cells[:, : self._kinds]
        if self._kinds % 2 == 0:
            kinds = kinds.view(np.int64)  # two at once
        owned = np.flatnonzero(functools.reduce(np.bitwise_or, kinds.T))  # a third of the time of any(axis=1)
        own = cells[owned] != 0
        own[:, self._begins] |= ~np.logical_or.reduceat(own, self._begins, axis=1)
        masks.reshape(-1, own.shape[1])[owned] = own


def engine(num_envs: int, map_name: str, opponents: Sequence[str], partial_obs: bool) -> Any:
    """The package's batch of games over shared memory. Raises ConfigError for a map or a bot that there is not, EnvError without
    the package, without Java, or where the JVM was forked.
    """
    try:
        import gym_microrts
        from gym_microrts import microrts_ai
        from gym_microrts.envs.vec_env import MicroRTSGridModeSharedMemVecEnv
    except ImportError as error:
        raise EnvError(f"gym-microrts cannot be imported ({error}):\n{INSTALL}") from error
    import jpype

    folder = Path(gym_microrts.__path__[0], "microrts", "maps")
    if not (folder / f"{map_name}.xml").is_file():
        known = sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.xml"))
        near = difflib.get_close_matches(map_name, known, n=5) or known[:5]
        raise ConfigError(f"map_name={map_name!r} is none of the {len(known)} maps of the package, such as {', '.join(near)}")
    bots = {name: bot for name, bot in vars(microrts_ai).items() if callable(bot) and not name.startswith("_")}
    for name in opponents:
        if name not in bots and list(opponents) != [SELF]:
            raise ConfigError(f"opponent={name!r} must be {SELF!r} alone, or among {', '.join(sorted(bots))}")
    if jpype.isJVMStarted() and _jvm_process() != os.getpid():
        raise EnvError(
            "this process was forked from one with a running JVM, whose threads did not come along: make the vec env with "
            "backend_options={'start_method': 'spawn'}, or before any other MicroRTS in the parent"
        )
    _jvm_process()
    dealt = (
        [] if list(opponents) == [SELF] else [bots[opponents[(first_env.get() + k) % len(opponents)]] for k in range(num_envs)]
    )
    try:
        return MicroRTSGridModeSharedMemVecEnv(
            num_selfplay_envs=0 if dealt else 2 * num_envs,
            num_bot_envs=len(dealt),
            partial_obs=partial_obs,
            max_steps=NO_LIMIT,
            ai2s=dealt,
            map_paths=[f"maps/{map_name}.xml"],
        )
    except jpype.JVMNotFoundException as error:
        raise EnvError(f"Java cannot be found ({error}):\n{INSTALL}") from error


@functools.cache
def _jvm_process() -> int:
    """The process that started the JVM; children inherit the answer."""
    return os.getpid()
