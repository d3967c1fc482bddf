from pufferlib_ocean.multiagent.multiagent import Multiagent as Multiagent
