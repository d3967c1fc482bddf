from pufferlib_ocean.memory.memory import Memory as Memory
