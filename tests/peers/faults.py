"""aiosmtpd receivers with faults, selected by the listening address and by the recipient.

Faults of the session (greeting, STARTTLS, size, speed) belong to a listening address: its `Habits`.
Faults of the transaction belong to a recipient. The local part names the fault, as in
`FAULT.UNIQUE@domain` or `FAULT-TIMES.UNIQUE@domain`, and `FAULTS` lists the faults. With TIMES, the fault
ends after this number of attempts. Without TIMES, it is permanent.
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

# Fault -> command at which it occurs, and reply.
FAULTS = {
    "grey": ("rcpt", "450 4.7.1 Greylisted, please try again later"),
    "full": ("rcpt", "452 4.2.2 Mailbox full"),
    "unknown": ("rcpt", "550 5.1.1 No such user here"),
    "bare550": ("rcpt", "550 no such user"),
    "ptr": ("rcpt", "550 Requested action not taken: mailbox unavailable - invalid DNS PTR record"),
    "policy": ("rcpt", "550 5.1.1 Recipient address rejected by local policy"),
    "nodomain": ("rcpt", "550 5.1.2 Recipient address rejected: Domain not found"),
    "blocked": ("rcpt", "550 5.7.708 Service unavailable. Access denied, traffic not accepted from this IP"),
    "shut": ("rcpt", "421 4.3.2 Shutting down"),
    "later": ("data", "451 4.3.0 Try again later"),
    "content": ("data", "554 5.7.1 Message content rejected"),
    "large": ("data", "552 5.3.4 Message too big for system"),
    "shutdata": ("data", "421 4.3.2 Shutting down"),
    "drop": ("data", None),  # The receiver closes the connection after the final dot without a reply.
    "bye": ("data", "250 2.0.0 Accepted\r\n421 4.4.2 Closing, idle too long"),
}
LOCAL = re.compile(r"(?P<fault>[a-z0-9]+?)(?:-(?P<times>\d+))?\.[^@]+@")


@dataclasses.dataclass(frozen=True)
class Habits:
    """Behaviour of one listening address in its sessions."""

    greeting: str | None = None  # Greeting instead of 220. The receiver then closes the connection.
    greeting_times: int | None = None  # Number of sessions with this greeting; `None` for all.
    starttls: str = "none"  # none, good, garbage, refused, injects
    starttls_faults: int | None = None  # Number of STARTTLS commands with this fault; `None` for all.
    pipelining: bool = True
    smtputf8: bool = False
    size_bytes: int = 50_000_000
    byte_delay_s: float = 0.0  # Delay after each byte of a reply.


@dataclasses.dataclass(frozen=True)
class Transaction:
    """One message that reached its final dot."""

    address: str  # Listening address of the receiver.
    session: int
    tls: bool
    mail_from: str
    mail_options: tuple  # Parameters of MAIL.
    recipients: tuple  # Accepted recipients.
    content: bytes
    reply: str | None
    at: float

    @property
    def accepted(self):
        return self.reply is not None and self.reply.startswith("250")

    def header(self, name):
        """Returns the unfolded value of the first header with this name, `None` if there is no such header."""
        head = self.content.split(b"\r\n\r\n", 1)[0]
        found = re.search(rb"(?im)^" + name.encode() + rb":[ \t]*(.*(?:\r\n[ \t].*)*)", head)
        return re.sub(rb"\r\n(?=[ \t])", b"", found[1]).decode().strip() if found else None


def certificate(directory):
    """Creates a self-signed certificate and its key, unless they exist. Returns their paths."""
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
            Transactions(peers, address), data_size_limit=habits.size_bytes, enable_SMTPUTF8=habits.smtputf8,
            hostname="peer.test", ident="ESMTP", tls_context=context, loop=peers.loop, timeout=120,
        )  # fmt: skip
        self.number, self.address = peers.next_session(address), address

    async def push(self, status):
        text = status if isinstance(status, str) else status.decode()
        if not self.greeted:
            self.greeted = True
            refusal = self.peers.greeting(self.address, self.habits)
            if refusal:
                await super().push(refusal)
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
        count = self.peers.next_starttls(self.address)
        is_over = self.habits.starttls_faults is not None and count > self.habits.starttls_faults
        if self.habits.starttls == "good" or is_over:
            return await super().smtp_STARTTLS(arg)
        if self.habits.starttls == "refused":
            return await self.push("454 4.7.0 TLS not available")
        if self.habits.starttls == "injects":
            # RFC 3207 §6: the client must ignore plain text that follows the 220.
            self._writer.write(b"220 Ready\r\n250-peer.test\r\n250 SIZE 1\r\n")
        else:
            self._writer.write(b"220 Ready\r\n" + b"This is not a TLS record. " * 8)
        await self._writer.drain()
        self.transport.close()
        return None


class Transactions:
    """The aiosmtpd handler: applies the faults of the recipients and records the transactions."""

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
        reply = next((reply for reply in replies if reply), "250 2.0.0 Accepted")
        closes = reply is self.peers.CLOSES
        self.peers.record(
            Transaction(
                address=self.address, session=server.number, tls=session.ssl is not None,
                mail_from=envelope.mail_from, mail_options=tuple(envelope.mail_options), recipients=tuple(envelope.rcpt_tos), content=envelope.content,
                reply=None if closes else reply, at=time.monotonic(),
            )
        )  # fmt: skip
        if closes:
            server.transport.close()
        return reply if not closes else "250 not sent"


class FaultyPeers:
    """The receivers of all listening addresses, their event loop in a thread, and their transactions."""

    CLOSES = "close"

    def __init__(self, port, habits, directory):
        """Listens on `port` of every address of `habits` (address -> `Habits`)."""
        self.port, self.habits = port, habits
        self.lock = threading.Lock()
        self.sessions, self.attempts, self.transactions, self.hostnames = [], {}, [], set()
        self.starttls_counts = {}
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.load_cert_chain(*certificate(directory))
        self.loop = asyncio.new_event_loop()
        # aiosmtpd reports an error when a session is closed during a reply. Some faults do this intentionally.
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

    def next_starttls(self, address):
        """Counts a STARTTLS command. Returns the number of those at this address."""
        with self.lock:
            count = self.starttls_counts[address] = self.starttls_counts.get(address, 0) + 1
            return count

    def session_count(self, address):
        with self.lock:
            return self.sessions.count(address)

    def greeting(self, address, habits):
        """Returns the greeting that refuses this session, `None` if the session is accepted."""
        if habits.greeting is None:
            return None
        if habits.greeting_times is not None and self.session_count(address) > habits.greeting_times:
            return None
        return habits.greeting

    def fault(self, phase, address):
        """Returns the reply to `phase` that the local part of a recipient selects, `None` for the default."""
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
        """Returns all transactions with this recipient, accepted and refused, oldest first."""
        with self.lock:
            return [one for one in self.transactions if recipient in one.recipients]

    def accepted(self, recipient):
        """Returns the transactions with this recipient that were accepted with 250, oldest first."""
        return [one for one in self.received(recipient) if one.accepted]
