from pufferlib_ocean.password.password import Password as Password
