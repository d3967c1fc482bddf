from pufferlib_ocean.enduro.enduro import Enduro as Enduro
