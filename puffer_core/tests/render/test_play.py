"""The player's rules, with a scripted window in place of a real one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from pufferlib.env import PufferEnv
from pufferlib.errors import RenderError
from pufferlib.native.env import DrawCommands
from pufferlib.render.play import FASTEST, LINE_CHARS, WindowPlayer
from pufferlib.render.window import LINES, Input


class Counter(PufferEnv):
    """Two agents in one world; remembers its actions; the world ends every 5 steps."""

    keys = {"left": 1, "right": 2}
    idle_action = 0

    def __init__(self, frame=True):
        self.single_observation_space, self.single_action_space, self.num_agents = Box(0, 1, (1,)), Discrete(3), 2
        self.num_envs, self.frame, self.taken, self.resets = 1, frame, [], 0
        super().__init__()

    def reset(self, seed=None):
        self.resets += 1
        return self.observations, []

    def step(self, actions):
        self.taken.append(actions.tolist())
        self.terminals[:] = len(self.taken) % 5 == 0
        return self.observations, self.rewards, self.terminals, self.truncations, []

    def render(self):
        return np.zeros((20, 30, 3), np.uint8) if self.frame else None


class Always:
    """A policy that takes action 2 and counts how often it had to forget."""

    def __init__(self):
        self.forgotten = []

    def act(self, observations, action_masks=None):
        return np.full(2, 2, np.int32)

    def forget(self, ended):
        self.forgotten.append(ended.tolist())


class Script:
    """Plays inputs back, one per picture; then the window closes."""

    def __init__(self, *inputs):
        self.inputs, self.help = list(inputs), []

    def show(self, picture, help_line=""):
        self.help.append(help_line)

    def poll(self):
        return self.inputs.pop(0) if self.inputs else Input(closed=True)


def player(actor=None, **kwargs):
    return WindowPlayer(Counter(), actor, window=Script(), **kwargs)


def press(*names, down=()):
    return Input(down=list(down), pressed=list(names))


def test_without_a_policy_the_user_plays_and_the_others_idle():
    game = player()
    assert not game.handle(Input(down=["right"]))
    game.step()
    game.handle(Input())
    game.step()
    game.step()
    assert game.env.taken == [[2, 0], [2, 0], [0, 0]]  # what was held until just before a step counts in it


def test_a_tap_between_two_steps_counts_for_one_step():
    game = player()
    game.handle(press("left", down=["left"]))
    game.handle(Input())
    game.step()
    game.step()
    assert game.env.taken == [[1, 0], [0, 0]]


def test_a_key_held_down_goes_on_counting():
    game = player()
    game.handle(press("left", down=["left"]))
    for _ in range(3):
        game.handle(Input(down=["left"]))
        game.step()
    assert game.env.taken == [[1, 0]] * 3


def test_a_game_key_takes_over_from_the_policy_and_enter_gives_back():
    game = player(Always())
    game.step()
    game.handle(press("left"))
    game.step()
    game.handle(press("enter"))
    game.step()
    assert game.env.taken == [[2, 2], [1, 2], [2, 2]]
    assert "the policy plays" in game.help_line()


def test_tab_goes_to_the_next_agent():
    game = player()
    game.handle(press("tab"))
    game.handle(press("left", down=["left"]))
    game.step()
    game.handle(press("tab", down=["left"]))
    game.step()
    assert game.env.taken == [[0, 1], [1, 0]]
    assert "agent 1 of 2" in game.help_line()


def test_speed_doubles_halves_and_stays_in_bounds():
    game = player(steps_per_second=10)
    game.handle(press("plus"))
    assert game.rate == 20
    game.handle(press("keypad_minus"))
    game.handle(press("minus"))
    assert game.rate == 5
    for _ in range(20):
        game.handle(press("plus"))
    assert game.rate == FASTEST


def test_reset_clears_the_policys_memory():
    actor, resets = Always(), []
    game = player(actor, on_reset=lambda: resets.append(1))
    game.handle(press("r"))
    assert (game.env.resets, actor.forgotten, resets) == (2, [[True, True]], [1])


def test_the_policy_forgets_where_an_episode_ends():
    actor = Always()
    game = player(actor)
    for _ in range(6):
        game.step()
    assert actor.forgotten == [[True, True]]


def test_the_games_own_keys_win_over_the_players():
    env = Counter()
    env.keys = {"p": 1, "r": 2}
    game = WindowPlayer(env, window=Script())
    game.handle(press("p"))
    game.handle(press("r"))
    assert not game.paused
    assert env.resets == 1
    assert "P: pause" not in game.help_line()
    assert "R: reset" not in game.help_line()


def test_run_ends_when_the_window_closes_and_pause_stops_the_steps():
    game = player(Always(), steps_per_second=FASTEST)
    game.window = Script(press("p"), *[Input()] * 50)
    game.run()
    assert len(game.env.taken) == 0
    assert len(game.window.help) == 52
    assert "P: go on" in game.window.help[-1]


def test_n_pauses_and_takes_one_step():
    game = player(Always())
    for expected in (1, 2):
        game.handle(press("n"))
        assert game.paused and len(game.env.taken) == expected
    game.handle(press("p"))
    assert not game.paused


def test_n_does_not_move_for_the_user_in_a_game_of_turns():
    env = Turns()
    game = WindowPlayer(env, window=Script())
    game.handle(press("n"))
    assert env.taken == []
    game.handle(press("left", "n"))
    assert env.taken == [[1, 0]]


def test_the_help_tells_who_plays_what_was_reached_and_every_key():
    game = player(Always(), steps_per_second=10, status=lambda agent: f"return {agent}.5")
    first, *keys = game.help_line().split("\n")
    assert first == "the policy plays  return 0.5  10 steps/s"
    assert all(len(line) <= LINE_CHARS for line in keys) and len(keys) < LINES
    shown = [
        "left/right: play",
        "Enter: you",
        "Tab: next agent",
        "P: pause",
        "N: one step",
        "R: reset",
        "+/-: speed",
        "Esc: quit",
    ]
    for key in shown:
        assert sum(key in line for line in keys) == 1, key
    game.handle(press("tab", "left", "p"))
    assert game.help_line().split("\n")[0] == "you play agent 2 of 2  return 1.5  10 steps/s  paused"


def test_run_ends_when_it_is_done():
    game = player(Always(), steps_per_second=FASTEST)
    game.window = Script(*[Input()] * 10**6)
    game.run(lambda: len(game.env.taken) >= 3)
    assert len(game.env.taken) == 3


def test_a_game_with_very_many_commands_is_shown_as_a_frame(monkeypatch):
    breakout = pytest.importorskip("pufferlib_ocean.breakout", reason="the ocean package is not installed")
    shown = []
    window = Script()
    window.show = lambda picture, help_line: shown.append(picture)
    WindowPlayer(breakout.Breakout(seed=0), window=window).run()
    monkeypatch.setattr("pufferlib.render.play.MANY_COMMANDS", 10)
    WindowPlayer(breakout.Breakout(seed=0), window=window).run()
    assert isinstance(shown[0], DrawCommands)
    assert shown[1].shape == (shown[0].height, shown[0].width, 3)


def test_an_env_that_draws_nothing_is_refused():
    with pytest.raises(RenderError, match="render_mode='rgb_array'"):
        WindowPlayer(Counter(frame=False), window=Script())


class Turns(Counter):
    """Agent 0 moves in even steps, agent 1 in odd ones."""

    waits_for_keys = True
    action_mask_size = 3

    def reset(self, seed=None):
        self._show()
        return super().reset(seed)

    def step(self, actions):
        result = super().step(actions)
        self._show()
        return result

    def _show(self):
        self.action_masks[:] = [1, 0, 0]
        self.action_masks[len(self.taken) % 2] = 1


@pytest.fixture
def play_turns(monkeypatch):
    """play_turns(actor, *inputs) -> the actions taken, at one step a picture."""
    clock = itertools.count()
    monkeypatch.setattr("pufferlib.render.play.time.monotonic", lambda: next(clock) / 60)

    def play(actor, *inputs):
        env = Turns()
        WindowPlayer(env, actor, window=Script(*inputs), steps_per_second=60).run()
        return env.taken

    return play


NOTHING = [Input()] * 20


def test_a_game_of_turns_waits_for_the_users_key_and_takes_a_held_one_once(play_turns):
    taken = play_turns(Always(), press("left", down=["left"]), *[press(down=["left"])] * 20)
    assert taken[0] == [1, 2]
    assert len(taken) == 2, "the policy has replied, and then it is the user's turn again"
    assert len(play_turns(Always(), press("left"), *NOTHING, press("right"), *NOTHING)) == 4


def test_without_a_policy_every_turn_of_a_game_of_turns_is_the_users(play_turns):
    assert play_turns(None, *NOTHING) == []
    taken = play_turns(None, *NOTHING, press("left"), *NOTHING, press("right"), *NOTHING, press("left"), *NOTHING)
    assert taken == [[1, 0], [0, 2], [1, 0]]


def test_a_game_of_turns_between_policies_does_not_wait(play_turns):
    assert len(play_turns(Always(), *NOTHING)) > 2
