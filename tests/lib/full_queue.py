"""Mail to a good site while the queue is full of mail that cannot be delivered or must wait.

A case fills the queue with `fill`. Then three emails to good sites are timed: one to a site that accepted mail before,
one to a site that is new, and one that is scheduled. A fourth is greylisted once. `lateness` returns the seconds between
the time at which each could have arrived and its arrival.
"""

import asyncio
import dataclasses
import datetime
import json
import re
import threading
import time

from deadline import wait_until
from names import Names
from server import SENDER, Api, Direct, Server

GOOD, NEW, GREY, BUSY = "127.0.1.1", "127.0.1.2", "127.0.1.3", "127.0.1.4"
SILENT = "127.0.1.5"  # Accepts connections and never greets.
REFUSING = "127.0.1.99"  # Has no listener.
BUSY_REPLY_S = 0.02
RETRY_DELAYS = "1s,2s,4s,8s,16s,30s"
SCHEDULED_S = 4
WAIT_SECONDS = 180
BATCH = 100


class Sinks:
    """SMTP receivers on loopback. `arrived` maps each recipient to the time at which its message was accepted."""

    def __init__(self):
        self.arrived, self.greylisted, self.port = {}, set(), None
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="sinks", daemon=True).start()
        for address in (GOOD, NEW, GREY, BUSY, SILENT):
            self.listen(address)

    def listen(self, address):
        listening = self.loop.create_server(lambda: Session(self, address), address, self.port or 0, backlog=1_000)
        server = asyncio.run_coroutine_threadsafe(listening, self.loop).result(10)
        self.port = server.sockets[0].getsockname()[1]

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)


class Session(asyncio.Protocol):
    """One session with a sink. Offers PIPELINING, and implements the part of RFC 5321 that the server uses."""

    def __init__(self, sinks, address):
        self.sinks, self.address = sinks, address
        self.buffer, self.recipients, self.in_data, self.transport = b"", [], False, None

    def connection_made(self, transport):
        self.transport = transport
        if self.address != SILENT:
            transport.write(b"220 sink.test ESMTP\r\n")

    def data_received(self, data):
        self.buffer += data
        while True:
            end = b"\r\n.\r\n" if self.in_data else b"\r\n"
            part, found, rest = self.buffer.partition(end)
            if not found:
                return
            self.buffer = rest
            if self.in_data:
                self.accept()
            else:
                self.command(part.decode("latin-1"))

    def command(self, line):
        verb = line[:4].upper()
        if verb == "EHLO":
            self.reply("250-sink.test\r\n250 PIPELINING")
        elif verb == "MAIL":
            self.recipients = []
            self.reply("250 2.1.0 OK")
        elif verb == "RCPT":
            recipient = re.search("<(.*)>", line)[1]
            if self.address == GREY and recipient not in self.sinks.greylisted:
                self.sinks.greylisted.add(recipient)
                self.reply("450 4.7.1 Greylisted, please try again later")
                return
            self.recipients.append(recipient)
            self.reply("250 2.1.5 OK")
        elif verb == "DATA":
            self.in_data = bool(self.recipients)
            self.reply("354 Go ahead" if self.in_data else "554 5.5.1 No recipients")
        elif verb == "QUIT":
            self.reply("221 2.0.0 Bye")
            self.transport.close()
        else:
            self.reply("250 2.0.0 OK")

    def accept(self):
        self.in_data = False
        for recipient in self.recipients:
            self.sinks.arrived.setdefault(recipient, time.time())
        delay_s = BUSY_REPLY_S if self.address == BUSY else 0
        self.sinks.loop.call_later(delay_s, self.reply, "250 2.0.0 Accepted")

    def reply(self, text):
        self.transport.write(text.encode() + b"\r\n")


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
        self.sinks, self.names = Sinks(), Names()
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
