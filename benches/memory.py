"""The peak memory of the server in two floods: unfinished request heads, and unread responses."""

import base64
import json
import os
import resource
import selectors
import shutil
import socket
import time

from machine import table
from server import API_KEY, SENDER, Api, Hold, Server

SOURCES = 24  # Loopback addresses of the clients, so that a limit for each address does not end the flood.
TARGET_MIB = 300
LARGE_BYTES = 4 << 20
LISTED = 100
RECIPIENTS = 50
HEAD_BYTES_MAX = 1 << 20
STEP_BYTES = 4096
STUCK_S = 20.0  # Time without progress after which the server accepts no more.
FLOOD_S = 180
RESPOND_S = 5.0  # From the last request to the measurement.
AFTER_S = 20  # From the end of the connections to the last measurement: allocators return memory with a delay.


def run(options):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = min(options.connections, hard - 200)
    rows = []
    for name, flood in (("unfinished heads", heads), ("unread responses", responses)):
        server = Server(options.directory / "memory-flood", Hold(), profile="release")
        try:
            server.start()
            rows.append([name, *measure(server, flood, count)])
        finally:
            server.end()
            shutil.rmtree(server.directory, ignore_errors=True)
    table(
        ["flood", "connections", "open at the peak", "bytes sent each", "idle MiB", "peak MiB", "peak / target",
         "MiB after", "GET /health ms in it"],
        rows,
    )  # fmt: skip
    print(f"target: {TARGET_MIB} MiB with 10,000 connections")


def measure(server, flood, count):
    payloads = flood(server)
    idle = server.status_kib("VmRSS") / 1024
    # The peak of the preparation is not a part of the flood.
    with open(f"/proc/{server.process.pid}/clear_refs", "w") as file:
        file.write("5")
    clients = Clients(server.port, count)
    clients.send(payloads)
    health_ms = clients.health_ms()
    still_open = clients.count_open()
    clients.close()
    if server.process.poll() is not None:
        return [count, still_open, len(payloads[0]), f"{idle:.0f}", "the process ended", "-", "-", "-"]
    peak = server.status_kib("VmHWM") / 1024
    time.sleep(AFTER_S)
    after = server.status_kib("VmRSS") / 1024
    return [f"{count:,}", f"{still_open:,}", f"{len(payloads[0]):,}", f"{idle:.0f}", f"{peak:.0f}",
            f"{peak / TARGET_MIB:.2f}", f"{after:.0f}", health_ms]  # fmt: skip


def heads(server):
    """Returns the largest unfinished head that the server keeps."""
    low, high = STEP_BYTES, HEAD_BYTES_MAX
    while high - low > STEP_BYTES:
        middle = (low + high) // 2
        low, high = (middle, high) if is_kept(server.port, unfinished_head(middle)) else (low, middle)
    return [unfinished_head(low)]


def unfinished_head(length):
    head = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Filler: "
    return head + b"a" * (length - len(head))


def is_kept(port, head):
    """Returns whether the server neither responds to an unfinished head nor closes its connection."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.settimeout(0.5)
        try:
            client.sendall(head)
            client.recv(1)
            return False
        except TimeoutError:
            return True
        except OSError:
            return False


def responses(server):
    """Stores large emails. Returns requests of one key: an attachment, an email and a list, in turn."""
    text = base64.b64encode(os.urandom(LARGE_BYTES)).decode()
    to = [f"recipient-{number}-{'x' * 40}@customer.example.net" for number in range(RECIPIENTS)]
    batch = [{"from": SENDER, "to": to, "subject": "s" * 200, "text": "text"} for _ in range(LISTED)]
    server.api.ok("POST", "/emails/batch", batch)
    html = "<p>" + text
    attached = [{"filename": "random.bin", "content": text}]
    body = json.dumps({"from": SENDER, "to": to[0], "subject": "s", "html": html, "attachments": attached}).encode()
    email = server.api.ok("POST", "/emails", body)["id"]
    attachment = server.api.ok("GET", f"/emails/{email}/attachments")["data"][0]["id"]
    paths = [f"/emails/{email}/attachments/{attachment}", f"/emails/{email}", f"/emails?limit={LISTED}"]
    return [
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {API_KEY}\r\n\r\n".encode() for path in paths
    ]


class Clients:
    """Connections from several loopback addresses that send one payload each and never read."""

    def __init__(self, port, count):
        self.port, self.count = port, count
        self.selector = selectors.DefaultSelector()
        self.left = {}

    def send(self, payloads):
        """Connects and sends until every payload is sent, or nothing has changed for `STUCK_S`."""
        began = changed = time.monotonic()
        opened = pending = 0
        while time.monotonic() - changed < STUCK_S and time.monotonic() - began < FLOOD_S:
            if opened == self.count and not pending:
                time.sleep(RESPOND_S)
                return
            while opened < self.count and pending < 512:
                self.open(opened, payloads[opened % len(payloads)])
                opened, pending = opened + 1, pending + 1
            for key, _ in self.selector.select(0.1):
                if self.push(key.fileobj):
                    changed = time.monotonic()
            pending = sum(1 for left in self.left.values() if left)

    def open(self, number, payload):
        client = socket.socket()
        client.setblocking(False)
        # The kernel of the client takes as little of a response as possible.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        client.bind((f"127.0.0.{2 + number % SOURCES}", 0))
        client.connect_ex(("127.0.0.1", self.port))
        self.left[client] = memoryview(payload)
        self.selector.register(client, selectors.EVENT_WRITE)

    def push(self, client):
        try:
            self.left[client] = self.left[client][client.send(self.left[client]) :]
        except BlockingIOError:
            return False
        except OSError:
            self.left[client] = memoryview(b"")
        if not self.left[client]:
            self.selector.unregister(client)
        return True

    def count_open(self):
        """Returns the number of connections that the server has neither closed nor reset."""
        return sum(1 for client in self.left if is_open(client))

    def health_ms(self):
        began = time.monotonic()
        api = Api(self.port, timeout_s=10)
        try:
            status, _ = api.call("GET", "/health")
            return f"{(time.monotonic() - began) * 1000:.1f}" if status == 200 else "refused"
        except OSError:
            return "none in 10 s"
        finally:
            api.close()

    def close(self):
        for client in self.left:
            client.close()
        self.selector.close()


def is_open(client):
    try:
        return client.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
