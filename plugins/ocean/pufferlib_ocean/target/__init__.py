from pufferlib_ocean.target.target import Target as Target
