from pufferlib_ocean.cartpole.cartpole import Cartpole as Cartpole
