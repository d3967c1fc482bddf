"""What snake promises: its rules (checked in C, under sanitizers), equality with a slow twin, and its baseline scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib_ocean.snake import Snake
from pufferlib_ocean.testing import Random, play, rule_test

EMPTY, WALL, FOOD, CORPSE, OWN_BODY, OWN_HEAD, BODY, HEAD = range(8)
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))


test_rule = rule_test(__file__)


# ---------------------------------------------------------------- a slow twin, written from the rules


class Twin:
    """One world: snakes are lists of (x, y), head first; everything else is a set of cells."""

    def __init__(self, a, seed):
        self.a, self.random = a, Random(seed)
        self.build()

    def build(self):
        self.food, self.corpses, self.due, self.world_age = set(), set(), 0, 0
        self.snakes = []
        for _ in range(self.a.num_snakes):
            self.snakes.append(self.spawn())
        self.due = self.a.num_food
        self.return_food()

    def kind(self, cell):
        x, y = cell
        if not (0 <= x < self.a.width and 0 <= y < self.a.height):
            return WALL
        if cell in self.food:
            return FOOD
        if cell in self.corpses:
            return CORPSE
        for snake in self.snakes:
            if snake and cell in snake["cells"]:
                return HEAD if snake["cells"][0] == cell else BODY
        return EMPTY

    def random_cell(self, kinds):
        area = self.a.width * self.a.height
        for _ in range(64):
            k = self.random.below(area)
            if self.kind((k % self.a.width, k // self.a.width)) == EMPTY:
                return (k % self.a.width, k // self.a.width)
        for kind in kinds:
            for i in range(1, area + 1):
                cell = ((k + i) % area % self.a.width, (k + i) % area // self.a.width)
                if self.kind(cell) == kind:
                    return cell
        return None

    def spawn(self):
        cell = self.random_cell((EMPTY, CORPSE, FOOD))
        if cell in self.food:
            self.due += 1
        self.food.discard(cell), self.corpses.discard(cell)
        return {"cells": [cell] * 3, "length": 3, "direction": self.random.below(4), "age": 0}

    def return_food(self):
        while self.due:
            cell = self.random_cell((EMPTY,))
            if cell is None:
                return
            self.food.add(cell)
            self.due -= 1

    def window(self, i):
        v, (hx, hy) = self.a.vision, self.snakes[i]["cells"][0]
        shown = []
        for y in range(hy - v, hy + v + 1):
            for x in range(hx - v, hx + v + 1):
                kind = self.kind((x, y))
                own = kind >= BODY and (x, y) in self.snakes[i]["cells"]
                shown.append(kind - 2 if own else kind)
        return shown

    def bury(self, rows):
        for i in rows:
            cells = self.snakes[i]["cells"]
            self.snakes[i] = None
            if self.a.corpse:
                self.corpses.update(cells)

    def step(self, actions):
        a, n = self.a, self.a.num_snakes
        rewards, terminals, truncations, finals = np.zeros(n, np.float32), [False] * n, [False] * n, {}
        targets, grows = [], []
        for snake, action in zip(self.snakes, actions, strict=True):
            (x, y), second = snake["cells"][:2]
            dx, dy = MOVES[action]
            if (x + dx, y + dy) != second:
                snake["direction"] = action
            dx, dy = MOVES[snake["direction"]]
            targets.append((x + dx, y + dy))
            grows.append(self.kind(targets[-1]) in (FOOD, CORPSE) and snake["length"] < a.max_length)
        for snake, grow in zip(self.snakes, grows, strict=True):
            if not grow:
                snake["cells"].pop()
            snake["age"] += 1
        dying = [i for i in range(n) if self.kind(targets[i]) in (WALL, BODY, HEAD) or targets.count(targets[i]) > 1]
        for i, snake in enumerate(self.snakes):
            if i in dying:
                rewards[i], terminals[i] = a.reward_death, True
                continue
            if targets[i] in self.food:
                rewards[i], self.due = a.reward_food, self.due + 1
            if targets[i] in self.corpses:
                rewards[i] = a.reward_corpse
            self.food.discard(targets[i]), self.corpses.discard(targets[i])
            snake["cells"].insert(0, targets[i])
            snake["length"] += grows[i]
        finals.update({i: self.window(i) for i in dying})
        self.bury(dying)
        self.return_food()
        for i in dying:
            self.snakes[i] = self.spawn()

        self.world_age += 1
        rebuild = a.world_steps and self.world_age >= a.world_steps
        cut = [i for i in range(n) if not terminals[i] and (rebuild or (a.max_steps and self.snakes[i]["age"] >= a.max_steps))]
        finals.update({i: self.window(i) for i in cut})
        for i in cut:
            truncations[i] = True
        self.bury(cut)
        if rebuild:
            self.build()
        else:
            for i in cut:
                self.snakes[i] = self.spawn()
        return [self.window(i) for i in range(n)], rewards, terminals, truncations, finals


@st.composite
def worlds(draw):
    width, height = draw(st.integers(8, 12)), draw(st.integers(8, 12))
    snakes = draw(st.integers(1, 7))
    return {
        "width": width,
        "height": height,
        "num_snakes": snakes,
        "num_food": draw(st.integers(1, min(width * height // 4, width * height // 2 - 4 * snakes))),
        "vision": draw(st.integers(1, 6)),
        "max_length": draw(st.integers(4, 12)),
        "corpse": draw(st.booleans()),
        "max_steps": draw(st.sampled_from([0, 1, 5, 30])),
        "world_steps": draw(st.sampled_from([0, 0, 1, 17])),
    }


@settings(max_examples=40, deadline=None)
@given(worlds(), st.integers(0, 2**63), st.floats(0, 1))
def test_equals_the_slow_twin_in_every_bit(arguments, seed, straight):
    """Random actions, of which the share `straight` repeats the row's last one (so that snakes meet and walls are hit)."""
    env = Snake(**arguments)
    observations, _ = env.reset(seed=[seed])
    twin = Twin(env.args, seed)
    assert observations.tolist() == [twin.window(i) for i in range(env.num_agents)]
    rng = np.random.default_rng(seed)
    actions = rng.integers(0, 4, env.num_agents)
    for _ in range(60):
        fresh = rng.random(env.num_agents) >= straight
        actions = np.where(fresh, rng.integers(0, 4, env.num_agents), actions)
        expected, rewards, terminals, truncations, finals = twin.step(actions.tolist())
        env.step(actions)
        assert env.observations.tolist() == expected
        assert env.rewards.tolist() == rewards.tolist()
        assert env.terminals.tolist() == terminals and env.truncations.tolist() == truncations
        for i, final in finals.items():
            assert env.final_observations[i].tolist() == final


