"""A disk that returns I/O errors for some time, while outcomes are to be stored. `failing_disk.c` causes the errors."""

import datetime
import os
import time

from disk import SESSIONS_MAX, Load, check_refusals
from lib import World, main, wait_until
from server import Server
from steps import SteppedSinks

TURNS = 2
LOADS_MAX = 5  # Loads of a case whose fault may affect no commit of a request or an outcome.
REFUSED_MIN = 20  # Requests of a turn that are refused.
REJECTS = "the store rejects changes until its file can be opened again"
# The log has a line for the attempts 1, 2, 4, and so on, to open the store again.
NOT_OPENED, NOT_OPENED_MIN = "could not open the store again", 2


class FailingDiskServer(Server):
    """A server whose disk fails while a file exists in `faults`. The name of the file is the fault."""

    @property
    def faults(self):
        return self.directory / "faults"

    def environment(self):
        library = os.environ["FAILING_DISK_LIBRARY"]
        return {**super().environment(), "LD_PRELOAD": library, "FAILING_DISK": str(self.faults)}

    def spawn(self):
        self.faults.mkdir(exist_ok=True)
        super().spawn()


class FailingDiskWorld(World):
    def __init__(self, directory):
        super().__init__(directory, make_server=FailingDiskServer, make_sinks=SteppedSinks)
        self.site("full.test")

    def logged(self, text):
        """Returns how often the log has this text."""
        return self.server.log_path.read_text(errors="replace").count(text)

    def wait_for_log(self, text, count):
        wait_until(lambda: self.logged(text) >= count, 60, lambda: f"{count} times {text!r}\n{self.server.log_tail()}")

    def fail_at_the_final_dot(self, fault):
        """Makes the disk fail while the receiver has a message without its reply. Returns the file of the fault."""
        stop = self.sinks.stop_at("final dot")
        stop.wait()
        file = self.server.faults / fault
        file.touch()
        stop.end()
        return file

    def fail_for_long(self, fault, load):
        """Makes the disk fail under load, until the server has refused requests and has tried to open the store again."""
        refused, not_opened = len(self.refused), self.logged(NOT_OPENED)
        load = Load(self, load)
        try:
            file = self.fail_at_the_final_dot(fault)
            self.wait_for_log(NOT_OPENED, not_opened + NOT_OPENED_MIN)
            wait_until(lambda: len(self.refused) > refused + REFUSED_MIN, 60, self.server.log_tail)
        finally:
            load.stop()
        return file

    def wait_for_acceptance(self, name):
        wait_until(lambda: self.send(f"{name}@full.test"), 60, self.server.log_tail, pause_s=0.2)

    def waited(self, until):
        """Returns the recipients whose outcome was stored after this time, although their server had replied before."""
        recipients = [to for to, arrivals in self.sinks.arrived.items() if arrivals[0].at < until]
        return [to for to in recipients if delivered_at(self.email(to)) > until]

    def check(self, name):
        """Waits for all emails, and asserts that none is lost or repeated, and that no refused one left."""
        self.finish(name)
        assert self.unanswered == 0, f"{self.unanswered} requests without a response"
        stored = self.sinks.arrived.keys() - self.accepted.keys()
        assert not stored, f"{len(stored)} emails left although their requests were refused: {sorted(stored)[:5]}"


def delivered_at(email):
    """Returns the time of the commit of the outcome `delivered`, in seconds of the wall clock."""
    [at] = [event["created_at"] for event in email["events"] if event["type"] == "email.delivered"]
    return datetime.datetime.fromisoformat(at).timestamp()


def outcomes_wait_while_the_disk_fails(directory):
    with FailingDiskWorld(directory) as world:
        process, ends = world.server.process, []
        for turn in range(TURNS):
            fault = world.fail_for_long("writes", f"load{turn}")
            ends.append(time.time())
            fault.unlink()
            world.wait_for_acceptance(f"after{turn}")
        assert world.server.process is process and process.poll() is None, "the server ended"
        check_refusals(world, least=TURNS * REFUSED_MIN)
        world.check("failing disk")
        waited = [world.waited(end) for end in ends]
        print(f"failing disk: {[len(recipients) for recipients in waited]} outcomes waited for the end of the errors")
        for recipients in waited:
            assert 0 < len(recipients) <= SESSIONS_MAX, f"messages without a stored outcome at the end: {recipients}"
        world.server.stop()


def a_commit_that_fails_and_is_on_the_disk_repeats_nothing(directory):
    """The first attempt to open the store again finds the commit on the disk."""
    with FailingDiskWorld(directory) as world:
        process = world.server.process
        for turn in range(TURNS):
            failed = world.logged(REJECTS)
            load = Load(world, f"load{turn}")
            try:
                world.fail_at_the_final_dot("sync")
                world.wait_for_log(REJECTS, failed + 1)
            finally:
                load.stop()
            world.wait_for_acceptance(f"after{turn}")
        assert world.server.process is process and process.poll() is None, "the server ended"
        assert world.logged(NOT_OPENED) == 0, world.server.log_tail()
        check_refusals(world, least=0)
        world.check("one failed sync")
        world.server.stop()


def syncs_that_fail_for_long_end_the_server_and_lose_nothing(directory):
    """The commit that was reported as failed is on the disk. The next start repeats at most the open sessions."""
    with FailingDiskWorld(directory) as world:
        process = world.server.process
        for turn in range(LOADS_MAX):
            fault = world.fail_for_long("syncs", f"load{turn}")
            fault.unlink()
            name = f"after{turn}@full.test"
            wait_until(lambda name=name: process.poll() is not None or world.send(name), 60, world.server.log_tail)
            if process.poll() is not None:
                break
        else:
            raise AssertionError(f"the server continued after each of {LOADS_MAX} loads")
        check_refusals(world, least=REFUSED_MIN)
        assert process.poll() == 1, f"the server exited with code {process.poll()}\n{world.server.log_tail()}"
        world.server.end()
        world.server.start()
        world.wait_for_acceptance("restarted")
        world.finish("failing syncs", repeats_max=SESSIONS_MAX)
        world.server.stop()


CASES = [
    outcomes_wait_while_the_disk_fails,
    a_commit_that_fails_and_is_on_the_disk_repeats_nothing,
    syncs_that_fail_for_long_end_the_server_and_lose_nothing,
]

if __name__ == "__main__":
    main(CASES)
