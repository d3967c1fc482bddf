from pufferlib_ocean.nmmo.nmmo import Nmmo as Nmmo
