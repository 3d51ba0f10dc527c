"""The environment of the cases: the name server, the receivers and the servers under test."""

import itertools
import pathlib
import threading

from exim import Exim
from faults import FaultyPeers, Habits
from names import Names
from opensmtpd import OpenSmtpd
from ports import free_port
from postfix import Postfix
from server import Direct, Relay, Server

POSTFIX, EXIM, OPENSMTPD = "127.0.0.2", "127.0.0.3", "127.0.0.4"
PLAIN = "127.0.0.10"  # Accepts all mail. Offers PIPELINING but not STARTTLS.
HABITS = {
    PLAIN: Habits(),
    "127.0.0.11": Habits(starttls="good"),
    "127.0.0.12": Habits(starttls="garbage"),
    "127.0.0.13": Habits(starttls="refused"),
    "127.0.0.14": Habits(starttls="injects"),
    "127.0.0.15": Habits(pipelining=False),
    "127.0.0.16": Habits(size_bytes=2_000),
    "127.0.0.17": Habits(byte_delay_s=0.01),
    "127.0.0.18": Habits(greeting="554 5.7.1 Your address is listed", greeting_times=1),
    "127.0.0.19": Habits(greeting="421 4.3.2 Too busy", greeting_times=1),
    "127.0.0.20": Habits(byte_delay_s=0.05),
    "127.0.0.21": Habits(),  # Second host of the routing cases.
    "127.0.0.22": Habits(starttls="refused", starttls_faults=1),
    "127.0.0.23": Habits(starttls="refused", starttls_faults=3),
    "127.0.0.24": Habits(smtputf8=True),
}
TLS, GARBAGE_TLS, REFUSED_TLS, INJECTING_TLS = "127.0.0.11", "127.0.0.12", "127.0.0.13", "127.0.0.14"
NO_PIPELINING, SMALL, DRIPPING = "127.0.0.15", "127.0.0.16", "127.0.0.17"
BLOCKING_ONCE, BUSY_ONCE, VERY_SLOW, SECOND = "127.0.0.18", "127.0.0.19", "127.0.0.20", "127.0.0.21"
TLS_REFUSED_ONCE, TLS_REFUSED_THRICE = "127.0.0.22", "127.0.0.23"
INTERNATIONAL = "127.0.0.24"
NO_LISTENER = "127.0.0.99"

# Recipient domain, with its subdomains, that gets no email in clear text.
REQUIRED_TLS = "required.test"

CONFIRM_AFTER = "3s"  # Before the second lookup of a missing domain.
RETRY_DELAYS = "1s,1s,2s,2s,3s,3s,5s,5s,5s,5s,5s,5s"


class World:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.numbers = itertools.count(1)
        self.lock = threading.Lock()
        self.port = free_port(POSTFIX)
        self.names = Names()
        self.faults = FaultyPeers(self.port, HABITS, self.directory)
        self.mail_servers = {"postfix": Postfix(POSTFIX, self.port)}
        for kind, address in ((Exim, EXIM), (OpenSmtpd, OPENSMTPD)):
            if kind.is_unpacked():
                self.mail_servers[kind.name] = kind(address, self.port, self.directory)
        self.direct = self.server("direct", self.direct_mode(), ["--require-tls", REQUIRED_TLS])
        # One for each mail server, which is its smarthost.
        self.relays = {
            name: self.server(f"relay-{name}", Relay(f"smtp://{server.address}:{self.port}"))
            for name, server in self.mail_servers.items()
        }

    def direct_mode(self):
        return Direct(self.names.address, self.port)

    def server(self, name, delivery, extra=()):
        return Server(
            self.directory / name, delivery, retry_delays=RETRY_DELAYS, confirm_after=CONFIRM_AFTER, extra=extra
        )

    def start(self):
        for server in [*self.mail_servers.values(), self.direct, *self.relays.values()]:
            server.start()
        return self

    def stop(self):
        """Stops all processes. Asserts that the servers exit with code 0."""
        servers = [self.direct, *self.relays.values()]
        try:
            for server in servers:
                server.stop()
        finally:
            for server in servers:
                server.end()
            for server in self.mail_servers.values():
                server.stop()
            self.faults.stop()
            self.names.stop()

    def unique(self):
        with self.lock:
            return f"n{next(self.numbers)}"

    def site(self, address, parent="test"):
        """Returns a new subdomain of `parent` whose only mail host has this address. Its site is not shared.

        A case does not share a site with another one, because a 421 reply throttles the site.
        """
        name = self.unique()
        domain = f"{name}.{parent}"
        self.names.mail_host(domain, address, host=f"mx.{name}.test")
        return domain

    def recipient(self, address, fault="ok"):
        """Returns a recipient at a new site. `fault` is a key of `faults.FAULTS`."""
        return f"{fault}.{self.unique()}@{self.site(address)}"
