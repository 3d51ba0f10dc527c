"""The server under test: its binary, its process and its HTTP interface.

Only this file names the flags and variables of the server that the Python suites and benches use.
"""

import base64
import dataclasses
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

from deadline import wait_until
from ports import free_port

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
if not TARGET.is_absolute():
    TARGET = ROOT / TARGET

# Secret for requests to /ingest.
INGEST_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
API_KEY = "rm_0123456789abcdefghijklmnopqrstuv"
DOMAIN = "mail.example.com"
SENDER = f"Ringmail tests <notify@{DOMAIN}>"

START_SECONDS = 30
STOP_SECONDS = 50  # The server gives sessions that are past DATA 30 seconds.


@dataclasses.dataclass(frozen=True)
class Capture:
    """Delivery into the built-in mailbox."""

    def arguments(self):
        return ["--delivery", "capture"]


@dataclasses.dataclass(frozen=True)
class Hold:
    """No delivery: emails are accepted and queued. The benches fill a store with it."""

    def arguments(self):
        return ["--hold"]


@dataclasses.dataclass(frozen=True)
class Relay:
    """Delivery through one smarthost."""

    url: str

    def arguments(self):
        return ["--delivery", "relay", "--relay", self.url]


@dataclasses.dataclass(frozen=True)
class Direct:
    """Delivery to MX hosts from the given resolver, on loopback addresses and a given port."""

    resolver: str
    smtp_port: int
    hostname: str = "mx.ringmail.test"

    def arguments(self):
        return [
            "--delivery", "direct",
            "--resolver", self.resolver,
            "--smtp-port", str(self.smtp_port),
            "--allow-address", "127.0.0.0/8",
            "--hostname", self.hostname,
        ]  # fmt: skip


def binary(profile="debug"):
    """Returns the path of the binary under test: `RINGMAIL_BIN`, or else the build of `profile`."""
    given = os.environ.get("RINGMAIL_BIN")
    return pathlib.Path(given) if given else TARGET / profile / "ringmail"


def signed(message_id, body):
    """Returns the headers that sign a request as specified by Standard Webhooks, with the current time."""
    timestamp = str(int(time.time()))
    content = f"{message_id}.{timestamp}.".encode() + body
    key = base64.b64decode(INGEST_SECRET.removeprefix("whsec_"))
    signature = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return {"webhook-id": message_id, "webhook-timestamp": timestamp, "webhook-signature": f"v1,{signature}"}


class Refused(AssertionError):
    """The server returned an error where the suite expects success."""

    def __init__(self, method, path, status, body):
        super().__init__(f"{method} {path} returned {status}: {body}")
        self.status = status
        self.body = body


