"""Mail to a good site while the queue is full of mail that cannot be delivered or must wait.

A case fills the queue with `fill`: emails of the first team, or one broadcast of it. Then each of two teams sends to good
sites: an email that is due, one that is scheduled, and one that is greylisted once, each to a domain that accepted mail
before and to one that is new; and a small broadcast. `lateness` returns the seconds between the time at which each could
have arrived and its arrival. `lateness_after_restart` does so for emails that were accepted before a restart.
"""

import dataclasses
import datetime
import json
import shutil
import time

from deadline import wait_until
from names import Names
from server import API_KEY, SENDER, Api, Direct, Hold, Server
from sinks import Habit, Sinks

KINDS = ("known", "new", "scheduled", "scheduled new", "greylisted", "greylisted new", "broadcast")
# The first team fills the queue. The second one has its own domain and key.
TEAMS = ("first", "second")
MODES = ("running", "restarted")
SECOND_DOMAIN = "mail.example.org"

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
WAIT_SECONDS = 180
FAN_OUT_SECONDS = 600
BATCH, CONTACTS_BATCH = 100, 1_000
SMALL_BROADCAST = 5  # Recipients.
# The links in broadcasts need a URL that recipients can open. The log has the end of a fan-out.
EXTRA = ("--public-url", "https://mail.example.com", "--log", "warn,ringmail::broadcasts=info")


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
    is_broadcast: bool = False  # Whether all messages are of one broadcast.

    def domain(self, number):
        return f"fill{number}.{self.name}.test"

    def recipient(self, number):
        return f"fill{number}@{self.domain(number % self.domains)}"


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
        Case("broadcast", sized(100_000), 10, BUSY, TENANT, TENANT, is_broadcast=True),
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
        Case("broadcast", 1_500, 10, BUSY, TENANT, TENANT, is_broadcast=True),
    ]


class Team:
    """A team of a server, by its sender and its key."""

    def __init__(self, name, server, sender, key):
        self.name, self.server, self.sender, self.key = name, server, sender, key

    def ok(self, method, path, body):
        """Returns the body of a request that must succeed. Each has its own connection: a restart closes those before it."""
        api = Api(self.server.port, self.key, timeout_s=120)
        try:
            return api.ok(method, path, body)
        finally:
            api.close()

    def email(self, to, **fields):
        return {"from": self.sender, "to": to, "subject": "Starvation", "text": "Hello.", **fields}

    def send(self, to, **fields):
        self.ok("POST", "/emails", self.email(to, **fields))

    def send_broadcast(self, name, recipients):
        """Sends a broadcast to new contacts, which are a segment with this name. Returns its id."""
        segment = self.ok("POST", "/segments", {"name": name})["id"]
        for start in range(0, len(recipients), CONTACTS_BATCH):
            batch = recipients[start : start + CONTACTS_BATCH]
            self.ok("POST", "/contacts/batch", [{"email": to, "segments": [{"id": segment}]} for to in batch])
        text = "Hello.\n\n{{{UNSUBSCRIBE_URL}}}\n"
        broadcast = {"from": self.sender, "subject": "Starvation", "text": text, "segment_id": segment, "send": True}
        return self.ok("POST", "/broadcasts", broadcast)["id"]


