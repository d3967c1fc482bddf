from pufferlib_ocean.squared.squared import Squared as Squared
