from pufferlib_ocean.pong.pong import Pong as Pong
