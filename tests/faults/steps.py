"""Receivers that stop at a step of a session, so that a fault can occur at exactly this step."""

import threading

from sinks import Sinks

STEP_SECONDS = 60


class Stop:
    """A stop of all receivers at the next session that reaches a step. They continue after `end`."""

    def __init__(self, step):
        self.step, self.session = step, None
        self.begun, self.ended = threading.Event(), threading.Event()

    def wait(self):
        """Waits until a session is at the step. Returns the session, which does not change until `end`."""
        assert self.begun.wait(STEP_SECONDS), f"no session reached the step {self.step}"
        return self.session

    def begin(self, session):
        """Blocks the thread of the receivers until `end`."""
        self.session = session
        self.begun.set()
        self.ended.wait(STEP_SECONDS)

    def end(self):
        self.ended.set()


class SteppedSinks(Sinks):
    """Receivers with at most one stop, which is over when a session has reached it."""

    stop_at_step = None

    def stop_at(self, step):
        """Returns a stop at a step of `Sinks.reached`. Call it before the session can be there: at a stop, or before the
        email is sent.
        """
        self.stop_at_step = Stop(step)
        return self.stop_at_step

    def reached(self, session, step):
        stop = self.stop_at_step
        if stop is not None and stop.step == step:
            self.stop_at_step = None
            stop.begin(session)
