"""GPUDrive (Kazemkhani et al. 2024, "GPUDrive: Data-driven, multi-agent driving simulation at 1 million FPS") as one batch.

Written against the documentation of `GPUDriveTorchEnv` and not yet run with it: only what that documents is used. Its worlds are
all reset together, so all of them play their whole scene; a car that is done earlier is masked until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Array, Buffers
from pufferlib.emulation.actions import ActionCodec
from pufferlib.emulation.episodes import EpisodeLog
from pufferlib.env import PufferEnv
from pufferlib.errors import ConfigError, EnvError

INSTALL = (
    "GPUDrive is built from source, with CUDA and CMake 3.22 or newer:\n"
    "git clone --recursive https://github.com/Emerge-Lab/gpudrive && cd gpudrive\n"
    "mkdir build && cd build && cmake .. -DCMAKE_BUILD_TYPE=Release && make -j && cd .. && pip install -e .\n"
    "(PyPI's gpudrive 0.1.0 lacks the simulator.) `ocean-drive` is a game of the same kind that needs none of this"
)
OUTCOMES = {"goal_achieved": "goal", "collided": "collision", "off_road": "off_road"}
"""Fields of `get_infos()` and their names in the log."""


class GPUDrive(PufferEnv):
    """`num_envs` worlds of `max_cars` rows each; a scene with fewer cars to control leaves the rest masked.

    data: a folder of scenes in GPUDrive's format; dataset_size: how many of them are used
    episode_length: steps of a scene. A car that has not come to its goal by then is truncated
    swap_every: after so many scenes all worlds get new ones; 0 never changes them
    device: where the simulator runs; seed: of the choice of scenes
    config: settings of GPUDrive's EnvConfig, such as `{"dynamics_model": "classic"}`
    """

    def __init__(
        self,
        *,
        num_envs: int = 1,
        buf: Buffers | None = None,
        data: str | Path = "data/processed/examples",
        dataset_size: int | None = None,
        max_cars: int = 32,
        episode_length: int = 91,
        swap_every: int = 0,
        device: str = "cuda",
        seed: int = 42,
        config: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
    ) -> None:
        for name, number, least in (
            ("max_cars", max_cars, 1),
            ("episode_length", episode_length, 1),
            ("swap_every", swap_every, 0),
        ):
            if not isinstance(number, int) or number < least:
                raise ConfigError(f"{name} must be a whole number of at least {least}, got {number!r}")
        if render_mode is not None:
            raise ConfigError(f"render_mode={render_mode!r}: GPUDrive draws with its own visualizer, `env.vis`")
        settings = {"episode_len": episode_length, **(config or {})}
        self._sim = simulator(num_envs, Path(data), dataset_size or num_envs, max_cars, device, seed, settings)
        self.num_envs, self.num_agents = num_envs, num_envs * max_cars
        self._max_cars, self._length, self._swap_every = max_cars, episode_length, swap_every
        first = self._sim.reset()
        self.single_observation_space = spaces.Box(-np.inf, np.inf, (int(first.shape[-1]),), np.float32)
        self.single_action_space = self._sim.action_space
        self._codec = ActionCodec(self.single_action_space)
        self._scenes, self._time = 0, 0
        self._living = np.zeros(self.num_agents, np.bool_)
        self._returns = np.zeros(self.num_agents)
        self._outcomes = np.zeros((len(OUTCOMES), self.num_agents), np.bool_)
        self._log = EpisodeLog()
        super().__init__(buf)

    def reset(self, seed: Any = None) -> tuple[Array, list[dict[str, Any]]]:
        """Begin all scenes anew. Nothing is drawn: `GPUDrive(seed=...)` chose the scenes."""
        self.rewards[:] = 0
        self.terminals[:] = self.truncations[:] = False
        self._begin()
        self.masks[:] = self._living
        return self.observations, []

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, list[dict[str, Any]]]:
        """Step all worlds. Raises ActionError for an action that there is not."""
        choices = np.asarray(self._codec.decode(actions))
        self._sim.step_dynamics(self._to_simulator(choices))
        self._time += 1
        playing, last = self._living.copy(), self._time >= self._length
        self.masks[:] = playing
        self._read(self._sim.get_obs(), playing)
        self.rewards[:] = 0
        self.rewards[self._cars] = self._rows(self._sim.get_rewards())
        self.rewards[~playing] = 0
        self._returns += self.rewards
        infos = self._sim.get_infos()
        for outcome, name in zip(self._outcomes, OUTCOMES, strict=True):
            outcome[self._cars] |= self._rows(getattr(infos, name)) > 0
        done = np.zeros(self.num_agents, np.bool_)
        done[self._cars] = self._rows(self._sim.get_dones()) > 0
        if last:  # everybody is done then; only who came to its goal is so by the rules
            done &= self._outcomes[0]
        self.terminals[:] = playing & done
        self.truncations[:] = playing & ~done & last
        self._end(self.terminals | self.truncations)
        if last or not self._living.any():
            self._scenes += 1
            if self._swap_every and self._scenes % self._swap_every == 0:
                self._sim.swap_data_batch()
            self._begin()
        return self.observations, self.rewards, self.terminals, self.truncations, []

    def drain_log(self) -> dict[str, float]:
        """Over the cars whose episode ended: `goal`, `collision` and `off_road`, the shares to which that happened."""
        return self._log.drain()

    def close(self) -> None:
        sim, self._sim = self._sim, None
        if sim is not None:
            sim.close()

    def _begin(self) -> None:
        observations = self._sim.reset()
        controlled = self._sim.cont_agent_mask.cpu().numpy().astype(np.bool_)
        worlds, places = np.nonzero(controlled)
        rank = np.cumsum(controlled, axis=1)[worlds, places] - 1
        kept = rank < self._max_cars
        self._where = worlds[kept], places[kept]
        """World and place of each car in the simulator's tensors, which have `_shape`."""
        self._cars = self._where[0] * self._max_cars + rank[kept]
        """The row of each."""
        self._shape = controlled.shape
        self._time = 0
        self._living[:], self._returns[:], self._outcomes[:] = False, 0, False
        self._living[self._cars] = True
        self._read(observations, self._living)

    def _read(self, observations: Any, playing: Array) -> None:
        self.observations[:] = 0
        self.observations[self._cars] = self._rows(observations)
        self.observations[~playing] = 0

    def _rows(self, tensor: Any) -> Array:
        """The cars' part of a tensor [worlds, places, ...]."""
        found: Array = tensor.detach().cpu().numpy()[self._where]
        return found

    def _to_simulator(self, choices: Array) -> Any:
        import torch

        placed = np.zeros((*self._shape, *choices.shape[1:]), choices.dtype)
        placed[self._where] = choices[self._cars]
        return torch.from_numpy(placed).to(self._sim.device)

    def _end(self, ended: Array) -> None:
        rows = np.flatnonzero(ended)
        self.final_observations[rows] = self.observations[rows]
        for row in rows:
            flags = self._outcomes[:, row]
            self._log.add_info({name: float(flag) for name, flag in zip(OUTCOMES.values(), flags, strict=True)})
            self._log.add_episode(float(self._returns[row]), self._time)
        self._living[rows] = False


def simulator(
    worlds: int, data: Path, dataset_size: int, max_cars: int, device: str, seed: int, settings: Mapping[str, Any]
) -> Any:
    """A GPUDriveTorchEnv. Raises EnvError with what to install, ConfigError for a folder that there is not."""
    try:
        from gpudrive.env.config import EnvConfig
        from gpudrive.env.dataset import SceneDataLoader
        from gpudrive.env.env_torch import GPUDriveTorchEnv
    except ImportError as error:
        raise EnvError(f"GPUDrive cannot be imported ({error}).\n{INSTALL}") from error
    if not data.is_dir():
        raise ConfigError(f"data={str(data)!r} must be a folder of scenes; GPUDrive's examples are in data/processed/examples")
    scenes = SceneDataLoader(
        root=str(data),
        batch_size=worlds,
        dataset_size=dataset_size,
        sample_with_replacement=dataset_size < worlds,
        seed=seed,
        shuffle=True,
    )
    return GPUDriveTorchEnv(config=EnvConfig(**settings), data_loader=scenes, max_cont_agents=max_cars, device=device)
