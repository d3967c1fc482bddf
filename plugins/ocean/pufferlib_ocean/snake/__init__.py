from pufferlib_ocean.snake.snake import Snake as Snake
