from pufferlib_ocean.drone.drone import Drone as Drone
from pufferlib_ocean.drone.pd import drone_pd as drone_pd
