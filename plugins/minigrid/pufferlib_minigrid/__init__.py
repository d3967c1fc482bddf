"""Minigrid and BabyAI as PufferEnv batches. `plugin` declares the names, `envs` does the work; importing this loads neither."""
