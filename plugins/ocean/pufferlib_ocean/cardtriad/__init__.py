from pufferlib_ocean.cardtriad.cardtriad import Cardtriad as Cardtriad
