"""`python -m pufferlib` is the `puffer` command."""

import sys

from pufferlib.cli.main import main

sys.exit(main())
