"""Hyperparameter sweeps for pufferlib: Protein as an Optuna sampler, and the command `puffer sweep`."""
