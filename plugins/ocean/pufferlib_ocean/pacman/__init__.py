from pufferlib_ocean.pacman.pacman import Pacman as Pacman
