"""Waiting for a condition with a deadline. A suite waits for a condition, never for a fixed time."""

import time


class TimedOut(AssertionError):
    """A condition was still false at its deadline. The message names the condition."""


def wait_until(condition, seconds, what, pause_s=0.02):
    """Returns the first truthy value of `condition()`, or raises `TimedOut` after `seconds`.

    `what` completes the message "waited 5 s for". A callable is called after the deadline, so that
    the message can contain the last value.
    """
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= end:
            text = what() if callable(what) else what
            raise TimedOut(f"waited {seconds:g} s for {text}")
        time.sleep(pause_s)
