"""PettingZoo envs as PufferEnv batches. `plugin` declares the names, `adapter` does the work; importing this loads neither."""
