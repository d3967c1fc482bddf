from pufferlib_ocean.continuous.continuous import Continuous as Continuous
