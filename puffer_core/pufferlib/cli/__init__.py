"""The `puffer` command: one file a command; `main` gathers them."""
