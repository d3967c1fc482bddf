"""Snapshots as opponents: which rows they play, that nothing is learnt from these, ratings, files and resume."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import pufferlib
from pufferlib.config.self_play_config import SelfPlayConfig
from pufferlib.errors import ConfigError
from pufferlib.policies import build_policy
from pufferlib.self_play import SelfPlay, SelfPlayVec
from pufferlib.self_play.pool import Pool, Snapshot
from pufferlib.wrappers.base import Step

WORLDS = 16
COLUMN = 3
TO_MOVE = 42


class OneColumn:
    """Plays column 3 and knows in which rows it was told that a game begins."""

    def __init__(self):
        self.fresh, self.played = set(), set()

    def act(self, rows, observations, action_masks):
        assert len(rows) == len(observations) == len(action_masks)
        self.played |= set(rows.tolist())
        return np.where(action_masks[:, COLUMN], COLUMN, np.argmax(action_masks, axis=1))

    def forget(self, rows):
        self.fresh |= set(rows.tolist())


def games(share=0.5, game="ocean-connect4", num_workers=2, batch_size=WORLDS // 2, **kwargs):
    env = pufferlib.make(
        game, num_envs=WORLDS, num_workers=num_workers, batch_size=batch_size, opponent="self", seed=4, in_order=True, **kwargs
    )
    return SelfPlayVec(env, share=share, seed=7)


def choose(observations, rng):
    """Random columns of those that are not full."""
    top = observations[:, :7] == 0
    return np.where(top, rng.random(top.shape), -1).argmax(axis=1).astype(np.int32)


def test_players_have_one_side_of_their_share_of_worlds_and_the_learner_all_else():
    env, player, rng = games(share=0.5), OneColumn(), np.random.default_rng(0)
    env.set_players({9: player}, [9])
    observations, _ = env.reset()
    for _ in range(200):
        opponent = env.is_opponent.copy()
        assert opponent.reshape(-1, 2).sum(axis=1).tolist() == [1] * 8 + [0] * 8
        before, to_move = observations[:, :42].copy(), observations[:, TO_MOVE] == 1
        actions = choose(observations, rng)
        observations, _, terminals, truncations, _ = env.step(actions)
        assert (env.storage.masks[0] == ~opponent).all()
        ended = terminals | truncations
        seen = np.where(ended[:, None], env.storage.final_observations[0][:, :42], observations[:, :42])
        for row in np.flatnonzero(to_move):
            cell = np.flatnonzero(seen[row] != before[row])
            wanted = COLUMN if opponent[row] and before[row, COLUMN] == 0 else None if opponent[row] else actions[row]
            assert len(cell) == 1
            assert wanted is None or cell[0] % 7 == wanted
        assert (env.is_opponent == opponent)[~ended].all(), "sides change between games only"
    assert player.fresh == player.played
    assert player.played == set(range(16)), "both sides of every world with a player"
    env.close()


def test_scores_are_those_of_the_learners_rows():
    env, player, rng = games(share=1), OneColumn(), np.random.default_rng(0)
    env.set_players({9: player}, [9])
    observations, _ = env.reset()
    expected = []
    for _ in range(150):
        learner = ~env.is_opponent
        observations, rewards, terminals, _, _ = env.step(choose(observations, rng))
        expected += [1.0 if r > 0 else 0.0 if r < 0 else 0.5 for r in rewards[terminals & learner]]
    assert [game.step for game in env.games] == [9] * len(env.games)
    assert sorted(game.score for game in env.games) == sorted(expected)
    assert len(expected) > 50
    env.close()


def test_a_new_player_waits_for_the_end_of_games_under_way():
    env, one, two = games(share=1), OneColumn(), OneColumn()
    env.set_players({1: one}, [1])
    observations, _ = env.reset()
    env.set_players({1: one, 2: two}, [2])
    rng, first = np.random.default_rng(0), True
    while env.playing() != {2}:
        assert not (first and two.played)
        observations, _, terminals, _, _ = env.step(choose(observations, rng))
        first &= not terminals.any()
    one.played.clear()
    env.step(choose(observations, rng))
    assert two.played
    assert not one.played
    env.close()


def test_games_that_a_lost_worker_cut_off_do_not_count():
    env = games(share=1)
    env.set_players({1: OneColumn()}, [1])
    env.reset()
    inner = env.env._views[0][0]
    inner.truncations[:], inner.masks[:] = True, False
    env.receive(Step(0, env._rows[0], 0, 0, False, inner, env._views[0][0]))
    assert env.games == []
    inner.masks[:] = True
    env.receive(Step(0, env._rows[0], 0, 0, False, inner, env._views[0][0]))
    assert [game.score for game in env.games] == [0.5] * 8
    env.close()


def test_a_game_of_one_side_is_refused():
    env = pufferlib.make("ocean-connect4", num_envs=2)
    with pytest.raises(ConfigError, match=r"agents_per_env=1; .*opponent='self'"):
        SelfPlayVec(env)
    env.close()


def trainer_for(env, policy_name="mlp", callback=None, **kwargs):
    policy = build_policy(policy_name, env.single_observation_space, env.single_action_space, hidden_size=16, seed=2)
    settings = {"horizon": 8, "minibatch_size": 64, "total_timesteps": 8 * 2 * WORLDS * 6, "device": "cpu", "learner": "torch"}
    return pufferlib.PuffeRL(env, policy, callbacks=[callback or SelfPlay(env)], **{**settings, **kwargs})


@pytest.mark.parametrize(
    ("policy_name", "settings"), [("mlp", {}), ("lstm", {}), ("mlp", {"prio_alpha": 0.5, "update_epochs": 2})]
)
def test_rows_of_snapshots_have_no_gradient(policy_name, settings):
    """Whatever stands in their rewards, actions, values and observations, the weights after the update have the same bits."""

    def weights(spoil):
        trainer = trainer_for(games(share=1), policy_name, **settings)
        trainer.evaluate()
        rollout = trainer.rollout
        masked = ~rollout.masks
        assert masked.float().mean() == 0.5
        if spoil is not None:
            where = masked if spoil == "masked" else ~masked
            rollout.rewards[where] = 1e4
            rollout.values[:-1][where] = -50.0
            rollout.log_probs[where] = -1.0
            rollout.actions[where] = 6
            rollout.bootstrap[where] = 1e4
        trainer.train()
        trainer.close()
        return torch.cat([p.detach().flatten() for p in trainer.policy.parameters()])

    clean = weights(None)
    assert torch.equal(weights("masked"), clean)
    assert not torch.equal(weights("learner's"), clean)


@pytest.mark.parametrize("policy_name", ["mlp", "lstm"])
def test_training_takes_snapshots_rates_and_logs(policy_name):
    env = games()
    callback = SelfPlay(env, SelfPlayConfig(snapshot_interval=2, pool_size=3, active=2))
    trainer = trainer_for(env, policy_name, callback)
    rows = list(trainer)
    steps = [s.step for s in callback.pool.snapshots]
    assert steps == sorted(steps)
    assert steps[-1] == trainer.global_step
    assert len(steps) == 3
    assert set(callback.pool.weights) == set(steps)
    played = sum(row["self_play/games"] for row in rows)
    assert played > 0
    assert rows[-1]["self_play/snapshots"] == 3
    assert all(0 <= row.get("self_play/score", 0) <= 1 for row in rows)
    assert trainer.metrics.agent_steps == 0.75 * trainer.global_step, "half of the rows of half of the worlds"
    trainer.close()


def test_the_same_seed_gives_the_same_run():
    def run():
        trainer = trainer_for(games())
        trainer.fit()
        trainer.close()
        return trainer.last_log["self_play/elo"], torch.cat([p.detach().flatten() for p in trainer.policy.parameters()])

    (elo_a, weights_a), (elo_b, weights_b) = run(), run()
    assert elo_a == elo_b
    assert torch.equal(weights_a, weights_b)


def test_a_snapshot_plays_as_the_policy_did(tmp_path):
    env = games(share=1)
    callback = SelfPlay(env, SelfPlayConfig(snapshot_interval=100))
    trainer = trainer_for(env, callback=callback, learning_rate=0.1)
    before = copy.deepcopy(trainer.policy.state_dict())
    trainer.fit()
    assert any(not torch.equal(before[name], value) for name, value in trainer.policy.state_dict().items())
    playing = callback._players[0].policy.state_dict()
    assert all(torch.equal(before[name], playing[name]) for name in before)
    trainer.close()


def test_a_resumed_run_goes_on_with_the_pool_of_its_checkpoint(tmp_path, caplog):
    def fresh():
        env = games()
        callback = SelfPlay(env, SelfPlayConfig(snapshot_interval=2))
        callback.run_dir = tmp_path
        return callback, trainer_for(env, callback=callback)

    first, trainer = fresh()
    trainer.fit(8 * 2 * WORLDS * 4)
    trainer.save_checkpoint(tmp_path / "a.pt")
    trainer.close()
    steps = [0, 512, 1024]
    assert sorted(int(path.stem) for path in (tmp_path / "snapshots").iterdir()) == steps

    second, trainer = fresh()
    trainer.load_checkpoint(tmp_path / "a.pt")
    assert second.pool.snapshots == first.pool.snapshots
    assert second.pool.rating == first.pool.rating
    for step in steps:
        assert all(torch.equal(second.pool.weights[step][name], value) for name, value in first.pool.weights[step].items())
    trainer.fit()
    trainer.close()

    (tmp_path / "snapshots" / "512.pt").write_bytes(b"torn")
    third, trainer = fresh()
    trainer.load_checkpoint(tmp_path / "a.pt")
    assert [snapshot.step for snapshot in third.pool.snapshots] == [0, 1024]
    assert "512.pt is damaged" in caplog.text
    trainer.close()


class TestPool:
    """Who is drawn and who goes."""

    def of(self, scores, **config):
        pool = Pool(SelfPlayConfig(active=4000, **config))
        pool.snapshots = [Snapshot(step, 1000.0, 10, score) for step, score in enumerate(scores)]
        pool.weights = {step: {} for step in range(len(scores))}
        return pool

    def test_prioritised_drawing_is_by_the_square_of_what_they_win(self):
        drawn = np.bincount(self.of([0.5, 0.0, 1.0]).draw(np.random.default_rng(1)), minlength=3) / 4000
        assert drawn == pytest.approx(np.array([0.25, 1, 0.01]) / 1.26, abs=0.03)

    def test_uniform_drawing(self):
        drawn = np.bincount(self.of([0.5, 0.0, 1.0], pick="uniform").draw(np.random.default_rng(1)), minlength=3) / 4000
        assert drawn == pytest.approx([1 / 3] * 3, abs=0.03)

    def test_the_one_that_loses_most_makes_room_the_oldest_of_equals(self):
        class Trainer:
            global_step, policy = 7, torch.nn.Linear(1, 1)

        pool = self.of([0.5, 0.9, 0.9], pool_size=3)
        pool.add(Trainer)
        assert [snapshot.step for snapshot in pool.snapshots] == [0, 2, 7]
        assert pool.snapshots[-1].rating == pool.rating

    def test_a_game_moves_both_ratings_by_elo(self):
        pool = self.of([0.5], elo_k=16)
        pool.record(0, 1.0)
        assert (pool.rating, pool.snapshots[0].rating) == (1008.0, 992.0)
        assert pool.snapshots[0].games == 11
        assert pool.snapshots[0].score == pytest.approx(0.505)