class World:
    """A server in direct mode with two teams, its name server and its receivers."""

    def __init__(self, directory, case, profile, extra=()):
        self.sinks, self.names, self.case = FirstArrivals(), Names(), case
        self.number = 0
        delivery = Direct(self.names.address, self.sinks.port)
        extra = [*EXTRA, *extra]
        self.server = Server(directory, delivery, profile=profile, retry_delays=RETRY_DELAYS, extra=extra)
        self.teams = [Team(TEAMS[0], self.server, SENDER, API_KEY)]

    def start(self):
        self.add("good.test", GOOD, self.case.good_host)
        self.add("grey.test", GREY, self.case.good_host)
        self.server.start()
        self.add_second_team()
        first = ("first@good.test", "first@grey.test")
        for recipient in first:
            self.teams[0].send(recipient)
        wait_until(lambda: all(recipient in self.sinks.arrived for recipient in first), 30, "the first emails")
        return self

    def stop(self):
        self.server.end()
        self.names.stop()
        self.sinks.stop()

    def add_second_team(self):
        name = TEAMS[1]
        self.server.cli("team", "create", name)
        self.server.cli("domain", "add", SECOND_DOMAIN, "--verified", "--team", name)
        key = self.server.cli("key", "create", name, "--team", name).strip()
        self.teams.append(Team(name, self.server, f"Second team <notify@{SECOND_DOMAIN}>", key))

    def add(self, domain, address, host):
        label = domain.removesuffix(".test").replace(".", "-")
        self.names.mail_host(domain, address, host=host.format(domain=domain, label=label))

    def fill(self):
        case, team = self.case, self.teams[0]
        for number in range(case.domains):
            self.add(case.domain(number), case.address, case.host)
            self.names.prepare(case.domain(number))
        if case.is_broadcast:
            broadcast = team.send_broadcast("Fill", [case.recipient(number) for number in range(case.messages)])
            self.server.wait_until_enqueued(broadcast, FAN_OUT_SECONDS)
            return
        api = Api(self.server.port, timeout_s=120)
        for start in range(0, case.messages, BATCH):
            numbers = range(start, min(start + BATCH, case.messages))
            emails = [team.email(case.recipient(number), subject="Fill") for number in numbers]
            api.ok("POST", "/emails/batch", json.dumps(emails).encode())

    def waiting(self):
        """Returns the number of messages that fill the queue and have not arrived."""
        return self.case.messages - sum(1 for recipient in self.sinks.arrived.copy() if recipient.startswith("fill"))

    def lateness(self):
        """Sends each kind of mail of each team. Returns the seconds by which it arrived after its earliest time."""
        return self.late(self.send_each())

    def lateness_after_restart(self):
        """Stops the server and has it accept each kind of mail without delivery. Returns as `lateness`, from the next
        start on.
        """
        self.server.stop()
        direct, self.server.delivery = self.server.delivery, Hold()
        self.server.start()
        earliest = self.send_each()
        self.server.stop()
        self.server.delivery = direct
        self.server.start()
        started = time.time()
        return self.late({key: (recipients, max(at, started)) for key, (recipients, at) in earliest.items()})

    def send_each(self):
        """Sends each kind of mail of each team. Returns the recipients and the earliest time of arrival by team and kind."""
        self.number += 1
        earliest = {}
        for team in self.teams:
            for kind, sent in self.send_each_of(team).items():
                earliest[team.name, kind] = sent
        return earliest

    def send_each_of(self, team):
        end = f"{self.number}-{team.name}"
        new, later, grey = (f"{name}{end}.test" for name in ("new", "later", "newgrey"))
        for domain, address in ((new, NEW), (later, NEW), (grey, GREY)):
            self.add(domain, address, self.case.good_host)
        at = time.time() + SCHEDULED_S
        when = datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat()
        earliest = {}
        for kind, domain in (("scheduled", "good.test"), ("scheduled new", later)):
            recipient = f"scheduled{end}@{domain}"
            team.send(recipient, scheduled_at=when)
            earliest[kind] = [recipient], at
        due = (("known", "good.test"), ("new", new), ("greylisted", "grey.test"), ("greylisted new", grey))
        for kind, domain in due:
            recipient = f"due{end}@{domain}"
            team.send(recipient)
            earliest[kind] = [recipient], time.time()
        recipients = [f"contact{number}-{end}@good.test" for number in range(SMALL_BROADCAST)]
        team.send_broadcast(f"Small {self.number}", recipients)
        earliest["broadcast"] = recipients, time.time()
        return earliest

    def late(self, earliest):
        """Waits until the mail of `send_each` has arrived. Returns the seconds of each kind since its earliest time."""
        arrived = self.sinks.arrived
        wanted = [recipient for recipients, _ in earliest.values() for recipient in recipients]
        missing = lambda: sorted(recipient for recipient in wanted if recipient not in arrived)  # noqa: E731
        wait_until(lambda: not missing(), WAIT_SECONDS, lambda: f"{missing()}\n{self.server.log_tail()}")
        late = {}
        for (team, kind), (recipients, at) in earliest.items():
            # The first retry delay of the greylisted ones, with its jitter.
            retry_s = 1.2 if kind.startswith("greylisted") else 0
            late[team, kind] = max(0.0, max(arrived[recipient] for recipient in recipients) - at - retry_s)
        return late


def measure(directory, case, profile, extra=()):
    """Fills a new server with a case. Returns the lateness by team and kind, of mail that arrives while the server runs and
    of mail that was accepted before its restart.
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


def rows(late):
    """Yields the mode, the team, and the seconds of each kind from the result of `measure`."""
    for mode, one in zip(MODES, late, strict=True):
        for team in TEAMS:
            yield mode, team, {kind: one[team, kind] for kind in KINDS}


def too_late(late, idle):
    """Compares the results of `measure`. Returns what was more than `LATE_MAX_S` later than on an idle server."""
    return [
        f"{mode}, {team} team, {kind}: {seconds[kind]:.1f} s, idle {limit[kind]:.1f} s"
        for (mode, team, seconds), (_, _, limit) in zip(rows(late), rows(idle), strict=True)
        for kind in KINDS
        if seconds[kind] > limit[kind] + LATE_MAX_S
    ]
