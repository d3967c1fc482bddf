"""An example of a plugin for pufferlib."""
