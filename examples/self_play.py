"""Self-play: a policy learns a two-player game from games against itself and against its own past.

python examples/self_play.py [total_timesteps]

The same from the command line, with a run directory that `puffer match` reads:
puffer train ocean-connect4 --env.opponent self --self-play.enabled True
"""

from __future__ import annotations

import sys

import pufferlib
from pufferlib.config.self_play_config import SelfPlayConfig
from pufferlib.policies import build_policy
from pufferlib.self_play import SelfPlay, SelfPlayVec, play_match


def main(total_timesteps: int) -> None:
    """Train, then play against a random player and the game's own bot."""
    config = SelfPlayConfig(share=0.5, snapshot_interval=10)
    env = SelfPlayVec(pufferlib.make("ocean-connect4", num_envs=128, opponent="self", seed=1), share=config.share)
    policy = build_policy("mlp", env.single_observation_space, env.single_action_space, seed=1)
    trainer = pufferlib.PuffeRL(
        env, policy, callbacks=[SelfPlay(env, config)], device="cpu", learning_rate=5e-3, total_timesteps=total_timesteps
    )
    for row in trainer:
        if row["epoch"] % 10 == 1:
            print(
                f"{row['global_step']:>9,} steps: rated {row['self_play/elo']:.0f}, the pool of {row['self_play/snapshots']:.0f} "
                f"{row['self_play/pool_elo']:.0f} in the mean",
                flush=True,
            )
    trainer.close()
    for opponent in ("random", "bot"):
        result = play_match("ocean-connect4", policy, opponent, games=200, seed=1)
        estimate, low, high = result.elo_difference
        print(f"against {opponent}: score {result.score:.2f}, Elo difference {estimate:+.0f} [{low:+.0f}, {high:+.0f}]")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000)
