from pufferlib_ocean.bandit.bandit import Bandit as Bandit
