"""GPUDrive as PufferEnv batches. `plugin` declares the name, `env` does the work; importing this loads neither."""
