"""A curriculum: the opponent gets stronger whenever the policy has learnt to beat it.

python examples/curriculum.py [total_timesteps]

The same from the command line: puffer train ocean-connect4 --callback curriculum:StrongerBot (run in this folder).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import pufferlib
from pufferlib.policies import build_policy

LEVELS = ({"bot_epsilon": 1.0}, {"bot_epsilon": 0.5}, {"bot_epsilon": 0.2}, {"bot_epsilon": 0.05})
"""Arguments of the env, from easy to hard: the share of the bot's moves that are random."""
ENOUGH_SCORE, ENOUGH_GAMES = 0.5, 300


class StrongerBot(pufferlib.Callback):
    """Goes one level up once the mean score of at least ENOUGH_GAMES games in a row of rollouts is ENOUGH_SCORE."""

    def __init__(self) -> None:
        self.level, self.games, self.score_sum = 0, 0.0, 0.0

    def on_start(self, trainer: pufferlib.PuffeRL) -> None:
        trainer.set_env_arguments(**LEVELS[self.level])

    def on_rollout(self, trainer: pufferlib.PuffeRL) -> None:
        self.games += trainer.recent_episodes.get("n", 0.0)
        self.score_sum += trainer.recent_episodes.get("score", 0.0) * trainer.recent_episodes.get("n", 0.0)

    def on_epoch(self, trainer: pufferlib.PuffeRL) -> None:
        if self.games < ENOUGH_GAMES:
            return
        if self.score_sum / self.games >= ENOUGH_SCORE and self.level + 1 < len(LEVELS):
            self.level += 1
            trainer.set_env_arguments(**LEVELS[self.level])  # the next rollout begins with a reset
        self.games = self.score_sum = 0.0

    def on_log(self, trainer: pufferlib.PuffeRL, row: dict[str, float]) -> None:
        row["curriculum/level"] = self.level

    def state_dict(self) -> dict[str, Any]:
        return {"level": self.level}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.level = state["level"]


def main(total_timesteps: int) -> None:
    """Train, and print a line whenever the level changes."""
    env = pufferlib.make("ocean-connect4", num_envs=256, seed=1)
    policy = build_policy("mlp", env.single_observation_space, env.single_action_space, seed=1)
    trainer = pufferlib.PuffeRL(
        env, policy, callbacks=[StrongerBot()], schedules={"ent_coef": "linear 0.02 0.002"}, device="cpu",
        learning_rate=5e-3, total_timesteps=total_timesteps,
    )  # fmt: skip
    level = -1.0
    for row in trainer:
        if row["curriculum/level"] != level:
            level = row["curriculum/level"]
            print(f"level {level:.0f} from step {row['global_step']:,.0f}: {LEVELS[int(level)]}", flush=True)
    print(f"score at the end, on level {level:.0f}: {row.get('environment/score', float('nan')):.2f}")
    trainer.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000)
