"""A training run without the training, which begins at once: `python watched.py [WORD]`, used by test_keys.py.

It tells the keys that it hears. WORD: `fail` raises after the first key; `hang` never ends by itself after q or the first Ctrl-C;
`print` prints, warns and logs while the panel stands; `child` does it all in a session of its own, as torchrun's ranks live;
`shell` is a shell that tells what a stopped job leaves behind, and lets it go on in the foreground.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
import warnings

from pufferlib.train.dashboard import QUIT, make_dashboard
from pufferlib.train.interrupt import Interrupt, StepBrokenOff

WORD = sys.argv[1] if len(sys.argv) > 1 else ""


def main() -> int:
    """Until q or Ctrl-C."""
    if WORD == "child":
        return subprocess.run([sys.executable, __file__], start_new_session=True).returncode
    if WORD == "shell":
        return shell()
    logging.basicConfig(format="%(message)s")  # writes to what stderr is now, not to what it is later
    board, heard, step = make_dashboard("watched", 10**6), "", 0
    with Interrupt(board.stopping) as interrupt:
        try:
            board.say("begun")
            while not interrupt.requested and QUIT not in heard:
                step += 10
                board.update({"global_step": step, "SPS": 1000.0 + step, "environment/score": step / 7, "losses/x": 0.1})
                if keys := board.keys():
                    heard += keys
                    board.note(f"heard {heard}")
                    if WORD == "fail":
                        raise KeyError("as told")
                    if WORD == "print":
                        sys.stdout.write("printed\nin par")
                        warnings.warn("warned", stacklevel=1)
                        logging.warning("logged")
                        print("ts")
                time.sleep(0.01)
            while WORD == "hang":
                time.sleep(0.01)
            board.say("ended")
        except StepBrokenOff:
            return 128 + signal.SIGINT
        finally:
            board.close()
    print("after the panel")
    return 0


def shell() -> int:
    """Run the program as a job of its own, once stopped and resumed."""
    import termios

    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # as shells do, to take the terminal back
    before = termios.tcgetattr(0)
    job = subprocess.Popen([sys.executable, __file__], preexec_fn=os.setpgrp)
    os.tcsetpgrp(0, job.pid)
    _, status = os.waitpid(job.pid, os.WUNTRACED)
    os.tcsetpgrp(0, os.getpgrp())
    print(f"stopped {os.WIFSTOPPED(status)}, as found {termios.tcgetattr(0) == before}", flush=True)
    os.tcsetpgrp(0, job.pid)
    os.killpg(job.pid, signal.SIGCONT)
    code = job.wait()
    os.tcsetpgrp(0, os.getpgrp())
    return code


if __name__ == "__main__":
    sys.exit(main())
