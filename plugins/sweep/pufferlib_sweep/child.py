"""A trial's process: `puffer train` that ends when its sweep does.

The sweep holds the other end of this process's standard input. When that end is gone, because the sweep was killed, the
trial stops as after SIGTERM, its workers with it, rather than train on for nobody.

    python -m pufferlib_sweep.child train ENV --config FILE --run-dir DIR
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

GRACE_S = 15.0
"""How long a trial may take to end its step and save."""


def follow_the_sweep() -> None:
    """Wait for the end of standard input; then end this process group."""
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def main() -> int:
    """Run the command. Returns its exit code."""
    sys.path.append(sys.path.pop(0))  # `-m` puts the working folder first, where a file could hide a package
    threading.Thread(target=follow_the_sweep, daemon=True).start()
    from pufferlib.cli.main import main as puffer

    return puffer(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
