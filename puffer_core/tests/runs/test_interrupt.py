"""Ctrl-C: the first one is noted, the second breaks off, and the handlers are gone afterwards."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time

import pytest

from pufferlib.train import interrupt as module
from pufferlib.train.interrupt import Interrupt, StartUp, StepBrokenOff

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGALRM]


def handlers():
    return [signal.getsignal(number) for number in SIGNALS]


def test_the_first_signal_is_noted_and_nothing_is_raised():
    before, told = handlers(), []
    with Interrupt(lambda: told.append(1)) as interrupt:
        assert interrupt.requested == 0
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupt.requested == signal.SIGINT
        assert interrupt.exit_code == 130
    assert handlers() == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert told == [1]


def test_sigterm_counts_too():
    with Interrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupt.exit_code == 143


def test_the_second_signal_breaks_off_and_handlers_are_restored():
    before = handlers()
    with Interrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(StepBrokenOff):
            os.kill(os.getpid(), signal.SIGINT)
    assert interrupt.exit_code == 130
    assert handlers() == before


def test_a_step_that_takes_too_long_is_broken_off(monkeypatch):
    monkeypatch.setattr(module, "STEP_LIMIT_S", 0.05)
    with Interrupt():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(StepBrokenOff):
            time.sleep(30)


def test_a_step_that_ends_in_time_disarms_the_alarm(monkeypatch):
    monkeypatch.setattr(module, "STEP_LIMIT_S", 0.05)
    with Interrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGINT)
        interrupt.finished_step()
        time.sleep(0.1)


def test_handlers_are_restored_after_an_error():
    before = handlers()
    with pytest.raises(KeyError), Interrupt():
        raise KeyError
    assert handlers() == before


def test_outside_of_the_main_thread_nothing_is_installed():
    before, seen = handlers(), []

    def work():
        with Interrupt() as interrupt:
            seen.append((handlers(), interrupt.requested))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(before, 0)]


def test_ctrl_c_that_somebody_swallowed_before_the_first_step_still_stops():
    with StartUp():
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        with Interrupt() as interrupt:
            assert interrupt.requested == signal.SIGINT and interrupt.exit_code == 130
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
