"""Envs of packages that need a line or two before a name finds them. `plugin` declares; importing this loads none of them."""
