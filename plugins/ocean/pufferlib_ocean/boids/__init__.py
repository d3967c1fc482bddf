from pufferlib_ocean.boids.boids import Boids as Boids
