"""Code written for gymnasium.vector runs on a VecEnv unchanged."""

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import nn

import pufferlib


def ppo(envs, steps=128, updates=12, seed=1):
    """A loop as in CleanRL's ppo.py, for same-step resets. Returns the returns of finished episodes, in order."""
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    torch.manual_seed(seed)
    n_in, n_out, n = envs.single_observation_space.shape[0], envs.single_action_space.n, envs.num_envs
    actor = nn.Sequential(nn.Linear(n_in, 32), nn.Tanh(), nn.Linear(32, n_out))
    critic = nn.Sequential(nn.Linear(n_in, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-3, eps=1e-5)
    obs = torch.zeros(steps, n, n_in)
    actions, logprobs, rewards, dones, values = (torch.zeros(steps, n) for _ in range(5))
    next_obs, _ = envs.reset(seed=seed)
    next_obs, next_done, finished = torch.Tensor(next_obs), torch.zeros(n), []
    for _ in range(updates):
        for step in range(steps):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                distribution = torch.distributions.Categorical(logits=actor(next_obs))
                action = distribution.sample()
                values[step], logprobs[step], actions[step] = critic(next_obs).flatten(), distribution.log_prob(action), action
            next_obs, reward, terminations, truncations, infos = envs.step(action.numpy())
            rewards[step] = torch.tensor(reward)
            next_obs, next_done = torch.Tensor(next_obs), torch.Tensor(np.logical_or(terminations, truncations))
            if "episode" in infos:
                finished += infos["episode"]["r"][infos["_episode"]].tolist()
        with torch.no_grad():
            advantages, last, next_value = torch.zeros_like(rewards), 0.0, critic(next_obs).flatten()
            for t in reversed(range(steps)):
                alive = 1 - (next_done if t == steps - 1 else dones[t + 1])
                following = next_value if t == steps - 1 else values[t + 1]
                delta = rewards[t] + 0.99 * following * alive - values[t]
                advantages[t] = last = delta + 0.99 * 0.95 * alive * last
        flat = [part.flatten(0, 1) for part in (obs, actions, logprobs, advantages, advantages + values)]
        for _ in range(4):
            for index in torch.randperm(steps * n).split(128):
                b_obs, b_actions, b_logprobs, b_advantages, b_returns = (part[index] for part in flat)
                distribution = torch.distributions.Categorical(logits=actor(b_obs))
                ratio = (distribution.log_prob(b_actions) - b_logprobs).exp()
                b_advantages = (b_advantages - b_advantages.mean()) / (b_advantages.std() + 1e-8)
                policy_loss = torch.max(-b_advantages * ratio, -b_advantages * ratio.clamp(0.8, 1.2)).mean()
                loss = policy_loss + 0.5 * ((critic(b_obs).flatten() - b_returns) ** 2).mean()
                optimizer.zero_grad()
                (loss - 0.01 * distribution.entropy().mean()).backward()
                optimizer.step()
    envs.close()
    return finished


def test_a_ppo_loop_for_gymnasium_learns():
    returns = ppo(pufferlib.make("gym-CartPole-v1", num_envs=8, backend="serial"))
    assert np.mean(returns[:20]) < 40 < 70 < np.mean(returns[-20:])


def test_the_loop_does_on_both_libraries_the_same():
    """Bit for bit: the same envs with the same seeds."""
    seeds = pufferlib.vector.seeding.env_seeds(1, 4)
    theirs = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 4, autoreset_mode=AutoresetMode.SAME_STEP)
    reset = theirs.reset
    theirs.reset = lambda seed=None, options=None: reset(seed=seeds, options=options)
    ours = pufferlib.make("gym-CartPole-v1", num_envs=4, num_workers=2)
    assert ppo(ours, updates=2) == ppo(theirs, updates=2)


@pytest.mark.parametrize("backend", ["serial", "processes"])
def test_gymnasiums_vector_wrappers(backend):
    vec = pufferlib.make("gym-CartPole-v1", num_envs=4, num_workers=2, backend=backend)
    env = gymnasium.wrappers.vector.ClipReward(gymnasium.wrappers.vector.RecordEpisodeStatistics(vec), 0, 0.5)
    env.reset(seed=3)
    for _ in range(60):
        assert (env.step(env.action_space.sample())[1] == 0.5).all()
    assert env.env.episode_count == vec.drain_log()["n"] > 4
    env.close()
    assert vec.is_closed
