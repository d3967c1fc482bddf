"""Ray for pufferlib: `backend="ray"` steps envs on the machines of a Ray cluster. Read vec.py first, then crew.py."""
