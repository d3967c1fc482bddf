from pufferlib_ocean.breakout.breakout import Breakout as Breakout
