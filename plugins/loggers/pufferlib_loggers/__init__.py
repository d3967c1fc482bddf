"""Experiment trackers for pufferlib: rows of metrics, videos and checkpoints go where people already look."""
