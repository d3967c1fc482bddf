"""NetHack and MiniHack as PufferEnv batches. `plugin` declares, `names` finds and `envs` adapts; importing this loads none."""
