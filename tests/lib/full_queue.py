"""Mail to a good site while the queue is full of mail that cannot be delivered or must wait.

A case fills the queue with `fill`. Then three emails to good sites are timed: one to a site that accepted mail before,
one to a site that is new, and one that is scheduled. A fourth is greylisted once. `lateness` returns the seconds between
the time at which each could have arrived and its arrival.
"""

import dataclasses
import datetime
import json
import time

from deadline import wait_until
from names import Names
from server import SENDER, Api, Direct, Server
from sinks import Habit, Sinks

GOOD, NEW, GREY, BUSY = "127.0.1.1", "127.0.1.2", "127.0.1.3", "127.0.1.4"
SILENT = "127.0.1.5"  # Accepts connections and never greets.
REFUSING = "127.0.1.99"  # Has no listener.
HABITS = {
    GOOD: Habit(),
    NEW: Habit(),
    GREY: Habit(greylists=True),
    BUSY: Habit(reply_delay_s=0.02),
    SILENT: Habit(greets=False),
}
RETRY_DELAYS = "1s,2s,4s,8s,16s,30s"
SCHEDULED_S = 4
WAIT_SECONDS = 180
BATCH = 100


class FirstArrivals(Sinks):
    """Receivers that keep only the time of the first arrival, because the cases have up to a million messages."""

    def __init__(self):
        super().__init__(HABITS)
        self.arrived = {}

    def record(self, session, recipient, content):
        self.arrived.setdefault(recipient, time.time())


@dataclasses.dataclass(frozen=True)
class Case:
    """Mail that fills the queue."""

    name: str
    messages: int
    domains: int
    address: str
    # Name of the mail host; `{}` is the number of the domain.
    host: str = "mx.{domain}"

    def domain(self, number):
        return f"fill{number}.{self.name}.test"


def cases(scale):
    """Returns the cases. `scale` is 1 for the full sizes."""

    def sized(count):
        return max(10, int(count * scale))

    tenant = "{label}.mail.protection.outlook.com"
    return [
        Case("refusing", sized(50_000), 11, REFUSING),
        Case("dead", sized(300_000), 1, REFUSING),
        Case("silent", sized(5_000), sized(5_000), SILENT),
        Case("tenant", sized(400) if scale == 1 else 400, 1, REFUSING, tenant),
        Case("backlog", sized(1_000_000), sized(1_000), BUSY),
        Case("provider", sized(100_000), 1, BUSY, tenant),
    ]


class World:
    """A server in direct mode, its name server and its receivers."""

    def __init__(self, directory, profile, extra=()):
        self.sinks, self.names = FirstArrivals(), Names()
        self.number = 0
        delivery = Direct(self.names.address, self.sinks.port)
        self.server = Server(directory, delivery, profile=profile, retry_delays=RETRY_DELAYS, extra=extra)

    def start(self):
        self.names.mail_host("good.test", GOOD)
        self.names.mail_host("grey.test", GREY)
        self.server.start()
        self.send("first@good.test")
        wait_until(lambda: "first@good.test" in self.sinks.arrived, 30, "the first email")
        return self

    def stop(self):
        self.server.end()
        self.names.stop()
        self.sinks.stop()

    def send(self, to, **fields):
        body = {"from": SENDER, "to": to, "subject": "Starvation", "text": "Hello.", **fields}
        return Api(self.server.port, timeout_s=60).ok("POST", "/emails", body)["id"]

    def fill(self, case):
        for number in range(case.domains):
            domain = case.domain(number)
            label = domain.removesuffix(".test").replace(".", "-")
            self.names.mail_host(domain, case.address, host=case.host.format(domain=domain, label=label))
        api, sent = Api(self.server.port, timeout_s=120), 0
        while sent < case.messages:
            emails = [
                {"from": SENDER, "to": f"fill{sent + index}@{case.domain((sent + index) % case.domains)}",
                 "subject": "Fill", "text": "Hello."}
                for index in range(min(BATCH, case.messages - sent))
            ]  # fmt: skip
            api.ok("POST", "/emails/batch", json.dumps(emails).encode())
            sent += len(emails)

    def lateness(self):
        """Returns the seconds by which each email to a good site arrived after its earliest time."""
        self.number += 1
        known, new = f"known{self.number}@good.test", f"new@new{self.number}.test"
        scheduled, grey = f"scheduled{self.number}@good.test", f"grey{self.number}@grey.test"
        self.names.mail_host(f"new{self.number}.test", NEW)
        at = time.time() + SCHEDULED_S
        when = datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat()
        earliest = {}
        self.send(scheduled, scheduled_at=when)
        earliest[scheduled] = at
        for recipient in (known, new, grey):
            self.send(recipient)
            earliest[recipient] = time.time()
        earliest[grey] += 1.2  # The first retry delay with its jitter.
        wait_until(lambda: all(to in self.sinks.arrived for to in earliest), WAIT_SECONDS,
                   lambda: f"{sorted(set(earliest) - set(self.sinks.arrived))}\n{self.server.log_tail()}")  # fmt: skip
        names = ("scheduled", "known", "new", "greylisted")
        late = {name: max(0.0, self.sinks.arrived[to] - earliest[to]) for name, to in zip(names, earliest)}
        return late

    def restart(self):
        self.server.stop()
        self.server.start()
