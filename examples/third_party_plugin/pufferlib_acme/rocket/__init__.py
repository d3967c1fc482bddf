"""Hold a rocket at a height."""

from pufferlib_acme.rocket.rocket import Rocket

__all__ = ["Rocket"]
