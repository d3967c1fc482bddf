from pufferlib_ocean.drive.drive import Drive as Drive
from pufferlib_ocean.drive.scenario import save_scenario as save_scenario
