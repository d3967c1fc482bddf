"""Pokemon Red (Game Freak, 1996) in the emulator PyBoy, from the ROM of your own cartridge.

What is read of the game's memory stands where the community's disassembly of it (pret/pokered, `ram/wram.asm`) says.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from pufferlib.errors import ConfigError
from pufferlib_gym_extra.needed import needed_for

PARTY_COUNT = 0xD163
FIRST_HP, FIRST_LEVEL, FIRST_MAX_HP = 0xD16C, 0xD18C, 0xD18D
POKEMON_BYTES = 44
BADGES = 0xD356
MAP, Y, X = 0xD35E, 0xD361, 0xD362
EVENT_FLAGS = (0xD747, 0xD887)
"""The first byte, and the one behind the last."""
PARTY = 6
BUTTONS = ("down", "left", "right", "up", "a", "b", "start")
HELD_FRAMES = 8
"""A press shorter than a step's start of walking is missed."""


class PokemonRed(gymnasium.Env[Any, Any]):
    """One game, begun anew from `state` in each episode.

    | part | space | what |
    |---|---|---|
    | screen | uint8 [72, 80, 1] | every second pixel, grey |
    | position | uint8 [3] | map, x, y |
    | levels | uint8 [6] | of the party, 0 where there is none |
    | health | float32 [6] | hit points over their maximum |
    | badges | MultiBinary(8) | |

    Actions press one of down, left, right, up, a, b, start for 8 of `frames` frames. The reward of a step is the growth of

        badge_reward * badges + event_reward * event flags + level_reward * sum of levels + explore_reward * places seen

    where a place is a (map, x, y), and each of the four counts at its highest so far in the episode. infos hold these four at the
    end of an episode, which is truncated after `max_steps`; the game has no other end.

    rom: the path of the game's ROM; state: of a state that PyBoy saved, else the game starts from its title
    Raises ConfigError if a file is missing, or a count below 1; EnvError with what to install.
    """

    metadata = {"render_modes": ["rgb_array"]}

    def __init__(
        self,
        rom: str = "pokemon_red.gb",
        state: str = "",
        frames: int = 24,
        max_steps: int = 16_384,
        badge_reward: float = 5.0,
        event_reward: float = 1.0,
        level_reward: float = 0.5,
        explore_reward: float = 0.01,
        render_mode: str | None = None,
    ) -> None:
        for name, path in (("rom", rom), ("state", state)):
            if (path or name == "rom") and not Path(path).is_file():
                raise ConfigError(f"{name}={path!r}: no such file; give yours, --env.{name} PATH")
        for name, value, least in (("frames", frames, HELD_FRAMES), ("max_steps", max_steps, 1)):
            if value < least:
                raise ConfigError(f"{name} must be at least {least}, got {value!r}")
        with needed_for("pokemon-red"):
            from pyboy import PyBoy
        self.render_mode = render_mode
        self._frames, self._max_steps = frames, max_steps
        self._weights = np.array([badge_reward, event_reward, level_reward, explore_reward])
        self._game = PyBoy(rom, window="null", sound_emulated=False)
        self._game.set_emulation_speed(0)
        self._start = Path(state).read_bytes() if state else self._saved()
        self.observation_space = spaces.Dict(
            {
                "screen": spaces.Box(0, 255, (72, 80, 1), np.uint8),
                "position": spaces.Box(0, 255, (3,), np.uint8),
                "levels": spaces.Box(0, 255, (PARTY,), np.uint8),
                "health": spaces.Box(0, 1, (PARTY,), np.float32),
                "badges": spaces.MultiBinary(8),
            }
        )
        self.action_space = spaces.Discrete(len(BUTTONS))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        super().reset(seed=seed)
        self._game.load_state(io.BytesIO(self._start))
        self._game.tick(1, True)
        self._steps = 0
        self._places: set[tuple[int, int, int]] = set()
        self._best = self._progress()
        return self._observation(), {}

    def step(self, action: int) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        button = BUTTONS[int(action)]
        self._game.button_press(button)
        self._game.tick(HELD_FRAMES, False)
        self._game.button_release(button)
        self._game.tick(self._frames - HELD_FRAMES, True)
        self._steps += 1
        before, self._best = self._best, np.maximum(self._best, self._progress())
        reward = float(self._weights @ (self._best - before))
        is_cut = self._steps >= self._max_steps
        badges, events, levels, places = map(int, self._best)
        info = {"badges": badges, "events": events, "levels": levels, "places": places} if is_cut else {}
        return self._observation(), reward, False, is_cut, info

    def render(self) -> np.ndarray[Any, Any]:
        """The screen, uint8 [144, 160, 3]."""
        return np.asarray(self._game.screen.ndarray)[:, :, :3].copy()

    def close(self) -> None:
        self._game.stop(save=False)

    def _observation(self) -> dict[str, Any]:
        memory = self._game.memory
        slots = range(PARTY)
        health = [self._two_bytes(FIRST_HP, slot) / max(self._two_bytes(FIRST_MAX_HP, slot), 1) for slot in slots]
        return {
            "screen": self.render()[::2, ::2, :1],  # the Game Boy's greys: its three channels are equal
            "position": np.array([memory[MAP], memory[X], memory[Y]], np.uint8),
            "levels": np.array([self._level(slot) for slot in slots], np.uint8),
            "health": np.clip(np.array(health, np.float32), 0, 1),
            "badges": np.array([memory[BADGES] >> bit & 1 for bit in range(8)], np.int8),
        }

    def _progress(self) -> np.ndarray[Any, Any]:
        """Badges, event flags, the sum of levels, places seen."""
        memory = self._game.memory
        self._places.add((memory[MAP], memory[X], memory[Y]))
        events = sum(int(byte).bit_count() for byte in memory[EVENT_FLAGS[0] : EVENT_FLAGS[1]])
        levels = sum(self._level(slot) for slot in range(PARTY))
        return np.array([int(memory[BADGES]).bit_count(), events, levels, len(self._places)], float)

    def _level(self, slot: int) -> int:
        memory = self._game.memory
        return int(memory[FIRST_LEVEL + slot * POKEMON_BYTES]) if slot < memory[PARTY_COUNT] else 0

    def _two_bytes(self, first: int, slot: int) -> int:
        """The high byte comes first."""
        memory, place = self._game.memory, first + slot * POKEMON_BYTES
        return int(memory[place]) * 256 + int(memory[place + 1]) if slot < memory[PARTY_COUNT] else 0

    def _saved(self) -> bytes:
        buffer = io.BytesIO()
        self._game.save_state(buffer)
        return buffer.getvalue()
