from pufferlib_ocean.tower_climb.tower_climb import TowerClimb as TowerClimb
