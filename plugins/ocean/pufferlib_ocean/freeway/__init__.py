from pufferlib_ocean.freeway.freeway import Freeway as Freeway
