from pufferlib_ocean.checkers.checkers import Checkers as Checkers
