from pufferlib_ocean.asteroids.asteroids import Asteroids as Asteroids
