from pufferlib_ocean.rware.rware import Rware as Rware
