from pufferlib_ocean.convert.convert import Convert as Convert
