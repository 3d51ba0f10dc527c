#!/usr/bin/env python3
"""Kills of the server at each step of an SMTP session, and directly after the response to a request.

    tests/faults/session_kill.py [WORD...]

At each step, the receiver waits while the server is killed. Each kill concerns a session with several emails.
"""

import os
import signal

from lib import GOOD, Habit, World, main, wait_until
from steps import SteppedSinks

SEQUENTIAL = "127.0.2.2"
HABITS = {GOOD: Habit(), SEQUENTIAL: Habit(pipelines=False)}
EMAILS = 3
# More than the buffers of both sockets and one read of the receiver, so that the final dot is not sent when the first
# part of the message arrives.
LARGE_TEXT = "A line of a large message, which the receiver has in part.\n" * 150_000
# Steps of the first message before the receiver has all of it.
EARLY_STEPS = ("connection", "EHLO", "MAIL", "RCPT", "DATA", "message")


class Kills(World):
    """Kills the server again and again. All emails of a kill are for one site, which has one session."""

    def __init__(self, directory, address):
        super().__init__(directory, habits=HABITS, extra=["--concurrency", "1"], make_sinks=SteppedSinks)
        self.address = address

    def send_session(self, step, large=None):
        """Sends the emails of a session in one request. Returns their recipients. `large` is the position of the large
        one.
        """
        domain = self.site(f"{step.lower().replace(' ', '-')}.test", self.address)
        people = [f"r{number}@{domain}" for number in range(EMAILS)]
        self.send_together({to: {"text": LARGE_TEXT} if number == large else {} for number, to in enumerate(people)})
        return people

    def check(self, step, people, repeated=()):
        """Waits for all emails of a session. Prints their counts, and asserts that exactly those to `repeated` arrived
        twice.
        """
        self.wait_for_outcomes(people)
        arrivals = {to: len(self.sinks.arrived[to]) for to in people}
        out = sum(count > 0 for count in arrivals.values())
        copies = sum(arrivals.values()) - out
        print(f"kill at {step}: {len(people)} in, {out} out, {len(people) - out} lost, {copies} repeated", flush=True)
        assert arrivals == {to: 1 + (to in repeated) for to in people}, f"kill at {step}: {arrivals}"
        for to in repeated:
            marks = [attempt["possible_duplicate"] for attempt in self.attempts(to)]
            assert marks == [True], f"kill at {step}: possible_duplicate of the attempts to {to} is {marks}"

    def kill(self, step, people, stop, *, arrived=(), repeated=()):
        """Kills the server at a stop of the receivers, and starts it again. `arrived` are the recipients who have their
        email at that time.
        """
        before = [to for to in people if to in self.sinks.arrived]
        assert before == list(arrived), f"arrived before the kill at {step}: {before}"
        self.server.kill()
        stop.end()
        self.server.start()
        self.check(step, people, repeated)

    def at_the_response(self):
        """Kills the server when the client has read the response. No message leaves before, because the name server
        does not respond.
        """
        self.names.outage = "silent"
        people = self.send_session("response")
        self.server.kill()
        assert not self.sinks.sessions, "a session began before the kill"
        self.names.outage = None
        self.server.start()
        self.check("the response to the request", people)

    def at(self, step):
        """Kills the server at a step of its first message, before the receiver has all of it."""
        stop = self.sinks.stop_at(step)
        people = self.send_session(step, large=0 if step == "message" else None)
        stop.wait()
        self.kill(f"the step {step}", people, stop)

    def at_the_final_dot(self):
        """Kills the server when the receiver has the message, and before its reply."""
        stop = self.sinks.stop_at("final dot")
        people = self.send_session("final dot")
        stop.wait()
        self.kill("the final dot", people, stop, arrived=people[:1], repeated=people[:1])

    def after_the_reply(self):
        """Kills the server when the reply to the final dot is written, and before the server can read it."""
        stop = self.sinks.stop_at("final dot")
        people = self.send_session("reply")
        stop.wait()
        freeze(self.server.process)
        replied = self.sinks.stop_at("250")
        stop.end()
        replied.wait()
        self.kill("the reply to the final dot", people, replied, arrived=people[:1], repeated=people[:1])

    def in_the_second_message(self):
        """Kills the server when the outcome of the first message is stored, and a part of the second has arrived."""
        stop = self.sinks.stop_at("250")
        people = self.send_session("second", large=1)
        first = stop.wait()
        partial = self.sinks.stop_at("message")
        stop.end()
        second = partial.wait()
        assert (second.number, second.recipients) == (first.number, people[1:2]), "the second message is elsewhere"
        wait_until(lambda: self.is_delivered(people[0]), 30, "the outcome of the first message")
        self.kill("the second message", people, partial, arrived=people[:1])


def freeze(process):
    """Stops all threads of a process."""
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)


def kill_at_each_step(directory, name, address):
    with Kills(directory, address) as world:
        world.at_the_response()
        for step in EARLY_STEPS:
            world.at(step)
        world.at_the_final_dot()
        world.after_the_reply()
        world.in_the_second_message()
        world.finish(f"kills at each step {name}", repeats_max=2)
        world.server.stop()


def kills_at_each_step_repeat_only_after_the_final_dot(directory):
    kill_at_each_step(directory, "with pipelining", GOOD)


def kills_at_each_step_without_pipelining_repeat_only_after_the_final_dot(directory):
    kill_at_each_step(directory, "without pipelining", SEQUENTIAL)


CASES = [
    kills_at_each_step_repeat_only_after_the_final_dot,
    kills_at_each_step_without_pipelining_repeat_only_after_the_final_dot,
]

if __name__ == "__main__":
    main(CASES)
