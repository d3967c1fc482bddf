"""Settings: TrainConfig, the settings of a run, and how presets, files and flags make them."""

from pufferlib.config.train_config import TrainConfig

__all__ = ["TrainConfig"]
