from pufferlib_ocean.stochastic.stochastic import Stochastic as Stochastic
