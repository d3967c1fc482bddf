from pufferlib_ocean.cpr.cpr import Cpr as Cpr
