"""`torchrun --nproc_per_node=4 -m pufferlib.train ENV ...` is `puffer train ENV ...` in several processes."""

import sys

from pufferlib.cli.main import main

sys.exit(main(["train", *sys.argv[1:]]))
