from pufferlib_ocean.connect4.connect4 import Connect4 as Connect4
