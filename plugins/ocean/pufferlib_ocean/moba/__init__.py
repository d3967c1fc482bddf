from pufferlib_ocean.moba.moba import Moba as Moba
