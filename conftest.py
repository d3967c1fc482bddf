"""What all tests share: a signal that background jobs inherit as ignored works again, and no time limit on generated examples."""

from __future__ import annotations

import signal

from hypothesis import settings

# A shell starts background jobs with SIGINT ignored, and their children inherit that: tests of Ctrl-C would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("pufferlib", deadline=None)  # a busy machine must not make a property false
settings.load_profile("pufferlib")