class Api:
    """One keep-alive connection to the HTTP interface. It must not be shared between threads."""

    def __init__(self, port, key=API_KEY, timeout_s=30):
        self.port, self.key, self.timeout_s = port, key, timeout_s
        self.connection = None

    def call(self, method, path, body=None, headers=None):
        """Returns `(status, decoded body)`. A lost connection raises `OSError`."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        sent.update(headers or {})
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout_s)
            self.connection.connect()
            self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self.connection.request(method, path, data, sent)
            response = self.connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise ConnectionError(f"{method} {path}: {error!r}") from error
        return response.status, json.loads(text) if text else None

    def ok(self, method, path, body=None, headers=None):
        """Returns the decoded body of a 2xx response. Any other status raises `Refused`."""
        status, decoded = self.call(method, path, body, headers)
        if not 200 <= status < 300:
            raise Refused(method, path, status, decoded)
        return decoded

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Server:
    """One data directory and its server process, which can be started and stopped repeatedly."""

    def __init__(self, directory, delivery, *, profile="debug", domains=(DOMAIN,), retry_delays=None, confirm_after=None, extra=()):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.delivery = delivery
        self.profile = profile
        self.domains = domains
        self.retry_delays, self.confirm_after = retry_delays, confirm_after
        self.extra = list(extra)
        self.port = free_port()
        self.process = None
        self.log_path = self.directory / "server.log"
        self.local = threading.local()

    @property
    def data_dir(self):
        return self.directory / "data"

    @property
    def store_path(self):
        return self.data_dir / "ringmail.redb"

    def arguments(self):
        line = [str(binary(self.profile)), "dev", "--listen", f"127.0.0.1:{self.port}"]
        line += ["--data-dir", str(self.data_dir), "--api-key", API_KEY, "--ingest-secret", INGEST_SECRET]
        for name in self.domains:
            line += ["--domain", name]
        if self.profile == "release":
            # A server that is measured does not print its events, as that of `serve` does not.
            line.append("--json")
        return line + self.delivery.arguments() + self.extra

    def environment(self):
        # Settings of the caller's shell must not change the behaviour of the server.
        clean = {name: value for name, value in os.environ.items() if not name.startswith("RINGMAIL_")}
        clean["RINGMAIL_RATE_LIMIT"] = "0"
        if self.retry_delays:
            clean["RINGMAIL_RETRY_DELAYS"] = self.retry_delays
        if self.confirm_after:
            clean["RINGMAIL_CONFIRM_AFTER"] = self.confirm_after
        return clean

    def spawn(self):
        """Starts the process without waiting until it is ready."""
        assert self.process is None, "the server is running already"
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                self.arguments(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment(),
                cwd=self.directory, start_new_session=True,
            )  # fmt: skip

    def start(self, pause_s=0.02, seconds=START_SECONDS):
        """Starts the process and waits until `GET /health` returns 200."""
        self.spawn()
        what = lambda: f"the server to respond to /health\n{self.log_tail()}"  # noqa: E731
        wait_until(self.is_ready, seconds, what, pause_s)
        return self

    def is_ready(self):
        code = self.process.poll()
        assert code is None, f"the server exited with code {code} during its start\n{self.log_tail()}"
        probe = Api(self.port, timeout_s=2)
        try:
            return probe.call("GET", "/health")[0] == 200
        except (OSError, ValueError):
            return False
        finally:
            probe.close()

    def stop(self):
        """Stops the process with SIGTERM and asserts that its exit code is 0."""
        if self.process is None:
            return
        self.api.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the server did not stop within {STOP_SECONDS} s\n{self.log_tail()}") from None
        self.process = None
        assert code == 0, f"the server stopped with exit code {code}\n{self.log_tail()}"

    def command(self, *words):
        """Runs a verb of the command line on the store. Returns the completed process."""
        line = [str(binary(self.profile)), *words, "--data-dir", str(self.data_dir)]
        return subprocess.run(line, capture_output=True, text=True, timeout=60, env=self.environment())

    def kill(self):
        """Kills the process with SIGKILL and reaps it. Returns the monotonic time of the signal."""
        self.api.close()
        at = time.monotonic()
        self.process.kill()
        self.process.wait()
        self.process = None
        return at

    def end(self):
        """Kills the process if it is running. For clean-up code."""
        if self.process is not None:
            self.kill()

    def cli(self, *words):
        """Runs a verb as `command` does, which must succeed. Returns its output."""
        done = self.command(*words)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}{done.stdout}"
        return done.stdout

    def wait_until_enqueued(self, broadcast, seconds):
        """Waits until each recipient of a broadcast has a queue row. The log must have the `info` of `ringmail::broadcasts`."""
        line = f"all recipients of broadcast {broadcast} are in the queue"
        wait_until(
            lambda: line in self.log_path.read_text(errors="replace"), seconds,
            lambda: f"the end of the queue rows\n{self.log_tail()}", pause_s=0.1,
        )  # fmt: skip

    def log_tail(self, lines=25):
        try:
            return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])
        except FileNotFoundError:
            return "(no log)"

    def status_kib(self, field):
        """Returns a size from `/proc/PID/status` in KiB, such as `VmHWM` (peak memory) or `VmRSS`."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1])
        raise KeyError(field)

    @property
    def api(self):
        """Returns the connection of the calling thread."""
        if getattr(self.local, "api", None) is None:
            self.local.api = Api(self.port)
        return self.local.api

    def send(self, to, **fields):
        """Sends one email and returns its id. Subject and text have defaults."""
        email = {"from": SENDER, "to": to, "subject": "Delivery check", **fields}
        if "text" not in email and "html" not in email:
            email["text"] = "A message of the delivery suite.\n"
        return self.api.ok("POST", "/emails", email)["id"]

    def track(self):
        """Switches tracking of opens and clicks on for all domains."""
        for domain in self.api.ok("GET", "/domains")["data"]:
            self.api.ok("PATCH", f"/domains/{domain['id']}", {"open_tracking": True, "click_tracking": True})

    def ingest_message(self, message):
        """Posts a delivery report that a mail server sent, and returns the response."""
        return self.api.ok("POST", "/ingest/message", message, signed("msg_report", message))

    def email(self, email_id):
        return self.api.ok("GET", f"/emails/{email_id}")

    def wait_for(self, email_id, events, seconds=30):
        """Polls `GET /emails/{id}` until `last_event` is one of `events`. Returns the email."""
        wanted = {events} if isinstance(events, str) else set(events)
        seen = {}

        def reached():
            seen.update(self.email(email_id))
            return seen["last_event"] in wanted and dict(seen)

        return wait_until(
            reached, seconds, lambda: f"{' or '.join(sorted(wanted))}; last read: {describe(seen)}", pause_s=0.05
        )

    def wait_for_recipients(self, email_id, wanted, seconds=30):
        """Polls until the recipients have the last events of `wanted`, by address. Returns the email."""
        seen = {}

        def reached():
            seen.update(self.email(email_id))
            return outcomes(seen) == wanted and dict(seen)

        return wait_until(reached, seconds, lambda: f"{wanted}; last read: {describe(seen)}", pause_s=0.05)


def outcomes(email):
    """Returns the last event of each recipient by address."""
    return {row["email"]: row["last_event"] for row in email.get("recipients", [])}


def describe(email):
    return {name: email.get(name) for name in ("id", "last_event", "recipients")}
