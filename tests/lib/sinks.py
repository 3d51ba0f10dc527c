"""SMTP receivers on loopback addresses, in this process. All listen on one port, and each address has its habits."""

import asyncio
import collections
import dataclasses
import functools
import re
import threading
import time

from ports import on_free_port

MESSAGE_ID = re.compile(rb"(?im)^message-id:[ \t]*(\S+)")


@dataclasses.dataclass(frozen=True)
class Habit:
    """Behaviour of one listening address."""

    greets: bool = True
    pipelines: bool = True  # Whether it offers PIPELINING. Otherwise each command waits for the reply to the last one.
    greylists: bool = False  # Whether the first RCPT of each recipient gets a 450.
    reply_delay_s: float = 0.0  # Delay of the reply to the final dot.


@dataclasses.dataclass(frozen=True)
class Arrival:
    """A message that was accepted for one recipient."""

    at: float  # Wall clock in seconds.
    session: int  # Number of the session, from 1.
    message_id: bytes


class Sinks:
    """Receivers that accept all mail. `arrived` maps each recipient to its arrivals, oldest first.

    A message for a recipient in `hanging` gets no reply to its final dot. `hung` maps the recipient to the sessions in
    which this happened.
    """

    def __init__(self, habits):
        """`habits` maps each listening address to its `Habit`."""
        self.habits = habits
        self.arrived, self.greylisted, self.sessions = collections.defaultdict(list), set(), 0
        self.hanging, self.hung = set(), collections.defaultdict(list)
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="sinks", daemon=True).start()
        self.port, _ = on_free_port(self._listen, *habits)

    def _listen(self, port):
        asyncio.run_coroutine_threadsafe(self._open(port), self.loop).result(10)

    async def _open(self, port):
        """Listens at the port on each address, or on none."""
        opened = []
        try:
            for address in self.habits:
                session = functools.partial(Session, self, address)
                opened.append(await self.loop.create_server(session, address, port, backlog=1_000))
        except OSError:
            for server in opened:
                server.close()
            raise

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)

    def release(self, recipient):
        """Ends the sessions that hang at a message for this recipient, without a reply. Later messages are accepted."""
        self.hanging.discard(recipient)
        for session in self.hung[recipient]:
            self.loop.call_soon_threadsafe(session.transport.abort)

    def reached(self, session, step):
        """Runs in the thread of the receivers when a session reaches a step, before the reply to it. A step is
        "connection", the verb of a command, "message" (a part of a message), or "final dot" (the message is recorded).
        The step "250" follows the reply to the final dot.
        """

    def record(self, session, recipient, content):
        """Records an accepted message. Runs in the thread of the receivers."""
        self.arrived[recipient].append(Arrival(time.time(), session.number, message_id(content)))


def message_id(content):
    found = MESSAGE_ID.search(content.split(b"\r\n\r\n", 1)[0])
    return found[1] if found else b""


class Session(asyncio.Protocol):
    """One session. Implements the part of RFC 5321 that the server uses."""

    def __init__(self, sinks, address):
        self.sinks, self.habit = sinks, sinks.habits[address]
        self.buffer, self.recipients, self.in_data, self.transport = b"", [], False, None
        sinks.sessions += 1
        self.number = sinks.sessions
        self.unanswered_id = None  # Message-ID of the message whose final dot gets no reply.

    def connection_made(self, transport):
        self.transport = transport
        self.sinks.reached(self, "connection")
        if self.habit.greets:
            transport.write(b"220 sink.test ESMTP\r\n")

    def data_received(self, data):
        self.buffer += data
        while True:
            end = b"\r\n.\r\n" if self.in_data else b"\r\n"
            part, found, rest = self.buffer.partition(end)
            if not found:
                if self.in_data:
                    self.sinks.reached(self, "message")
                return
            self.buffer = rest
            if self.in_data:
                self.accept(part)
            else:
                self.command(part.decode("latin-1"))

    def command(self, line):
        verb = line[:4].upper()
        self.sinks.reached(self, verb)
        if verb == "EHLO":
            self.reply("250-sink.test\r\n250 PIPELINING" if self.habit.pipelines else "250 sink.test")
        elif verb == "MAIL":
            self.recipients = []
            self.reply("250 2.1.0 OK")
        elif verb == "RCPT":
            recipient = re.search("<(.*)>", line)[1]
            if self.habit.greylists and recipient not in self.sinks.greylisted:
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

    def accept(self, content):
        self.in_data = False
        hanging = self.sinks.hanging.intersection(self.recipients)
        for recipient in hanging:
            self.sinks.hung[recipient].append(self)
        if hanging:
            self.unanswered_id = message_id(content)
            return
        for recipient in self.recipients:
            self.sinks.record(self, recipient, content)
        self.sinks.reached(self, "final dot")
        if self.habit.reply_delay_s:
            self.sinks.loop.call_later(self.habit.reply_delay_s, self.confirm)
        else:
            self.confirm()

    def confirm(self):
        self.reply("250 2.0.0 Accepted")
        self.sinks.reached(self, "250")

    def reply(self, text):
        self.transport.write(text.encode() + b"\r\n")
