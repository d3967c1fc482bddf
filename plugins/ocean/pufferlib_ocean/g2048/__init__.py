from pufferlib_ocean.g2048.g2048 import G2048 as G2048
