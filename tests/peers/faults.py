"""Receivers that go wrong on purpose: aiosmtpd, scripted by listening address and by recipient.

What an address does wrong concerns the session (greeting, STARTTLS, size, speed) and is its
`Habits`. What a recipient does wrong concerns the transaction and is spelled in the local
part, `FAULT.UNIQUE@domain` or `FAULT-TIMES.UNIQUE@domain`; `FAULTS` lists them. With TIMES
the fault ends after that many attempts, without it never does.
"""

import asyncio
import dataclasses
import functools
import pathlib
import re
import ssl
import subprocess
import threading
import time

from aiosmtpd.smtp import SMTP

# Local part -> where the fault strikes and what is answered there.
FAULTS = {
    "grey": ("rcpt", "450 4.7.1 Greylisted, please try again later"),
    "full": ("rcpt", "452 4.2.2 Mailbox full"),
    "unknown": ("rcpt", "550 5.1.1 No such user here"),
    "bare550": ("rcpt", "550 no such user"),
    "blocked": ("rcpt", "550 5.7.708 Service unavailable. Access denied, traffic not accepted from this IP"),
    "shut": ("rcpt", "421 4.3.2 Shutting down"),
    "later": ("data", "451 4.3.0 Try again later"),
    "content": ("data", "554 5.7.1 Message content rejected"),
    "large": ("data", "552 5.3.4 Message too big for system"),
    "shutdata": ("data", "421 4.3.2 Shutting down"),
    "drop": ("data", None),  # The connection closes after the dot, without a reply.
    "bye": ("data", "250 2.0.0 Taken\r\n421 4.4.2 Closing, idle too long"),
}
LOCAL = re.compile(r"(?P<fault>[a-z0-9]+?)(?:-(?P<times>\d+))?\.[^@]+@")


@dataclasses.dataclass(frozen=True)
class Habits:
    """How one listening address behaves in every session."""

    greeting: str | None = None  # Said instead of 220, and the connection closed.
    greeting_times: int | None = None  # None: in every session.
    starttls: str = "none"  # none, good, garbage, refused, injects
    pipelining: bool = True
    size_bytes: int = 50_000_000
    byte_delay_s: float = 0.0  # Every reply leaves one byte at a time with this pause.


@dataclasses.dataclass(frozen=True)
class Transaction:
    """One message that reached its final dot."""

    address: str  # the listening address
    session: int
    tls: bool
    mail_from: str
    recipients: tuple  # those accepted
    content: bytes
    reply: str | None
    at: float

    @property
    def accepted(self):
        return self.reply is not None and self.reply.startswith("250")

    def header(self, name):
        """The unfolded value of the first header of that name, or None."""
        head = self.content.split(b"\r\n\r\n", 1)[0]
        found = re.search(rb"(?im)^" + name.encode() + rb":[ \t]*(.*(?:\r\n[ \t].*)*)", head)
        return re.sub(rb"\r\n(?=[ \t])", b"", found[1]).decode().strip() if found else None


def certificate(directory):
    """A self-signed certificate and its key, as opportunistic receivers have them."""
    pem = pathlib.Path(directory) / "peer.pem"
    key = pathlib.Path(directory) / "peer.key"
    if not pem.exists():
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=peer.test"]
        subprocess.run([*command, "-keyout", key, "-out", pem], check=True, capture_output=True)
    return pem, key


class Session(SMTP):
    """One aiosmtpd session with the habits of its listening address."""

    def __init__(self, peers, address, habits, context):
        self.peers, self.habits, self.greeted = peers, habits, False
        super().__init__(
            Transactions(peers, address), data_size_limit=habits.size_bytes, enable_SMTPUTF8=False,
            hostname="peer.test", ident="ESMTP", tls_context=context, loop=peers.loop, timeout=120,
        )  # fmt: skip
        self.number, self.address = peers.next_session(address), address

    async def push(self, status):
        text = status if isinstance(status, str) else status.decode()
        if not self.greeted:
            self.greeted = True
            said = self.peers.greeting(self.address, self.habits)
            if said:
                await super().push(said)
                self.transport.close()
                return
        if self.habits.byte_delay_s:
            for byte in text.encode() + b"\r\n":
                self._writer.write(bytes([byte]))
                await self._writer.drain()
                await asyncio.sleep(self.habits.byte_delay_s)
        else:
            await super().push(text)
        if text.rsplit("\r\n", 1)[-1].startswith("421"):
            self.transport.close()

    async def smtp_STARTTLS(self, arg):
        if self.habits.starttls == "good":
            return await super().smtp_STARTTLS(arg)
        if self.habits.starttls == "refused":
            return await self.push("454 4.7.0 TLS not available")
        if self.habits.starttls == "injects":
            # RFC 3207 §6: whatever arrives in clear behind the 220 must not be believed.
            self._writer.write(b"220 Ready\r\n250-peer.test\r\n250 SIZE 1\r\n")
        else:
            self._writer.write(b"220 Ready\r\n" + b"This is not a TLS record. " * 8)
        await self._writer.drain()
        self.transport.close()
        return None


