from pufferlib_ocean.maze.maze import Maze as Maze
