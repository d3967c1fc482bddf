"""Procgen as PufferEnv batches. `plugin` declares the names, `env` does the work; importing this loads neither."""
