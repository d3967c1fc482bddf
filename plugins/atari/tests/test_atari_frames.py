"""Against Gymnasium's AtariPreprocessing, frame by frame, with the same seeds and actions."""

import ale_py
import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

import pufferlib

pytest.importorskip("cv2", reason="AtariPreprocessing needs it: pip install opencv-python-headless")
gymnasium.register_envs(ale_py)

GAMES = [
    ("pong", "Pong", {}),
    ("breakout", "Breakout", {"sticky_actions": 0.25}),
    ("breakout", "Breakout", {"episodic_life": True, "frame_skip": 3}),
    ("qbert", "Qbert", {"episodic_life": True, "noop_max": 5}),
    ("space-invaders", "SpaceInvaders", {"full_action_space": True, "screen_size": 64, "noop_max": 1}),
    ("seaquest", "Seaquest", {"grayscale": False, "noop_max": 1}),
]


def reference(game, sticky_actions=0.0, full_action_space=False, frame_skip=4, episodic_life=False, grayscale=True, **rest):
    emulator = gymnasium.make(
        f"{game}NoFrameskip-v4", repeat_action_probability=sticky_actions, full_action_space=full_action_space
    )
    return AtariPreprocessing(
        emulator, frame_skip=frame_skip, terminal_on_life_loss=episodic_life, grayscale_obs=grayscale, **rest
    )


def newest(stack, grayscale=True):
    return stack[-1] if grayscale else stack[-3:].transpose(1, 2, 0)


@pytest.mark.parametrize(("name", "game", "settings"), GAMES, ids=lambda x: x if isinstance(x, str) else "-".join(x))
def test_same_seed_and_actions_give_gymnasiums_frames_rewards_and_ends(name, game, settings):
    color = {"grayscale": settings.get("grayscale", True)}
    env, other = pufferlib.make(f"atari-{name}", clip_rewards=False, **settings), reference(game, **settings)
    observations, _ = env.reset(seed=[77])
    wanted, _ = other.reset(seed=77)
    np.testing.assert_array_equal(newest(observations[0], **color), wanted)
    rng, ends = np.random.default_rng(0), 0
    for _ in range(350):
        action = rng.integers(env.single_action_space.n)
        observations, rewards, terminals, truncations, _ = env.step([action])
        wanted, reward, terminal, truncation, info = other.step(action)
        assert (rewards[0], terminals[0], truncations[0]) == (reward, terminal, truncation)
        if terminal or truncation:  # AtariPreprocessing then shows screens of the step before
            ends += 1
            if not info["lives"]:
                wanted, _ = other.reset()
                np.testing.assert_array_equal(newest(observations[0], **color), wanted)
        else:
            np.testing.assert_array_equal(newest(observations[0], **color), wanted)
    assert ends or name not in ("breakout", "qbert")
    env.close()


def test_stacks_are_those_of_frame_stack_observation():
    env, other = pufferlib.make("atari-pong", frame_stack=3), FrameStackObservation(reference("Pong"), 3)
    np.testing.assert_array_equal(env.reset(seed=[5])[0][0], other.reset(seed=5)[0])
    for step in range(40):
        np.testing.assert_array_equal(env.step([step % 6])[0][0], other.step(step % 6)[0])
    env.close()
