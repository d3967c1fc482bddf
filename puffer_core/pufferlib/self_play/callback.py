"""SelfPlay: the callback that lets a trainer's past policies play against it.

    env = SelfPlayVec(pufferlib.make("ocean-connect4", num_envs=1024, opponent="self"))
    trainer = PuffeRL(env, policy, callbacks=[SelfPlay(env)])

`puffer train ocean-connect4 --env.opponent self --self-play.enabled True` does the same.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from pufferlib.buffers import Array
from pufferlib.config.self_play_config import SelfPlayConfig
from pufferlib.errors import ConfigError
from pufferlib.policies.distributions import distribution_of
from pufferlib.policies.recurrent import map_state
from pufferlib.self_play.pool import Pool
from pufferlib.self_play.vec import Game, Player, SelfPlayVec
from pufferlib.train.callbacks import Callback

if TYPE_CHECKING:
    from pufferlib.train.puffe_rl import PuffeRL

FOLDER = "snapshots"
"""Of a run's directory, for the snapshots' files."""


class SelfPlay(Callback):
    """Takes snapshots, draws who plays, rates, and logs `self_play/...`. env: the trainer's own, or one inside of it."""

    def __init__(self, env: SelfPlayVec, config: SelfPlayConfig | None = None) -> None:
        if not isinstance(env, SelfPlayVec):
            raise ConfigError(f"SelfPlay needs the trainer's SelfPlayVec, got a {type(env).__name__}")
        self.env, self.config = env, config or SelfPlayConfig()
        self.pool = Pool(self.config)
        self._players: dict[int, Player] = {}
        self._games: list[Game] = []
        """Since the last row of metrics."""

    def on_start(self, trainer: PuffeRL) -> None:
        self._rng = np.random.default_rng([trainer.config.seed, trainer.global_step, 6])
        if self.run_dir is not None:
            self.pool.folder = self.run_dir / FOLDER
        if not self.pool.snapshots:
            self.pool.add(trainer)
        self._choose_players(trainer)

    def on_rollout(self, trainer: PuffeRL) -> None:
        for game in self.env.games:
            self.pool.record(game.step, game.score)
        self._games += self.env.games
        self.env.games.clear()

    def on_epoch(self, trainer: PuffeRL) -> None:
        if trainer.epoch % self.config.snapshot_interval == 0:
            self.pool.add(trainer)
        self._choose_players(trainer)

    def on_log(self, trainer: PuffeRL, row: dict[str, float]) -> None:
        if not self.pool.snapshots:
            return
        scores = np.array([game.score for game in self._games])
        row["self_play/elo"] = self.pool.rating
        row["self_play/pool_elo"] = float(np.mean([snapshot.rating for snapshot in self.pool.snapshots]))
        row["self_play/snapshots"] = float(len(self.pool.snapshots))
        row["self_play/games"] = float(len(scores))
        if len(scores):
            row["self_play/score"] = float(scores.mean())
            row["self_play/win_rate"] = float((scores == 1).mean())
            row["self_play/draw_rate"] = float((scores == 0.5).mean())
        self._games.clear()

    def state_dict(self) -> dict[str, Any]:
        return self.pool.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if self.run_dir is not None:
            self.pool.folder = self.run_dir / FOLDER
        self.pool.load_state_dict(state)

    def _choose_players(self, trainer: PuffeRL) -> None:
        active = self.pool.draw(self._rng)
        wanted = {*active, *self.env.playing()}
        self._players = {step: player for step, player in self._players.items() if step in wanted}
        for step in wanted - set(self._players):
            policy = copy.deepcopy(trainer.policy)
            policy.load_state_dict(self.pool.weights[step])
            self._players[step] = PolicyPlayer(policy, self.env, trainer.device, [trainer.config.seed, trainer.global_step, step])
        self.env.set_players(self._players, active)


class PolicyPlayer:
    """A policy that plays some rows of a VecEnv, sampling its actions. It remembers what a recurrent policy has seen of each."""

    def __init__(self, policy: nn.Module, env: SelfPlayVec, device: torch.device, seed: list[int]) -> None:
        self.policy, self.device = policy.to(device).eval(), device
        self.distribution = distribution_of(policy, env.single_action_space)
        self.generator = torch.Generator(device).manual_seed(int(np.random.SeedSequence(seed).generate_state(1)[0]))
        self.state: Any = None
        if hasattr(policy, "initial_state"):
            with torch.no_grad():
                self._initial = policy.initial_state(env.num_agents)  # type: ignore[operator]
            self.state = map_state(torch.clone, self._initial)

    @torch.no_grad()
    def act(self, rows: Array, observations: Array, action_masks: Array | None) -> Array:
        inputs = torch.from_numpy(observations).to(self.device)
        where = torch.from_numpy(rows).to(self.device)
        if self.state is None:
            parameters = self.policy(inputs)[0]
        else:
            parameters, _, state = self.policy(inputs, map_state(lambda part: part[where], self.state))
            self.state = map_state(lambda kept, new: kept.index_copy(0, where, new), self.state, state)
        masks = None if action_masks is None else torch.from_numpy(action_masks).to(self.device)
        actions, _ = self.distribution.sample(parameters, self.generator, masks)
        return self.distribution.to_env(actions).cpu().numpy()

    def forget(self, rows: Array) -> None:
        if self.state is not None:
            where = torch.from_numpy(rows).to(self.device)
            self.state = map_state(lambda kept, start: kept.index_copy(0, where, start[where]), self.state, self._initial)
