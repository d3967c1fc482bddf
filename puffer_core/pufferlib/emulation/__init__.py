"""Foreign envs as PufferEnv batches: Gymnasium's API, the declarative PufferEnv, several agents, stacks of native ones."""
