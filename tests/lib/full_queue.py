"""Mail to a good site while the queue is full of mail that cannot be delivered or must wait.

A case fills the queue with `fill`. Then six emails to good sites are timed: one that is due, one that is scheduled, and one
that is greylisted once, each to a domain that accepted mail before and to one that is new. `lateness` returns the seconds
between the time at which each could have arrived and its arrival. `lateness_after_restart` does so for emails that were
accepted before a restart.
"""

import dataclasses
import datetime
import json
import shutil
import time

from deadline import wait_until
from names import Names
from server import SENDER, Api, Direct, Hold, Server
from sinks import Habit, Sinks

KINDS = ("known", "new", "scheduled", "scheduled new", "greylisted", "greylisted new")

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
# Mail host of a domain, and that of a tenant of a large provider, whose tenants are one site.
HOST, TENANT = "mx.{domain}", "{label}.mail.protection.outlook.com"
LATE_MAX_S = 5.0  # More than on an idle server.
MODES = ("running", "restarted")
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
    host: str = HOST
    good_host: str = HOST  # Of the good sites.

    def domain(self, number):
        return f"fill{number}.{self.name}.test"


IDLE = Case("idle", 0, 0, GOOD)


def cases(scale):
    """Returns the cases. `scale` is 1 for the full sizes."""

    def sized(count):
        return max(10, int(count * scale))

    return [
        Case("refusing", sized(50_000), 11, REFUSING),
        Case("dead", sized(300_000), 1, REFUSING),
        Case("silent", sized(5_000), sized(5_000), SILENT),
        Case("tenant", 400, 1, REFUSING, TENANT, TENANT),
        Case("backlog", sized(1_000_000), sized(1_000), BUSY),
        Case("provider", sized(100_000), 1, BUSY, TENANT, TENANT),
    ]


def small_cases():
    """Returns the cases with sizes that a debug build fills in seconds."""
    return [
        Case("refusing", 330, 11, REFUSING),
        Case("dead", 1_000, 1, REFUSING),
        Case("silent", 150, 150, SILENT),
        Case("tenant", 100, 1, REFUSING, TENANT, TENANT),
        Case("backlog", 2_000, 20, BUSY),
        Case("provider", 1_500, 1, BUSY, TENANT, TENANT),
    ]


class World:
    """A server in direct mode, its name server and its receivers."""

    def __init__(self, directory, case, profile, extra=()):
        self.sinks, self.names, self.case = FirstArrivals(), Names(), case
        self.number = 0
        delivery = Direct(self.names.address, self.sinks.port)
        self.server = Server(directory, delivery, profile=profile, retry_delays=RETRY_DELAYS, extra=extra)

    def start(self):
        self.add("good.test", GOOD, self.case.good_host)
        self.add("grey.test", GREY, self.case.good_host)
        self.server.start()
        first = ("first@good.test", "first@grey.test")
        for recipient in first:
            self.send(recipient)
        wait_until(lambda: all(recipient in self.sinks.arrived for recipient in first), 30, "the first emails")
        return self

    def stop(self):
        self.server.end()
        self.names.stop()
        self.sinks.stop()

    def add(self, domain, address, host):
        label = domain.removesuffix(".test").replace(".", "-")
        self.names.mail_host(domain, address, host=host.format(domain=domain, label=label))

    def send(self, to, **fields):
        body = {"from": SENDER, "to": to, "subject": "Starvation", "text": "Hello.", **fields}
        return Api(self.server.port, timeout_s=60).ok("POST", "/emails", body)["id"]

    def fill(self):
        case = self.case
        for number in range(case.domains):
            self.add(case.domain(number), case.address, case.host)
            self.names.prepare(case.domain(number))
        api, sent = Api(self.server.port, timeout_s=120), 0
        while sent < case.messages:
            emails = [
                {"from": SENDER, "to": f"fill{sent + index}@{case.domain((sent + index) % case.domains)}",
                 "subject": "Fill", "text": "Hello."}
                for index in range(min(BATCH, case.messages - sent))
            ]  # fmt: skip
            api.ok("POST", "/emails/batch", json.dumps(emails).encode())
            sent += len(emails)

    def waiting(self):
        """Returns the number of emails that fill the queue and have not arrived."""
        return self.case.messages - sum(1 for recipient in self.sinks.arrived.copy() if recipient.startswith("fill"))

    def lateness(self):
        """Sends an email of each kind. Returns the seconds by which each arrived after its earliest time."""
        return self.late(self.send_each())

    def lateness_after_restart(self):
        """Stops the server and has it accept an email of each kind without delivery. Returns as `lateness`, from the
        next start on.
        """
        self.server.stop()
        direct, self.server.delivery = self.server.delivery, Hold()
        self.server.start()
        earliest = self.send_each()
        self.server.stop()
        self.server.delivery = direct
        self.server.start()
        started = time.time()
        return self.late({kind: (to, max(at, started)) for kind, (to, at) in earliest.items()})

    def send_each(self):
        """Sends an email of each kind. Returns the recipient and the earliest time of arrival of each."""
        self.number += 1
        new, later, grey = (f"{name}{self.number}.test" for name in ("new", "later", "newgrey"))
        for domain, address in ((new, NEW), (later, NEW), (grey, GREY)):
            self.add(domain, address, self.case.good_host)
        at = time.time() + SCHEDULED_S
        when = datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat()
        earliest = {}
        for kind, domain in (("scheduled", "good.test"), ("scheduled new", later)):
            recipient = f"scheduled{self.number}@{domain}"
            self.send(recipient, scheduled_at=when)
            earliest[kind] = recipient, at
        due = (("known", "good.test"), ("new", new), ("greylisted", "grey.test"), ("greylisted new", grey))
        for kind, domain in due:
            recipient = f"due{self.number}@{domain}"
            self.send(recipient)
            earliest[kind] = recipient, time.time()
        return earliest

    def late(self, earliest):
        """Waits until the emails of `send_each` have arrived. Returns the seconds of each since its earliest time."""
        arrived = self.sinks.arrived
        missing = lambda: sorted(to for to, _ in earliest.values() if to not in arrived)  # noqa: E731
        wait_until(lambda: not missing(), WAIT_SECONDS, lambda: f"{missing()}\n{self.server.log_tail()}")
        late = {kind: max(0.0, arrived[to] - at) for kind, (to, at) in earliest.items()}
        # The first retry delay of the greylisted ones, with its jitter.
        for kind in ("greylisted", "greylisted new"):
            late[kind] = max(0.0, late[kind] - 1.2)
        return late


def measure(directory, case, profile, extra=()):
    """Fills a new server with a case. Returns the lateness of each kind of email, of emails that arrive while the server
    runs and of emails that arrived before its restart.
    """
    world = World(directory, case, profile, extra).start()
    try:
        world.fill()
        running = world.lateness()
        # A queue that is empty by now shows nothing about the restart.
        assert world.waiting() > 0 or not case.messages, f"the queue of {case.name} is empty: it needs more messages"
        return running, world.lateness_after_restart()
    finally:
        world.stop()
        shutil.rmtree(directory, ignore_errors=True)


def too_late(late, idle):
    """Compares the results of `measure`. Returns what was more than `LATE_MAX_S` later than on an idle server."""
    return [
        f"{mode} {kind}: {late[index][kind]:.1f} s, idle {idle[index][kind]:.1f} s"
        for index, mode in enumerate(MODES)
        for kind in KINDS
        if late[index][kind] > idle[index][kind] + LATE_MAX_S
    ]
