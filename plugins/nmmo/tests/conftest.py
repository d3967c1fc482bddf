"""Neural MMO's interface without Neural MMO: what its adapter needs, recorded from version 2.1.2."""

import numpy as np
import pytest
from gymnasium import spaces

ACTIONS = {"Attack": {"Style": 3, "Target": 5}, "Move": {"Direction": 4}}


class RecordedEnv:
    """Three agents. Agent 2 dies in step 1; the game ends after step `horizon`. Agent k's task is at k/4 after its steps."""

    metadata = {"render.modes": ["human"], "name": "neural-mmo"}
    possible_agents = [1, 2, 3]

    def __init__(self, horizon=2):
        self.horizon, self.agents, self.given = horizon, [], []

    def observation_space(self, agent):
        targets = {
            name: spaces.Dict({argument: spaces.Box(0, 1, (size,), np.int8) for argument, size in arguments.items()})
            for name, arguments in ACTIONS.items()
        }
        return spaces.Dict(
            {
                "ActionTargets": spaces.Dict(targets),
                "AgentId": spaces.Discrete(4),
                "Tile": spaces.Box(-32768, 32767, (2, 3), np.int16),
            }
        )

    def action_space(self, agent):
        return spaces.Dict(
            {
                name: spaces.Dict({argument: spaces.Discrete(size) for argument, size in arguments.items()})
                for name, arguments in ACTIONS.items()
            }
        )

    def observe(self, agent):
        targets = {
            name: {argument: np.arange(size) % 2 == agent % 2 for argument, size in arguments.items()}
            for name, arguments in ACTIONS.items()
        }
        return {"ActionTargets": targets, "AgentId": agent, "Tile": np.full((2, 3), 10 * agent + self.time, np.int16)}

    def reset(self, seed=None, options=None):
        self.time, self.agents = 0, [1, 2, 3]
        return {agent: self.observe(agent) for agent in self.agents}, {agent: {"task": "stay alive"} for agent in self.agents}

    def step(self, actions):
        self.given.append(actions)
        self.time += 1
        there, self.agents = self.agents, [1, 3] if self.time < self.horizon else []
        dead = {2} if self.time == 1 else set()
        over = self.time >= self.horizon
        infos = {a: {"task": {"live": {"progress": a / 4, "completed": a == 3, "reward": 0.0}}} for a in there}
        return (
            {agent: self.observe(agent) for agent in there},
            {agent: float(agent) for agent in there},
            {agent: agent in dead for agent in there},
            {agent: over and agent not in dead for agent in there},
            infos,
        )

    def close(self):
        pass


@pytest.fixture
def recorded():
    return RecordedEnv
