from pufferlib_ocean.go.go import Go as Go
