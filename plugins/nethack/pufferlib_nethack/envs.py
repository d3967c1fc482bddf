"""One game of NLE or MiniHack, kept to Gymnasium's contract: what NLE says of seeds, of ends and of the last observation."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from pufferlib.errors import ConfigError

DEFAULT_KEYS = ("glyphs", "blstats", "message", "inv_glyphs")
"""What the plugin's policies read."""
RENDER_KEYS = {"human": ("tty_chars", "tty_colors", "tty_cursor"), "ansi": ("chars",)}
RENDER_MODES = ("human", "ansi", "rgb_array")  # NLE's "full" fails with numpy 2
MAX_SEED = 2**63 - 1
Observation = dict[str, np.ndarray[Any, Any]]


class NetHackEnv(gymnasium.Env[Observation, int]):
    """An env that `factory(**kwargs)` makes, an NLE.

    observation_keys: what to observe; the game gathers nothing else. MiniHack has further ones, such as `glyphs_crop`
    render_mode: human (printed), ansi (text) or rgb_array (tiles)
    kwargs: the env's own, such as `character`, `max_episode_steps` and `actions`

    - An episode that NLE aborts, at `max_episode_steps` or for want of progress, is truncated, all others are terminated.
    - The last observation is what the agent saw, also where NLE then quits the game, which blanks the screen.
    - `reset(seed=...)` seeds the game, this one and those that follow. NetHackChallenge refuses seeds, so it stays random.
    - A game still running at reset is quit first: NetHack would leak about 2 kB.
    - Infos come with the end of an episode: `end_status`, `success` (the task's), `is_ascended`.
    """

    def __init__(
        self,
        factory: Callable[..., Any],
        *,
        observation_keys: Sequence[str] = DEFAULT_KEYS,
        render_mode: str | None = None,
        **kwargs: Any,
    ) -> None:
        self._keys = _checked_keys(observation_keys)
        if render_mode not in (None, *RENDER_MODES):
            raise ConfigError(f"render_mode must be one of {', '.join(RENDER_MODES)}, got {render_mode!r}")
        extra = tuple(key for key in RENDER_KEYS.get(render_mode or "", ()) if key not in self._keys)
        mode = {None: "ansi", "rgb_array": "pixel"}.get(render_mode, render_mode)
        self.env = factory(observation_keys=self._keys + extra, render_mode=mode, fix_moon_phase=True, **kwargs)
        self.render_mode = render_mode
        self.metadata = {"render_modes": list(RENDER_MODES), "render_fps": self.env.metadata["render_fps"]}
        self.observation_space: Any = spaces.Dict({key: self.env.observation_space[key] for key in self._keys})
        self.action_space = self.env.action_space
        self._is_playing = False
        self._last: Observation | None = None
        """The agent's last observation, in an episode that NLE ends by quitting the game."""
        self._quit_game, self.env._quit_game = self.env._quit_game, self._keep_and_quit
        self._seeds: np.random.Generator | None = None
        self._takes_seeds = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Begin a game. Without a seed it follows from the last one given, if there was any."""
        super().reset(seed=seed)
        if seed is not None:
            self._seeds = np.random.default_rng(seed)
        if self._is_playing:
            self._quit_game(self.env.last_observation, False)
        self._seed_game()
        self._is_playing = True
        return self._chosen(self.env.reset(options=options)[0]), {}

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """One action, and what the game does on its own after that."""
        observation, reward, done, _, info = self.env.step(action)
        if not done:
            return self._chosen(observation), reward, False, False, {}
        status, last = info["end_status"], self._last
        self._is_playing, self._last = False, None
        aborted = status.name == "ABORTED"
        ended = {
            "end_status": status.name,
            "success": status.name == "TASK_SUCCESSFUL" or bool(info["is_ascended"]),
            "is_ascended": bool(info["is_ascended"]),
        }
        return self._chosen(observation) if last is None else last, reward, not aborted, aborted, ended

    def render(self) -> Any:
        """Nothing, text or uint8 [336, 1264, 3], by render_mode."""
        if self.render_mode is None:
            return None
        frame = self.env.render()
        return frame.copy() if isinstance(frame, np.ndarray) else frame

    def close(self) -> None:
        self.env.close()

    def _chosen(self, observation: Observation) -> Observation:
        return {key: observation[key] for key in self._keys}

    def _keep_and_quit(self, observation: Any, done: bool) -> None:
        """Instead of NLE's `_quit_game`, which it calls at the end of an episode whose game goes on."""
        self._last = {key: value.copy() for key, value in self._chosen(self.env._get_observation(observation)).items()}
        self._quit_game(observation, done)

    def _seed_game(self) -> None:
        if self._seeds is None or not self._takes_seeds:
            return
        core, display, choices = (int(number) for number in self._seeds.integers(MAX_SEED, size=3))
        try:
            self.env.seed(core, display, reseed=False)
        except RuntimeError:  # NetHackChallenge
            self._takes_seeds = False
        for name in ("minihack.base", "minihack.envs.boxohack"):  # they choose levels with Python's global generator
            if name in sys.modules:
                vars(sys.modules[name])["random"] = random.Random(choices)


def _checked_keys(given: Any) -> tuple[str, ...]:
    from nle.env.base import NLE_SPACE_ITEMS

    known = [key for key, _ in NLE_SPACE_ITEMS]
    if "minihack.base" in sys.modules:
        known += [*sys.modules["minihack.base"].MINIHACK_SPACE_FUNCS, "pixel"]
    if isinstance(given, str) or not given or (wrong := [key for key in given if key not in known]):
        what = repr(given) if isinstance(given, str) or not given else repr(wrong[0])
        raise ConfigError(f"observation_keys must be a list of {', '.join(known)}; got {what}")
    return tuple(dict.fromkeys(given))
