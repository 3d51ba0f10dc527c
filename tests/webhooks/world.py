"""The environment of the cases: the receiver, the servers under test and their endpoints."""

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
        # Server of the concurrent cases. Each case has its own endpoints and sends them test events.
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
        """Returns a server that is not started. `per_second` limits the webhook rate; 0 for no limit."""
        server = Server(self.directory / name, Hold(), extra=["--webhook-rate", str(per_second)])
        with self.lock:
            self.servers.append(server)
        return server

    def secret(self):
        """Returns a new secret. The last case asserts that no file contains it."""
        secret = "whsec_" + base64.b64encode(os.urandom(SECRET_BYTES)).decode()
        with self.lock:
            self.secrets.append(secret)
        return secret

    def subscribe(self, server, url, event="contact.created", secret=None):
        """Creates an endpoint for one event type. Without `secret`, the server generates one."""
        wanted = {"endpoint": url, "events": [event]}
        if secret is not None:
            wanted["signing_secret"] = secret
        created = server.api.ok("POST", "/webhooks", wanted)
        endpoint = Endpoint(server, created["id"], url, created["signing_secret"])
        with self.lock:
            self.endpoints.append(endpoint)
            self.secrets.append(endpoint.secret)
        return endpoint

    def endpoint(self, name, mode, **more):
        """Creates an endpoint of the common server at NAME of the receiver, and configures its responses."""
        endpoint = self.subscribe(self.common, self.receiver.url(name), "email.delivered")
        self.receiver.configure(name, mode, **more)
        return endpoint

    def search_for_secrets(self):
        """Asserts that no file of the servers contains a secret, neither as text nor decoded."""
        files = [path for path in self.directory.rglob("*") if path.is_file() and path.stat().st_size > 0]
        needles = set()
        for secret in self.secrets:
            text = secret.removeprefix("whsec_")
            needles |= {text.encode(), base64.b64decode(text)}
        found, urls = [], 0
        for path in files:
            with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                found += [str(path) for needle in needles if content.find(needle) >= 0]
                # URLs are stored in plain text. Finding one proves that the search reads the store files.
                urls += path.name.endswith(".redb") and content.find(b"http://127.0.0.1:") >= 0
        assert not found, f"readable secrets in {sorted(set(found))}"
        assert urls > 0, "no URL was found in any store file: the search reads the wrong files"
        return f"{len(set(self.secrets))} secrets, {len(files)} files, 0 found"


@dataclasses.dataclass(frozen=True)
class Endpoint:
    server: Server
    id: str
    url: str
    secret: str

    def send_test(self):
        """Queues a sample event. Returns the id of its delivery."""
        return self.server.api.ok("POST", f"/webhooks/{self.id}/test")["id"]

    def event(self, delivery):
        return self.server.api.ok("GET", f"/webhooks/{self.id}/events/{delivery}")

    def attempts(self, delivery):
        """Returns the attempts of a delivery, oldest first."""
        rows = self.server.api.ok("GET", f"/webhooks/{self.id}/events/{delivery}/attempts?limit={PAGE}")["data"]
        return rows[::-1]

    def replay(self, delivery):
        self.server.api.ok("POST", f"/webhooks/{self.id}/events/{delivery}/replay")

    def move(self, url):
        """Changes the URL of the endpoint."""
        self.server.api.ok("PATCH", f"/webhooks/{self.id}", {"endpoint": url})

    def rotate(self, secret, overlap_hours):
        wanted = {"signing_secret": secret, "overlap_hours": overlap_hours}
        self.server.api.ok("POST", f"/webhooks/{self.id}/rotate", wanted)

    def statuses(self):
        """Returns the number of deliveries by status."""
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
        """Waits until a delivery has at least `count` attempts. Returns them, oldest first."""

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
    """Returns the seconds between two timestamps of the API."""
    return (datetime.datetime.fromisoformat(later) - datetime.datetime.fromisoformat(earlier)).total_seconds()


def gaps(attempts):
    """Returns the seconds from each attempt to the next."""
    times = [attempt["sent_at"] for attempt in attempts]
    return [seconds_between(*pair) for pair in zip(times, times[1:], strict=False)]
