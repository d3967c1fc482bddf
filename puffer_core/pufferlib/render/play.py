"""Watch a policy play one world in a window, or play it yourself.

A game key takes the agent over from the policy, Enter gives it back. Tab goes to the next agent. The other keys are the same in
every game and stand below the picture, with who plays and what was reached; where a game uses one of them itself, the game wins.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from pufferlib.buffers import Array
from pufferlib.env import PufferEnv
from pufferlib.errors import RenderError
from pufferlib.native.env import NativeEnv
from pufferlib.render.cursor import Cursor
from pufferlib.render.keys import KeyMap
from pufferlib.render.window import Input, Window

SLOWEST, FASTEST = 0.5, 960.0
"""Steps per second that + and - stay within."""
PICTURE_S = 1 / 60
LINE_CHARS = 72
"""Of the help: 640 pixels of readable letters."""
MANY_COMMANDS = 1000
"""Beyond these the rasteriser draws the picture: a window takes about 5 us a command, being driven from Python."""
ALIASES = {"plus": "+", "keypad_plus": "+", "minus": "-", "keypad_minus": "-", "escape": "Esc", "tab": "Tab", "enter": "Enter"}
ARROWS, WASD = {"left", "right", "up", "down"}, {"w", "a", "s", "d"}


class Actor(Protocol):
    """Chooses actions for the rows of one env; see `pufferlib.eval`."""

    def act(self, observations: Array, action_masks: Array | None = None) -> Array:
        """An action per row, as the env takes it."""

    def forget(self, ended: Array) -> None:
        """Clear what is remembered of rows whose episode ended. ended: bool[rows]"""


class WindowPlayer:
    """One world in a window.

    env: a PufferEnv of one env with `draw_commands()`, or with a `render()` that gives frames
    actor: who plays while the user does not; None: the agents idle
    steps_per_second: at first; + and - double and halve it
    status: called with the agent shown, gives a line of what was reached so far
    on_step: called after each step with (rewards, terminals, truncations), and `on_reset` when the user resets
    keys, idle_action: None: the env's own attributes of these names; see `KeyMap`
    window: an open window to use; None: one is opened
    Raises RenderError if the env draws nothing or no window can be opened.
    """

    def __init__(
        self,
        env: PufferEnv,
        actor: Actor | None = None,
        *,
        title: str = "pufferlib",
        steps_per_second: float = 15.0,
        seed: Any = None,
        on_step: Callable[[Array, Array, Array], None] | None = None,
        on_reset: Callable[[], None] | None = None,
        status: Callable[[int], str] = lambda agent: "",
        keys: Mapping[str, Any] | None = None,
        idle_action: Any = None,
        window: Window | None = None,
    ) -> None:
        self.env, self.actor = env, actor
        self.rate = min(max(steps_per_second, SLOWEST), FASTEST)
        self.on_step, self.on_reset, self.status = on_step, on_reset, status
        keys = getattr(env, "keys", {}) if keys is None else keys
        idle = getattr(env, "idle_action", 0) if idle_action is None else idle_action
        self.cursor = Cursor(env) if isinstance(env, NativeEnv) and env.cursor_spots() else None
        self.keys = KeyMap(keys, idle, env.single_action_space) if keys or self.cursor else None
        self._chosen: int | None = None
        """The action chosen with the cursor, until the next step."""
        self.agent, self.paused = 0, False
        self.waits = bool(getattr(env, "waits_for_keys", False))
        """Whether it is a game of turns: then a key counts once, and the user's turn lasts until one is pressed."""
        self.is_manual = self.keys is not None and actor is None
        self._down: list[str] = []
        self._latched: list[str] = []
        """Game keys that went down since the last step, and those that still are, oldest first."""
        self.observations: Array = env.reset(seed)[0]
        picture = self._picture()
        height, width = picture.shape[:2] if isinstance(picture, np.ndarray) else (picture.height, picture.width)
        self.window = window or Window(width, height, title)

    def run(self, is_done: Callable[[], bool] = lambda: False) -> None:
        """Play until the user closes the window or `is_done` says so."""
        due = time.monotonic()
        while not is_done():
            self.window.show(self._picture(), self.help_line())
            if self.handle(self.window.poll()):
                return
            now = time.monotonic()
            due = now if self.paused else max(due, now - 4 * PICTURE_S)  # a slow machine plays slower, not in bursts
            while due <= now and not self.paused and not is_done() and not self.is_waiting():
                self.step()
                due += 1 / self.rate

    def handle(self, given: Input) -> bool:
        """Obey the keys. True: the user wants to leave."""
        game = self._game_keys()
        if given.closed:
            return True
        if any(name in game for name in given.pressed):
            self.is_manual = True
        for name in given.pressed if self.cursor else ():
            if self.cursor and name in self.cursor.names and self.is_waiting():
                self._chosen = self.cursor.press(name, self.agent)
        self._down = given.down
        for name in given.pressed if self.waits else (*given.pressed, *given.down):
            if self.keys and name in self.keys.names and name not in self._latched:
                self._latched.append(name)
        for name in (ALIASES.get(name, name) for name in given.pressed if name not in game):
            if name == "r":
                self.reset()
            elif name == "Tab":
                self.agent = (self.agent + 1) % self.env.num_agents
            elif name == "Enter" and self.keys and self.actor:
                self.is_manual = not self.is_manual
            elif name == "p":
                self.paused = not self.paused
            elif name == "n":
                self.paused = True
                if not self.is_waiting():
                    self.step()
            elif name in "+-":
                self.rate = min(max(self.rate * (2 if name == "+" else 0.5), SLOWEST), FASTEST)
        return False

    def is_waiting(self) -> bool:
        """Whether it is the user's turn in a game of turns and no key was pressed. Where nobody else plays, every turn is."""
        if not self.waits or not self.is_manual or self._latched or self._chosen is not None:
            return False
        masks = self.env.action_masks
        to_move = [0] if masks is None else np.flatnonzero(masks[:, 1:].any(axis=1)).tolist()
        if self.actor is None and to_move:
            self.agent = to_move[0]
        return self.agent in to_move

    def reset(self) -> None:
        """Begin a new episode everywhere."""
        self.observations = self.env.reset()[0]
        everywhere = np.ones(self.env.num_agents, bool)
        if self.actor:
            self.actor.forget(everywhere)
        if self.on_reset:
            self.on_reset()

    def step(self) -> None:
        """One step: the policy acts for every agent but the one that the user plays."""
        if self.actor:
            actions = np.array(self.actor.act(self.observations, self.env.action_masks))
        else:
            idle = self.keys.idle if self.keys else np.zeros_like(self.env.actions[0])
            actions = np.repeat(idle[None], self.env.num_agents, axis=0)
        if self.keys and self.is_manual:
            actions[self.agent] = self._user_action(self.keys)
            self._chosen = None
        # A key that was tapped between two steps counts for one step; one that is held goes on counting.
        self._latched = [name for name in self._latched if name in self._down and not self.waits]
        self.observations, rewards, terminals, truncations, _ = self.env.step(actions)
        ended = terminals | truncations
        if self.actor and ended.any():
            self.actor.forget(ended)
        if self.on_step:
            self.on_step(rewards, terminals, truncations)

    def _user_action(self, keys: KeyMap) -> Any:
        if self._chosen is not None:
            return self._chosen
        wish = keys.action(self._latched)
        return self.env.steer(self.observations[self.agent], wish) if isinstance(self.env, NativeEnv) else wish

    def help_line(self) -> str:
        """Who plays and what was reached, in the first line; the keys, in those below."""
        game = self._game_keys()
        who = "you play" if self.is_manual else "the policy plays" if self.actor else "nobody plays"
        if self.env.num_agents > 1 and self.is_manual:
            who += f" agent {self.agent + 1} of {self.env.num_agents}"
        facts = [who, self.status(self.agent), f"{self.rate:g} steps/s", "paused" if self.paused else ""]
        keys = []
        if self.keys:
            keys.append(f"{describe_keys(game)}: play")
        if self.keys and self.actor and "enter" not in game:
            keys.append(f"Enter: {'policy' if self.is_manual else 'you'}")
        if self.env.num_agents > 1 and self.keys and "tab" not in game:
            keys.append("Tab: next agent")
        for key, text in (("p", "P: go on" if self.paused else "P: pause"), ("n", "N: one step"), ("r", "R: reset")):
            if key not in game:
                keys.append(text)
        return "\n".join(["  ".join(filter(None, facts)), *wrapped([*keys, "+/-: speed", "Esc: quit"])])

    def _game_keys(self) -> tuple[str, ...]:
        """Those that mean something to the game, the cursor's first."""
        return (*(self.cursor.names if self.cursor else ()), *(self.keys.names if self.keys else ()))

    def _picture(self) -> Any:
        picture = self._game_picture()
        return self.cursor.drawn_on(picture) if self.cursor and self.is_manual else picture

    def _game_picture(self) -> Any:
        if isinstance(self.env, NativeEnv):
            commands = self.env.draw_commands(0)
            if len(commands.commands) <= MANY_COMMANDS:
                return commands
        frame = self.env.render()
        if frame is None:
            raise RenderError(f"{type(self.env).__name__}.render() gives no frame; make the env with render_mode='rgb_array'")
        return np.asarray(frame, np.uint8)


def wrapped(parts: list[str]) -> list[str]:
    """The parts, two spaces apart, on lines of at most LINE_CHARS."""
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + 2 + len(part) > LINE_CHARS:
            lines.append("")
        lines[-1] += f"  {part}" if lines[-1] else part
    return lines


def describe_keys(names: tuple[str, ...]) -> str:
    """The keys in few words: `arrows, WASD, space`."""
    groups = [("arrows", ARROWS), ("left/right", {"left", "right"}), ("up/down", {"up", "down"})]
    letters = [("WASD", WASD), ("A/D", {"a", "d"}), ("W/S", {"w", "s"})]
    rest, words = list(names), []
    for choices in (groups, letters):
        for word, group in choices:
            if group <= set(rest):
                words.append(word)
                rest = [name for name in rest if name not in group]
                break
    digits = [name for name in rest if name.isdigit()]
    if len(digits) > 2:
        words.append(f"{digits[0]}-{digits[-1]}")
        rest = [name for name in rest if name not in digits]
    return ", ".join([*words, *(name.upper() if len(name) == 1 else name for name in rest)])
