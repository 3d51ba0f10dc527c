"""Parts that the fault cases share: a server in direct mode, its name server and its receivers, and the counts of
messages in and out. Kills of the server under load are in `tests/crash`.

A module of this folder has a list `CASES` of functions that take the directory of their data, and ends with `main(CASES)`.
A case prints its counts with `World.finish`, and raises an `AssertionError` if it fails.
"""

import pathlib
import shutil
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

from deadline import wait_until  # noqa: E402
from names import Names  # noqa: E402
from server import SENDER, TARGET, Api, Direct, Hold, Relay, Server  # noqa: E402, F401
from sinks import Habit, Sinks  # noqa: E402

GOOD = "127.0.2.1"
RETRY_DELAYS = "1s,1s,2s,2s,4s,4s,8s,8s"
DRAIN_SECONDS = 60


class World:
    """A server, its name server, its receivers, and the emails that the server accepted.

    `make_server(directory, delivery, **settings)` returns a `Server`. A case passes its own to change the environment of
    the process. `make_sinks(habits)` returns the receivers.
    """

    def __init__(
        self,
        directory,
        *,
        habits=None,
        retry_delays=RETRY_DELAYS,
        extra=(),
        make_server=Server,
        make_sinks=Sinks,
        smarthost=None,
    ):
        """`smarthost` is the name of a smarthost. By default, the server delivers to the MX hosts."""
        self.sinks, self.names = make_sinks(habits or {GOOD: Habit()}), Names()
        delivery = Direct(self.names.address, self.sinks.port)
        if smarthost:
            delivery = Relay(f"smtp://{smarthost}:{self.sinks.port}?tls=never&final=true")
            extra = [*extra, "--resolver", self.names.address]
        self.server = make_server(directory, delivery, retry_delays=retry_delays, extra=extra)
        self.accepted = {}  # Email ids by recipient.
        self.refused = []  # (status, body) of each response that was not 200.
        self.unanswered = 0  # Requests without a response. The server may have accepted their emails.

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, *error):
        self.server.end()
        self.names.stop()
        self.sinks.stop()

    def site(self, domain, address=GOOD):
        """Adds a domain whose mail host has this address. Returns the domain."""
        self.names.mail_host(domain, address)
        return domain

    def request_body(self, recipient, **fields):
        assert recipient not in self.accepted, f"{recipient} has an email already"
        return {"from": SENDER, "to": recipient, "subject": "Fault", "text": "A message of a fault case.\n", **fields}

    def send(self, recipient, **fields):
        """Sends one email. Returns whether the server accepted it. Each recipient gets at most one email."""
        email = self.request_body(recipient, **fields)
        api = Api(self.server.port, timeout_s=60)
        try:
            status, body = api.call("POST", "/emails", email)
        except (OSError, ValueError):
            self.unanswered += 1
            return False
        finally:
            api.close()
        if status != 200:
            self.refused.append((status, body))
            return False
        self.accepted[recipient] = body["id"]
        return True

    def send_together(self, emails):
        """Sends emails in one request, which the server must accept. `emails` maps each recipient to the fields of its
        email.
        """
        bodies = [self.request_body(recipient, **fields) for recipient, fields in emails.items()]
        rows = self.server.api.ok("POST", "/emails/batch", bodies)["data"]
        self.accepted.update({recipient: row["id"] for recipient, row in zip(emails, rows, strict=True)})

    def email(self, recipient):
        """Returns the email to a recipient, from `GET /emails/{id}`."""
        return self.server.api.ok("GET", f"/emails/{self.accepted[recipient]}")

    def attempts(self, recipient):
        """Returns the stored attempts of the email to a recipient, oldest first."""
        return self.server.api.ok("GET", f"/emails/{self.accepted[recipient]}/attempts")["data"][::-1]

    def is_delivered(self, recipient):
        return self.email(recipient)["last_event"] == "delivered"

    def missing(self):
        """Returns the recipients of accepted emails that have not arrived."""
        return [recipient for recipient in self.accepted if recipient not in self.sinks.arrived]

    def wait_for(self, recipients, seconds, what="the emails to arrive"):
        """Waits until all of these recipients have an email. Returns the seconds that it took."""
        recipients, began = list(recipients), time.monotonic()

        def left():
            return [recipient for recipient in recipients if recipient not in self.sinks.arrived]

        wait_until(lambda: not left(), seconds, lambda: f"{what}; missing {left()[:5]}\n{self.server.log_tail()}")
        return time.monotonic() - began

    def wait_for_outcomes(self, recipients):
        """Waits until the emails to these recipients have arrived and are stored as delivered."""
        self.wait_for(recipients, DRAIN_SECONDS)
        waiting = list(recipients)

        def undelivered():
            waiting[:] = [recipient for recipient in waiting if not self.is_delivered(recipient)]
            return waiting

        wait_until(lambda: not undelivered(), DRAIN_SECONDS, lambda: f"the outcome of {waiting[:5]}", pause_s=0.1)

    def finish(self, name, *, repeats_max=0, not_due=()):
        """Waits until every accepted email has arrived and is stored as delivered. Prints and checks the counts.

        `repeats_max` is the number of emails that may arrive twice. The emails to the recipients in `not_due` must not
        arrive.
        """
        wanted = [recipient for recipient in self.accepted if recipient not in not_due]
        self.wait_for_outcomes(wanted)
        early = [recipient for recipient in not_due if recipient in self.sinks.arrived]
        assert not early, f"arrived before the scheduled time: {early}"
        arrived = sum(1 for recipient in self.accepted if recipient in self.sinks.arrived)
        later = f"{len(not_due)} not due, " if not_due else ""
        copies = {recipient: arrivals for recipient, arrivals in self.sinks.arrived.items() if len(arrivals) > 1}
        repeated = sum(len(arrivals) - 1 for arrivals in copies.values())
        print(
            f"{name}: {len(self.accepted)} in, {arrived} out, {len(wanted) - arrived} lost, {later}{repeated} repeated, "
            f"{len(self.refused)} refused, {self.unanswered} without a response",
            flush=True,
        )
        assert arrived == len(wanted), f"{arrived} of {len(wanted)} emails arrived"
        assert repeated <= repeats_max, f"{repeated} emails arrived again: {sorted(copies)[:5]}"
        changed = [recipient for recipient, arrivals in copies.items() if len({one.message_id for one in arrivals}) > 1]
        assert not changed, f"repeated with another Message-ID: {changed}"


def main(cases):
    """Runs the cases whose names contain one of the words of the command line, or all. Exits with 1 if one fails.
    `suite.py` runs each case this way.
    """
    words = sys.argv[1:]
    chosen = [case for case in cases if not words or any(word in case.__name__ for word in words)]
    TARGET.mkdir(parents=True, exist_ok=True)
    failed = 0
    for case in chosen:
        directory = pathlib.Path(tempfile.mkdtemp(prefix="fault-", dir=TARGET))
        began = time.monotonic()
        try:
            case(directory)
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"the data and the log of the server are in {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)
        print(f"{'failed' if directory.exists() else 'ok':6} {case.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
    sys.exit(1 if failed else 0)
