"""Everything the cases talk to: the receiver, the servers under test, and their endpoints."""

import base64
import collections
import dataclasses
import datetime
import mmap
import os
import pathlib
import threading

from deadline import wait_until
from receiver import Receiver
from server import Hold, Server

PAGE = 100
BATCH = 1_000
SECRET_BYTES = 24


class World:
    def __init__(self, directory, seed):
        self.directory = pathlib.Path(directory)
        self.seed = seed
        self.lock = threading.Lock()
        self.servers = []
        self.endpoints = []
        self.secrets = []
        self.receiver = None
        # The server of the cases that run together: each has endpoints of its own and sends them tests.
        self.common = self.server("common")

    def start(self):
        self.receiver = Receiver()
        self.common.start()

    def stop(self):
        for server in self.servers:
            server.end()
        if self.receiver is not None:
            self.receiver.stop()

    def server(self, name, per_second=0):
        """A server that is not started yet. Webhooks go as fast as they can, unless a ceiling is given."""
        server = Server(self.directory / name, Hold(), extra=["--webhook-rate", str(per_second)])
        with self.lock:
            self.servers.append(server)
        return server

    def secret(self):
        """A fresh secret, which must be found in no file in the end."""
        secret = "whsec_" + base64.b64encode(os.urandom(SECRET_BYTES)).decode()
        with self.lock:
            self.secrets.append(secret)
        return secret

    def subscribe(self, server, url, event="contact.created", secret=None):
        """An endpoint that hears of one type of event; its secret is generated when none is given."""
        wanted = {"endpoint": url, "events": [event]}
        if secret is not None:
            wanted["signing_secret"] = secret
        made = server.api.ok("POST", "/webhooks", wanted)
        endpoint = Endpoint(server, made["id"], url, made["signing_secret"])
        with self.lock:
            self.endpoints.append(endpoint)
            self.secrets.append(endpoint.secret)
        return endpoint

    def told(self, name, mode, **more):
        """An endpoint of the common server at the receiver's NAME, which answers as it is told."""
        endpoint = self.subscribe(self.common, self.receiver.url(name), "email.delivered")
        self.receiver.tell(name, mode, **more)
        return endpoint

    def search_for_secrets(self):
        """Asserts that no file under the directory holds a secret, as text or decoded."""
        files = [path for path in self.directory.rglob("*") if path.is_file() and path.stat().st_size > 0]
        needles = set()
        for secret in self.secrets:
            text = secret.removeprefix("whsec_")
            needles |= {text.encode(), base64.b64decode(text)}
        found, urls = [], 0
        for path in files:
            with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                found += [str(path) for needle in needles if content.find(needle) >= 0]
                # What is not sealed is found in this way: the search can find something.
                urls += path.name.endswith(".redb") and content.find(b"http://127.0.0.1:") >= 0
        assert not found, f"secrets lie readable in {sorted(set(found))}"
        assert urls > 0, "no URL was found in any store file: the search looks in the wrong place"
        return f"{len(set(self.secrets))} secrets, {len(files)} files, 0 found"


@dataclasses.dataclass(frozen=True)
class Endpoint:
    server: Server
    id: str
    url: str
    secret: str

    def send_test(self):
        """Queues a sample event; returns the id of its delivery."""
        return self.server.api.ok("POST", f"/webhooks/{self.id}/test")["id"]

    def event(self, delivery):
        return self.server.api.ok("GET", f"/webhooks/{self.id}/events/{delivery}")

    def attempts(self, delivery):
        """Oldest first."""
        rows = self.server.api.ok("GET", f"/webhooks/{self.id}/events/{delivery}/attempts?limit={PAGE}")["data"]
        return rows[::-1]

    def replay(self, delivery):
        self.server.api.ok("POST", f"/webhooks/{self.id}/events/{delivery}/replay")

    def move(self, url):
        """Has events posted somewhere else from here on."""
        self.server.api.ok("PATCH", f"/webhooks/{self.id}", {"endpoint": url})

    def rotate(self, secret, overlap_hours):
        wanted = {"signing_secret": secret, "overlap_hours": overlap_hours}
        self.server.api.ok("POST", f"/webhooks/{self.id}/rotate", wanted)

    def statuses(self):
        """How many deliveries are in each status."""
        counts, after = collections.Counter(), ""
        while True:
            page = self.server.api.ok("GET", f"/webhooks/{self.id}/events?limit={PAGE}{after}")
            counts.update(row["status"] for row in page["data"])
            if not page["has_more"]:
                return dict(counts)
            after = f"&after={page['data'][-1]['id']}"

    def wait_for_statuses(self, wanted, seconds):
        seen = {}

        def reached():
            seen.clear()
            seen.update(self.statuses())
            return seen == wanted

        wait_until(reached, seconds, lambda: f"deliveries to be {wanted}; last read: {seen}", pause_s=0.1)

    def wait_for_attempts(self, delivery, count, seconds=30):
        """Returns the attempts once there are so many of them."""

        def reached():
            attempts = self.attempts(delivery)
            return len(attempts) >= count and attempts

        return wait_until(reached, seconds, lambda: f"{count} attempts: {self.attempts(delivery)}", pause_s=0.05)

    def wait_for_success(self, delivery, seconds=30):
        wait_until(
            lambda: self.event(delivery)["status"] == "success", seconds,
            lambda: f"the delivery to succeed: {self.event(delivery)}", pause_s=0.05,
        )  # fmt: skip


def add_contacts(server, count, label):
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        batch = [{"email": f"{label}{start + number}@example.net"} for number in range(size)]
        server.api.ok("POST", "/contacts/batch", batch)


def seconds_between(earlier, later):
    """Between two times as the API writes them."""
    return (datetime.datetime.fromisoformat(later) - datetime.datetime.fromisoformat(earlier)).total_seconds()


def gaps(attempts):
    """The seconds from each attempt to the next."""
    times = [attempt["sent_at"] for attempt in attempts]
    return [seconds_between(*pair) for pair in zip(times, times[1:], strict=False)]
