"""A disk with little free space, a full disk, and space back. The data directory is a small file system in memory."""

import contextlib
import errno
import http.client
import json
import os
import subprocess
import threading

from lib import GOOD, World, main, wait_until
from server import API_KEY, START_SECONDS
from sinks import Habit

MIB = 1 << 20
DISK_MIB = 64
GREY = "127.0.2.2"
HABITS = {GOOD: Habit(), GREY: Habit(greylists=True)}
WRITERS = 4
ACCEPTED_MIN = 30  # Emails of a load before the disk is full.
SESSIONS_MAX = 10  # Of one site, by default.


@contextlib.contextmanager
def mounted(directory, size_mib=DISK_MIB):
    """Mounts a file system of this size as the data directory of the server."""
    directory.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_mib}m,mode=700", "tmpfs", directory], check=True)
    try:
        yield Disk(directory)
    finally:
        subprocess.run(["umount", directory], check=True)


class Disk:
    def __init__(self, directory):
        self.directory, self.ballast = directory, directory / "ballast"

    def free_bytes(self):
        facts = os.statvfs(self.directory)
        return facts.f_bavail * facts.f_frsize

    def fill(self, left_bytes=0):
        """Writes a file that leaves this much free space."""
        with open(self.ballast, "ab", buffering=0) as file:
            while (more := self.free_bytes() - left_bytes) > 0:
                try:
                    file.write(bytes(min(more, MIB)))
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    return

    def empty(self):
        self.ballast.unlink()


class Load:
    """Threads that send emails with bodies that do not compress, until `stop`.

    The constructor returns when the server has accepted `ACCEPTED_MIN` of them, so that some are in flight.
    """

    def __init__(self, world, name="load"):
        self.world, self.name, self.stopped = world, name, threading.Event()
        threads = (threading.Thread(target=self._send, args=(number,), daemon=True) for number in range(WRITERS))
        self.threads = list(threads)
        wanted = len(world.accepted) + ACCEPTED_MIN
        for thread in self.threads:
            thread.start()
        wait_until(lambda: len(world.accepted) >= wanted, 60, world.server.log_tail, pause_s=0.001)

    def _send(self, number):
        count = 0
        while not self.stopped.is_set():
            self.world.send(f"{self.name}-{number}-{count}@full.test", text=os.urandom(20_000).hex())
            count += 1

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join(60)


def request(world, method, path, body=None):
    """Returns status, headers and decoded body of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", world.server.port, timeout=30)
    headers = {"Authorization": f"Bearer {API_KEY}", "Content-Type": "application/json"}
    connection.request(method, path, json.dumps(body) if body is not None else None, headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, response.headers, json.loads(text) if text else None


def check_refusals(world, least=1):
    """Asserts that the server refused at least this many requests, all with status 503 and the shape of the API."""
    assert len(world.refused) >= least, f"{len(world.refused)} requests were refused"
    wrong = [(status, body) for status, body in world.refused if status != 503 or body["name"] != "service_unavailable"]
    assert not wrong, f"{len(wrong)} refusals with another status: {wrong[:3]}"


def low_space_refuses_new_data_and_delivery_continues(directory):
    with mounted(directory / "data") as disk:
        with World(directory, habits=HABITS, retry_delays="4s", extra=["--disk-reserve-mb", "24"]) as world:
            world.site("full.test")
            world.site("grey.test", GREY)
            assert world.send("before@full.test")
            world.wait_for(["before@full.test"], 20)
            for number in range(20):
                assert world.send(f"late{number}@grey.test")

            disk.fill(16 * MIB)
            contact = {"email": "bob@full.test"}
            wait_until(lambda: request(world, "POST", "/contacts", contact)[0] == 503, 20, "a refusal")
            assert not world.send("refused@full.test")
            status, headers, body = request(world, "POST", "/contacts", {"email": "ada@full.test"})
            assert (status, body["statusCode"], body["name"]) == (503, 503, "service_unavailable"), body
            assert int(headers["retry-after"]) > 0, headers
            assert "disk space" in body["message"], body
            # The greylisted emails leave, and reads and deletions continue.
            world.wait_for([f"late{number}@grey.test" for number in range(20)], 30)
            assert request(world, "GET", "/emails")[0] == 200
            status, _, health = request(world, "GET", "/health")
            assert (status, health["problems"]) == (503, ["disk"]), health
            assert request(world, "DELETE", f"/emails/{world.accepted['late0@grey.test']}")[0] == 200
            del world.accepted["late0@grey.test"]

            disk.empty()
            wait_until(lambda: world.send("after@full.test"), 20, "an accepted email", pause_s=0.2)
            check_refusals(world)
            world.finish("low space")
            world.server.stop()


def a_full_disk_loses_and_repeats_nothing(directory):
    with mounted(directory / "data") as disk:
        with World(directory, habits=HABITS, extra=["--disk-reserve-mb", "0"]) as world:
            world.site("full.test")
            process = world.server.process
            for turn in range(3):
                refused = len(world.refused)
                load = Load(world, f"load{turn}")
                try:
                    disk.fill()
                    wait_until(lambda: len(world.refused) > refused + 20, 60, world.server.log_tail)
                finally:
                    load.stop()
                disk.empty()
                name = f"after{turn}@full.test"
                wait_until(lambda name=name: world.send(name), 30, world.server.log_tail, pause_s=0.2)
            assert world.server.process is process and process.poll() is None, "the server ended"
            check_refusals(world, least=60)
            assert world.unanswered == 0, f"{world.unanswered} requests without a response"
            world.finish("full disk")
            stored = world.sinks.arrived.keys() - world.accepted.keys()
            assert not stored, f"{len(stored)} emails left although their requests were refused: {sorted(stored)[:5]}"
            world.server.stop()


def a_kill_while_the_disk_is_full_repeats_at_most_the_open_sessions(directory):
    with mounted(directory / "data") as disk:
        with World(directory, habits=HABITS, extra=["--disk-reserve-mb", "8"]) as world:
            world.site("full.test")
            load = Load(world)
            try:
                disk.fill()
                wait_until(lambda: len(world.refused) > 20, 60, world.server.log_tail)
            finally:
                load.stop()
            world.server.kill()
            # A start on the full disk sends nothing, because it could not store the outcome.
            arrived = sum(map(len, world.sinks.arrived.values()))
            for _ in range(3):
                world.server.spawn()
                wait_until(lambda: world.server.process.poll() is not None or is_live(world), START_SECONDS, "a start")
                world.server.kill()
            assert sum(map(len, world.sinks.arrived.values())) == arrived, "a message left while the disk was full"

            disk.empty()
            world.server.start()
            assert world.send("after@full.test")
            world.finish("kill on a full disk", repeats_max=SESSIONS_MAX)
            world.server.stop()


def is_live(world):
    """Returns whether the server responds, in whatever state."""
    try:
        return request(world, "GET", "/health")[0] in (200, 503)
    except OSError:
        return False


CASES = [
    low_space_refuses_new_data_and_delivery_continues,
    a_full_disk_loses_and_repeats_nothing,
    a_kill_while_the_disk_is_full_repeats_at_most_the_open_sessions,
]

if __name__ == "__main__":
    main(CASES)
