from pufferlib_ocean.tetris.tetris import Tetris as Tetris