# ---------------------------------------------------------------- arguments


def test_too_crowded_fields_are_refused_with_the_numbers():
    with pytest.raises(ValueError, match=r"snake: num_snakes\*4 \+ num_food must be at most .* = 32, got 5\*4 \+ 13 = 33"):
        Snake(width=8, height=8, num_snakes=5, num_food=13)
    with pytest.raises(ValueError, match=r"snake: num_food must be in \[1, 16\], .* got 17"):
        Snake(width=8, height=8, num_snakes=1, num_food=17)
    Snake(width=8, height=8, num_snakes=4, num_food=16).close()


def test_one_snake_alone_in_the_smallest_field_plays_on():
    env = Snake(num_envs=4, width=8, height=8, num_snakes=1, num_food=1, vision=10)
    log = play(env, None, 2000)
    assert log["n"] > 20
    assert env.observations.shape == (4, 441)
    assert ((env.observations == OWN_HEAD).sum(axis=1) == 1).all()
    assert ((env.observations == WALL).sum(axis=1) == 441 - 64).all(), "all of the field is in sight"


# ---------------------------------------------------------------- baselines


def to_food(observations, rng):
    """The hand policy: to the nearest visible food or corpse, over safe cells, and not beside another's head."""
    side = int(observations.shape[1] ** 0.5)
    v, windows = side // 2, observations.reshape(-1, side, side)
    ys, xs = np.mgrid[-v : v + 1, -v : v + 1]
    edible = (windows == FOOD) | (windows == CORPSE)
    far = np.where(edible, abs(xs) + abs(ys), 99).reshape(len(windows), -1)
    nearest = far.argmin(axis=1)
    seen = far.min(axis=1) < 99
    gx, gy = xs.ravel()[nearest], ys.ravel()[nearest]
    costs = np.empty((len(windows), 4))
    for action, (dx, dy) in enumerate(MOVES):
        cell = windows[:, v + dy, v + dx]
        unsafe = (cell == WALL) | (cell >= OWN_BODY)
        rivals = sum(windows[:, v + dy + sy, v + dx + sx] == HEAD for sx, sy in MOVES)
        free = ~np.isin(windows, (WALL, OWN_BODY, OWN_HEAD, BODY, HEAD))
        dead_end = sum(free[:, v + dy + sy, v + dx + sx] for sx, sy in MOVES) == 0
        costs[:, action] = np.where(seen, abs(gx - dx) + abs(gy - dy), 0) + 1000 * unsafe + 100 * rivals + 50 * dead_end
    return (costs + rng.random(costs.shape) * 0.5).argmin(axis=1)


def test_baseline_scores():
    """Mean lengths over worlds that are rebuilt every 300 steps: later, random players' corpses fill the field."""
    random = play(Snake(num_envs=8, world_steps=300), None, 600)
    hand = play(Snake(num_envs=8, world_steps=300), to_food, 600)
    assert random["n"] >= 500 and hand["n"] >= 500
    assert 3 <= random["score"] <= 6
    assert hand["score"] >= 3 * random["score"]
