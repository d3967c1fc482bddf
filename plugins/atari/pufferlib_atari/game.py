"""One game: an emulator, and what lies between it and the agent."""

from __future__ import annotations

import importlib.util

import numpy as np

from pufferlib.errors import ConfigError, EnvNotFoundError
from pufferlib.plugins.hints import near
from pufferlib_atari._screen import AreaShrink, GreyScreens, Push
from pufferlib_atari.names import SEVERAL_PLAYERS, env_name, roms
from pufferlib_atari.settings import Settings

NOOP, FIRE = 0, 1


class Game:
    """Plays one ROM. `stack` holds the agent's observation: uint8[frame_stack * planes, height, width], the newest picture last.

    The emulator's seed and the draws of no-op starts follow from `seed` as in Gymnasium's ALE envs with AtariPreprocessing, so
    that the same seed gives the same frames there and here.
    """

    def __init__(self, rom: str, settings: Settings, like: Game | None = None) -> None:
        """like: a game of the same ROM and settings, whose screen and actions are known: this one need not load its ROM yet."""
        from ale_py import ALEInterface, LoggerMode

        self.settings = settings
        self.rom_path = rom_path(rom)
        ALEInterface.setLoggerMode(LoggerMode.Error)
        self.ale = ale = ALEInterface()
        ale.setFloat("repeat_action_probability", float(settings.sticky_actions))
        ale.setInt("max_num_frames_per_episode", settings.max_frames)
        self._rng = np.random.default_rng()
        self._is_loaded = False
        if like is None:
            self._load(int(self._rng.integers(2**31)))
        height, width = (like or self).ale.getScreenDims()
        try:
            shrinks = [AreaShrink((height, width), settings.size) for _ in range(1 if settings.grayscale else 3)]
        except ValueError as error:
            raise ConfigError(f"screen_size={settings.screen_size!r}: {error}") from None
        if like is None:
            allowed = ale.getLegalActionSet() if settings.full_action_space else ale.getMinimalActionSet()
            self.actions = [action.value for action in allowed]
        else:
            self.actions = like.actions
        self._presses_fire = settings.fire_reset and FIRE in self.actions
        planes = len(shrinks)
        self.stack = np.zeros((settings.frame_stack * planes, *settings.size), np.uint8)
        self._planes = planes
        self._earlier = self.stack[:-planes]
        self._grey = GreyScreens(height, width, 2) if settings.grayscale else None
        self._screens = (
            [[screen] for screen in self._grey.screens]
            if self._grey
            else [list(screen) for screen in np.zeros((2, planes, height, width), np.uint8)]
        )
        """The last two frames of a step, each a list of planes."""
        self._push = [Push(shrinks, screen, self._screens[1], self.stack) for screen in self._screens]
        """Adds the newest screen to the stack, with the brighter pixels of the one before or, [1], as it is."""
        self.lives = 0
        self.score = 0
        """Points since the game began."""

    def reset(self, seed: int | None = None) -> None:
        """Begin a new game; with a seed, with all random draws anew."""
        settings, ale = self.settings, self.ale
        if seed is not None:
            for_draws, for_emulator = spread(seed)
            self._rng = np.random.default_rng(for_draws)
            if settings.sticky_actions or not self._is_loaded:  # nothing else is drawn, and loading takes 0.1 seconds
                self._load(for_emulator)
        elif not self._is_loaded:
            self._load(int(self._rng.integers(2**31)))
        ale.reset_game()
        self.score = 0
        for _ in range(int(self._rng.integers(1, settings.noop_max + 1)) if settings.noop_max else 0):
            self.score += ale.act(NOOP)
            if ale.game_over():
                ale.reset_game()
                self.score = 0
        self.next_life()

    def step(self, action: int) -> tuple[float, bool, bool, bool]:
        """Hold an action, an index of `actions`, for frame_skip frames, or until the episode ends.

        Returns (the reward, terminal, truncation, whether the game itself is over).
        """
        settings, ale = self.settings, self.ale
        code, frames, points = self.actions[action], settings.frame_skip, 0
        pooled = terminal = over = False
        for left in range(frames - 1, -1, -1):
            points += ale.act(code)
            if ale.game_over():
                over = True
                break
            if settings.episodic_life:
                lives = ale.lives()
                terminal = 0 < lives < self.lives
                self.lives = lives
                if terminal:
                    break
            if left == 1 and settings.max_pool:
                self._look(0)
                pooled = True
        self._look(1)
        self._push[not pooled]()
        self.score += points
        truncation = over and ale.game_truncated() and not ale.game_over(with_truncation=False)
        terminal = terminal or (over and not truncation)
        reward = float((points > 0) - (points < 0)) if settings.clip_rewards else float(points)
        return reward, terminal, truncation, over

    def next_life(self) -> None:
        """Begin the next episode where the game stands."""
        ale, settings = self.ale, self.settings
        if self._presses_fire:
            self.score += ale.act(FIRE)
        self.lives = ale.lives()
        self._look(1)
        self._push[1]()
        self._earlier.reshape(-1, self._planes, *settings.size)[:] = self.stack[-self._planes :]

    def _load(self, seed: int) -> None:
        ale, settings = self.ale, self.settings
        ale.setInt("random_seed", seed)
        ale.loadROM(self.rom_path)
        self._is_loaded = True
        for name, value, known in (
            ("mode", settings.mode, ale.getAvailableModes),
            ("difficulty", settings.difficulty, ale.getAvailableDifficulties),
        ):
            if value is None:
                continue
            if value not in known():
                raise ConfigError(f"{name}={value} is none of this game's: {', '.join(map(str, known()))}")
            (ale.setMode if name == "mode" else ale.setDifficulty)(value)

    def _look(self, slot: int) -> None:
        if self._grey is not None:
            self.ale.getScreen(self._grey.raw)
            if not self._grey.take(slot):
                self.ale.getScreenGrayscale(self._screens[slot][0])
                self._grey.learn(slot)
        else:
            for plane, colors in zip(self._screens[slot], self.ale.getScreenRGB().transpose(2, 0, 1), strict=True):
                plane[:] = colors


def spread(seed: int) -> tuple[int, int]:
    """A seed for the no-op starts and one for the emulator (int32), which makes sticky actions; as Gymnasium's ALE envs do."""
    words = np.random.SeedSequence(seed).generate_state(2)
    return int(words[0]), int(words[1].astype(np.int32))


def rom_path(rom: str) -> str:
    """Raises EnvNotFoundError with near matches."""
    name = rom.replace("-", "_").lower()
    if name in SEVERAL_PLAYERS:
        raise EnvNotFoundError(
            f"ale-py cannot play {name}, which is for several players; the pettingzoo plugin can: "
            f"pettingzoo-{name.replace('_', '-')}"
        )
    known = roms()
    if name not in known:
        close = near(env_name(name), [env_name(other) for other in known])
        hint = f" Near matches: {', '.join(close)}." if close else ""
        raise EnvNotFoundError(f"ale-py ships no ROM {rom!r}.{hint} `puffer list atari` shows all.")
    found = importlib.util.find_spec("ale_py")
    assert found is not None and found.submodule_search_locations
    return f"{found.submodule_search_locations[0]}/roms/{name}.bin"
