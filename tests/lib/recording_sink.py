"""An SMTP receiver in this process that records the time of its 250 reply for each message.

The `X-Crash-Id` header identifies a message. A session keeps the epoch in which it was opened: the
number of times that the sender has been started. The crash suite decides by the epoch of the first
delivery whether a second delivery of the same message is allowed.
"""

import asyncio
import dataclasses
import random
import re
import threading
import time

CRASH_ID = re.compile(rb"(?im)^x-crash-id:[ \t]*(\S+)")
REPLY_DELAY_MAX_S = 0.02
DEFERRED_REPLY = b"451 4.2.1 Deferred by the test\r\n"


@dataclasses.dataclass(frozen=True)
class Delivery:
    epoch: int
    at: float  # Time of the 250 reply on the monotonic clock, in seconds.
    message_id: bytes


class RecordingSink:
    """Listens from construction on. `deliveries` maps each crash id to its deliveries, oldest first.

    Defers a share of the messages, which are not recorded then.
    """

    def __init__(self, seed, deferred_share=0.0):
        self.deferred_share = deferred_share
        self.deferred = 0
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
    """One SMTP session that accepts or defers every message. Implements the part of RFC 5321 that the server uses."""

    def __init__(self, sink):
        self.sink, self.epoch = sink, sink.epoch
        self.buffer, self.in_data, self.transport = bytearray(), False, None
        self.waiting = False  # Whether the reply to the final dot is delayed.

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
                self.end_data(content)
            else:
                end = self.buffer.find(b"\r\n")
                if end < 0:
                    return
                verb = bytes(self.buffer[:4]).upper()
                del self.buffer[: end + 2]
                self.reply(verb)

    def reply(self, verb):
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

    def end_data(self, content):
        # A tenth of the replies is delayed, so that some kills occur between the final dot and its reply.
        if self.sink.random.random() < 0.1:
            self.waiting = True
            delay = self.sink.random.random() * REPLY_DELAY_MAX_S
            self.sink.loop.call_later(delay, self.accept, content)
        else:
            self.accept(content)

    def accept(self, content):
        if self.transport.is_closing():
            return  # The sender was killed before the reply, so the message is not accepted.
        if self.sink.random.random() < self.sink.deferred_share:
            self.sink.deferred += 1
            self.transport.write(DEFERRED_REPLY)
        else:
            self.sink.record(self.epoch, content)
            self.transport.write(b"250 2.0.0 Accepted\r\n")
        if self.waiting:
            self.waiting = False
            self.advance()