class Transactions:
    """The aiosmtpd handler: applies the recipients' faults and records what arrived."""

    def __init__(self, peers, address):
        self.peers, self.address = peers, address

    async def handle_EHLO(self, server, session, envelope, hostname, responses):
        session.host_name = hostname
        self.peers.hostnames.add(hostname)
        if server.habits.pipelining:
            responses.insert(1, "250-PIPELINING")
        return responses

    async def handle_RCPT(self, server, session, envelope, address, options):
        reply = self.peers.fault("rcpt", address)
        if reply:
            return reply
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 Recipient ok"

    async def handle_DATA(self, server, session, envelope):
        replies = [self.peers.fault("data", address) for address in envelope.rcpt_tos]
        reply = next((reply for reply in replies if reply), "250 2.0.0 Taken")
        closes = reply is self.peers.CLOSES
        self.peers.record(
            Transaction(
                address=self.address, session=server.number, tls=session.ssl is not None,
                mail_from=envelope.mail_from, recipients=tuple(envelope.rcpt_tos), content=envelope.content,
                reply=None if closes else reply, at=time.monotonic(),
            )
        )  # fmt: skip
        if closes:
            server.transport.close()
        return reply if not closes else "250 never leaves"


class FaultyPeers:
    """The listening addresses, their loop in a thread of its own, and what they received."""

    CLOSES = "close"

    def __init__(self, port, habits, directory):
        """Listens on `port` of every address of `habits` (address -> `Habits`)."""
        self.port, self.habits = port, habits
        self.lock = threading.Lock()
        self.sessions, self.attempts, self.transactions, self.hostnames = [], {}, [], set()
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.load_cert_chain(*certificate(directory))
        self.loop = asyncio.new_event_loop()
        # A peer that tears a session down mid-reply makes aiosmtpd complain; that is its job here.
        self.loop.set_exception_handler(lambda loop, context: None)
        self.thread = threading.Thread(target=self.loop.run_forever, name="faulty peers", daemon=True)
        self.thread.start()
        self.servers = asyncio.run_coroutine_threadsafe(self._listen(), self.loop).result(10)

    async def _listen(self):
        servers = []
        for address, habits in self.habits.items():
            context = None if habits.starttls == "none" else self.context
            session = functools.partial(Session, self, address, habits, context)
            servers.append(await self.loop.create_server(session, address, self.port))
        return servers

    def stop(self):
        async def close():
            for server in self.servers:
                server.close()

        asyncio.run_coroutine_threadsafe(close(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

    def next_session(self, address):
        with self.lock:
            self.sessions.append(address)
            return len(self.sessions)

    def session_count(self, address):
        with self.lock:
            return self.sessions.count(address)

    def greeting(self, address, habits):
        """The refusal that this session is greeted with, or None."""
        if habits.greeting is None:
            return None
        if habits.greeting_times is not None and self.session_count(address) > habits.greeting_times:
            return None
        return habits.greeting

    def fault(self, phase, address):
        """The reply that a recipient's local part asks for in this phase, or None."""
        found = LOCAL.match(address)
        if not found or FAULTS.get(found["fault"], ("",))[0] != phase:
            return None
        with self.lock:
            count = self.attempts[address] = self.attempts.get(address, 0) + 1
        if found["times"] and count > int(found["times"]):
            return None
        return FAULTS[found["fault"]][1] or self.CLOSES

    def record(self, transaction):
        with self.lock:
            self.transactions.append(transaction)

    def received(self, recipient):
        """Every transaction that named `recipient`, taken or not, oldest first."""
        with self.lock:
            return [one for one in self.transactions if recipient in one.recipients]

    def taken(self, recipient):
        """The transactions for `recipient` that were answered 250."""
        return [one for one in self.received(recipient) if one.accepted]
