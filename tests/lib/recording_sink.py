"""An SMTP receiver in this process that knows when it answered 250 for which message.

Each message is told apart by its `X-Crash-Id` header. A session remembers the epoch in which
it was opened, that is, how many times the sender had been started: a second delivery is
excused by what happened in the epoch of the first.
"""

import asyncio
import dataclasses
import random
import re
import threading
import time

CRASH_ID = re.compile(rb"(?im)^x-crash-id:[ \t]*(\S+)")
REPLY_DELAY_MAX_S = 0.02


@dataclasses.dataclass(frozen=True)
class Delivery:
    epoch: int
    at: float  # when 250 was answered, on the monotonic clock
    message_id: bytes


class RecordingSink:
    """Listens from construction on; `deliveries` maps crash id to its deliveries in order."""

    def __init__(self, seed):
        self.epoch = 0
        self.deliveries = {}
        self.total = 0
        self.random = random.Random(seed)
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="sink", daemon=True).start()
        listening = asyncio.run_coroutine_threadsafe(
            self.loop.create_server(lambda: _Session(self), "127.0.0.1", 0), self.loop
        ).result(10)
        self.port = listening.sockets[0].getsockname()[1]

    def record(self, epoch, content):
        head = content.split(b"\r\n\r\n", 1)[0]
        crash_id = CRASH_ID.search(head)
        message_id = re.search(rb"(?im)^message-id:[ \t]*(\S+)", head)
        delivery = Delivery(epoch, time.monotonic(), message_id[1] if message_id else b"")
        self.deliveries.setdefault(crash_id[1].decode() if crash_id else "", []).append(delivery)
        self.total += 1


class _Session(asyncio.Protocol):
    """Just enough of RFC 5321 with PIPELINING: everything is taken."""

    def __init__(self, sink):
        self.sink, self.epoch = sink, sink.epoch
        self.buffer, self.in_data, self.transport = bytearray(), False, None
        self.waiting = False  # for the delayed reply to a final dot

    def connection_made(self, transport):
        self.transport = transport
        transport.write(b"220 sink.test ESMTP\r\n")

    def data_received(self, data):
        self.buffer += data
        if not self.waiting:
            self.advance()

    def advance(self):
        while not self.waiting:
            if self.in_data:
                end = 0 if self.buffer.startswith(b".\r\n") else self.buffer.find(b"\r\n.\r\n")
                if end < 0:
                    return
                content = bytes(self.buffer[: end + 2])
                del self.buffer[: end + (3 if end == 0 else 5)]
                self.in_data = False
                self.answer_dot(content)
            else:
                end = self.buffer.find(b"\r\n")
                if end < 0:
                    return
                verb = bytes(self.buffer[:4]).upper()
                del self.buffer[: end + 2]
                self.answer(verb)

    def answer(self, verb):
        if verb == b"EHLO":
            self.transport.write(b"250-sink.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SIZE 50000000\r\n")
        elif verb == b"DATA":
            self.in_data = True
            self.transport.write(b"354 Go ahead\r\n")
        elif verb == b"QUIT":
            self.transport.write(b"221 Bye\r\n")
            self.transport.close()
        else:
            self.transport.write(b"250 Ok\r\n")

    def answer_dot(self, content):
        # Some replies come late, so that kills also fall between the dot and its reply.
        if self.sink.random.random() < 0.1:
            self.waiting = True
            delay = self.sink.random.random() * REPLY_DELAY_MAX_S
            self.sink.loop.call_later(delay, self.take, content)
        else:
            self.take(content)

    def take(self, content):
        if self.transport.is_closing():
            return  # The sender died before the reply: this message was never taken.
        self.sink.record(self.epoch, content)
        self.transport.write(b"250 2.0.0 Taken\r\n")
        if self.waiting:
            self.waiting = False
            self.advance()
