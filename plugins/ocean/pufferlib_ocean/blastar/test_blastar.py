"""What blastar promises: its rules (checked in C, under sanitizers), equality with a slow twin, and its baseline scores."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib_ocean.blastar import Blastar
from pufferlib_ocean.testing import Random, assert_equals_twin, rule_test

X, SAUCER_X, SAUCER_Y, SAUCER_DIRECTION, SHOT_X, SHOT_Y, BEAM_X, BEAM_Y, LIVES, KILLS = range(10)


test_rule = rule_test(__file__)


# ---------------------------------------------------------------- a slow twin, written from the rules


class Twin:
    """One world. A saucer, shot or beam is a list [x, y] of float32, or None."""

    def __init__(self, a, seed):
        self.a, self.random = a, Random(seed)
        self.begin()

    def begin(self):
        self.x, self.shot, self.beam = np.float32(160), None, None
        self.lives, self.kills, self.t = self.a.lives, 0, 0
        self.come()

    def come(self):
        self.direction = (1, -1)[self.random.below(2)]
        self.saucer, self.turns = [np.float32(10 if self.direction > 0 else 310), np.float32(40)], 0
        self.speed = np.float32(1.5) + np.float32(0.05) * np.float32(self.kills)

    def tick(self, move, fire):
        self.x = np.clip(self.x + 3 * move, 8, 312)
        if fire and self.shot is None:
            self.shot = [self.x, np.float32(220)]
        if self.saucer:
            self.fly()
            near = abs(self.saucer[0] - self.x) < 40
            if self.beam is None and near and self.random.chance(0.03):
                self.beam = list(self.saucer)
        else:
            self.wait -= 1
            if self.wait == 0:
                self.come()
        if self.shot:
            self.shot[1] -= 6
            if self.saucer and abs(self.shot[0] - self.saucer[0]) <= 10 and abs(self.shot[1] - self.saucer[1]) <= 4:
                self.shot, self.saucer, self.wait = None, None, 20
                self.kills += 1
            elif self.shot[1] < 0:
                self.shot = None
        if self.beam:
            self.beam[1] += 4
            if abs(self.beam[0] - self.x) <= 8 and 216 <= self.beam[1] <= 224:
                self.beam = None
                self.lives -= 1
            elif self.beam[1] > 240:
                self.beam = None

    def fly(self):
        x = self.saucer[0] + self.direction * self.speed
        if x < 10 or x > 310:
            x = (20 if x < 10 else 620) - x
            self.direction *= -1
            self.turns += 1
            if self.turns % 4 == 0:
                self.saucer[1] = np.float32(min(180, self.saucer[1] + 20))
        self.saucer[0] = x

    def seen(self):
        places = [place if place else (-320, -240) for place in (self.saucer, self.shot, self.beam)]
        (sx, sy), (hx, hy), (bx, by) = [(np.float32(x) / 320, np.float32(y) / 240) for x, y in places]
        direction = self.direction if self.saucer else 0
        lives, kills = np.float32(self.lives) / self.a.lives, np.float32(self.kills) / self.a.kills
        return np.array([self.x / 320, sx, sy, direction, hx, hy, bx, by, lives, kills], np.float32)

    def over(self):
        return self.lives == 0 or self.kills == self.a.kills

    def step(self, action):
        worth = self.kills + self.lives
        for _ in range(self.a.frameskip):
            self.tick((0, -1, 1)[action % 3], action >= 3)
            if self.over():
                break
        reward = self.kills + self.lives - worth
        self.t += 1
        terminal = self.over()
        truncated = not terminal and 0 < self.a.max_steps <= self.t
        final = self.seen() if terminal or truncated else None
        if final is not None:
            self.begin()
        return self.seen(), reward, terminal, truncated, final


@settings(max_examples=30, deadline=None)
@given(
    frameskip=st.integers(1, 16), lives=st.integers(1, 9), kills=st.integers(1, 40),
    max_steps=st.sampled_from([0, 1, 5, 70]), seed=st.integers(0, 2**63), hunting=st.floats(0, 1),
)  # fmt: skip
def test_equals_the_slow_twin_in_every_bit(seed, hunting, **arguments):
    """Random actions, of which the share `hunting` shoots at the saucer, so that it is hit."""
    env = Blastar(**arguments)
    rng = np.random.default_rng(seed)
    actions = (hunt(env.observations)[0] if rng.random() < hunting else rng.integers(0, 6) for _ in range(200))
    assert_equals_twin(env, Twin(env.args, seed), seed, actions)


# ---------------------------------------------------------------- baselines


def hunt(observations, kills=30):
    """The hand policy: step off a beam within 24 px, else go where a shot will meet the saucer, and fire there."""
    x, saucer_x, beam_x = (320 * observations[:, i] for i in (X, SAUCER_X, BEAM_X))
    saucer_there, beam_flies = observations[:, SAUCER_Y] >= 0, observations[:, BEAM_Y] >= 0
    speed = (1.5 + 0.05 * kills * observations[:, KILLS]) * observations[:, SAUCER_DIRECTION]
    ticks = (220 - 240 * observations[:, SAUCER_Y]) / 6
    unfolded = (saucer_x + speed * ticks - 10) % 600  # the sides mirror the saucer at 10 and 310
    lead = 10 + np.where(unfolded > 300, 600 - unfolded, unfolded)
    away = np.where(saucer_there, lead, 160) - x
    direction = np.where(np.abs(away) <= 4, 0, np.where(away < 0, 1, 2))
    fire = saucer_there & (np.abs(away) <= 8) & (observations[:, SHOT_Y] < 0)
    beam_near = beam_flies & (np.abs(beam_x - x) < 24)
    off = np.where((beam_x < x) | (x < 30), 2, 1)
    off = np.where(x > 290, 1, off)
    return np.where(beam_near, off, direction) + 3 * fire


def first_scores(policy, num_envs, seed=11):
    """float64[num_envs]: the kills of each world's first episode, as its last observation shows them."""
    env = Blastar(num_envs=num_envs, seed=seed)
    observations, _ = env.reset()
    scores, playing = np.zeros(num_envs), np.ones(num_envs, bool)
    while playing.any():
        observations, _, terminals, truncations, _ = env.step(policy(observations))
        ends = playing & (terminals | truncations)
        scores[ends] = np.round(30 * env.final_observations[ends, KILLS])
        playing &= ~ends
    return scores


def test_random_play_scores_in_its_band():
    """The mean measured over 16,384 first episodes, plus and minus 5 standard errors of a mean of 1,024."""
    rng = np.random.default_rng(5)
    scores = first_scores(lambda observations: rng.integers(0, 6, len(observations)), 1024)
    assert 10.37 <= scores.mean() <= 12.05


def test_the_hand_policy_shoots_all_30_saucers():
    assert (first_scores(hunt, 512) == 30).all()  # as it did in 4,096 of 4,096 episodes
