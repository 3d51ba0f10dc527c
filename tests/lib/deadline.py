"""Waiting for a condition with a deadline: the suites never sleep as proof of anything."""

import time


class TimedOut(AssertionError):
    """The condition did not come true in time; the message says which."""


def wait_until(condition, seconds, what, pause_s=0.02):
    """Returns the first truthy value of `condition()`, or raises `TimedOut` after `seconds`.

    `what` reads after "waited 5 s for"; a callable is asked at the end, so that it can
    print the last thing seen.
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
