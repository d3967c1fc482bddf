from pufferlib_ocean.blastar.blastar import Blastar as Blastar
