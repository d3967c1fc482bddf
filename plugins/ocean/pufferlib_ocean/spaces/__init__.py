from pufferlib_ocean.spaces.spaces import Spaces as Spaces
