"""A broadcast to many contacts: fan-out, the first message on the wire, other email beside it, delivery, and cancel.

Three servers run one after another. The first does not deliver: it fans out two broadcasts, the second with a request for
a single email at a time beside it, and cancels both. The second delivers a stored broadcast into smtp-sink. The third
delivers a broadcast while it is fanned out, with single emails in the middle.
"""

import json
import re
import shutil
import threading
import time
from random import Random

from audience import post
from deadline import wait_until
from deliver import TEXT_BYTES
from limits import fanout_rate
from load import words
from machine import Watch, disk_bytes, ratio, spread, table, thread_cpu_s, wait_until_idle
from recording_sink import RecordingSink
from server import SENDER, Api, Hold, Relay, Server
from smtp_sink import SmtpSink

BATCH = 1_000
EMAIL_BATCH = 100
DOMAINS = 5_000
FAN_OUT_SECONDS = 1_800
DELIVERY_SECONDS = 900
IDLE_REQUESTS = 5_000
SINGLE_EMAILS = 100
LIVE_CONTACTS = 20_000
# The links in broadcasts need a URL that recipients can open. The log has the end of a fan-out.
EXTRA = ("--public-url", "https://mail.example.com", "--log", "info")

FAN_OUT_PER_S = 50_000
FAN_OUT_RATIO = 0.1
ACCEPT_FACTOR = 2.0
FIRST_S = 2.0
DELIVERY_RATIO = 0.9
RECIPIENT_BYTES = 400
SINGLE_MS = 500
CANCEL_S = 1.0
MEMORY_MIB = 150


def run(options):
    limit = None
    if options.limits:
        limit = fanout_rate(options.limits, options.directory / "limit-fanout", options.contacts)
    stored = Stored(options)
    try:
        print_stored(options, stored.measure(), limit)
    finally:
        stored.end()
    print_delivery(options)
    print_live(options)


def print_stored(options, figures, limit):
    idle, beside = figures["idle_ms"], figures["beside_ms"]
    late = figures["queue_rows_beside_ms"]
    late_text = f"{quantile(late, 50):.2f}, {quantile(late, 99):.2f}" if late else "none"
    table(
        [f"fan-out of a broadcast to {options.contacts:,} contacts, not delivered", "figure", "target"],
        [
            ["emails stored/s", f"{figures['per_s']:,.0f}", f">= {FAN_OUT_PER_S:,}"],
            ["limit program, rows/s", spread([limit]), ""],
            ["ratio", ratio([figures["per_s"]], [limit] if limit else []), f">= {FAN_OUT_RATIO}"],
            ["emails stored/s beside single emails", f"{figures['beside_per_s']:,.0f}", f">= {FAN_OUT_PER_S:,}"],
            ["all in the queue: alone, beside single emails, s", f"{figures['queued_s']:.1f}, {figures['queued_beside_s']:.1f}", ""],
            ["POST /emails idle, p50 and p99 ms", f"{quantile(idle, 50):.2f}, {quantile(idle, 99):.2f}", ""],
            [
                "POST /emails during the fan-out, p50 and p99 ms",
                f"{quantile(beside, 50):.2f}, {quantile(beside, 99):.2f}",
                f"p99 <= {ACCEPT_FACTOR * quantile(idle, 99):.2f}",
            ],
            [
                "POST /emails during the queue rows, p50 and p99 ms",
                late_text,
                f"p99 <= {ACCEPT_FACTOR * quantile(idle, 99):.2f}",
            ],
            ["bytes of file for a queued recipient", f"{figures['bytes']:,.0f}", f"<= {RECIPIENT_BYTES}"],
            ["CPU us of a recipient: all, writer thread", f"{figures['cpu_us']:.1f}, {figures['writer_us']:.1f}", ""],
            ["create and send, s", f"{figures['send_s']:.2f}", ""],
            [f"cancel with {figures['canceled']:,} remaining, s", f"{figures['cancel_s']:.2f}", f"<= {CANCEL_S:g}"],
            ["removal of the queued emails, s", f"{figures['removal_s']:.1f}", ""],
            ["peak memory MiB", f"{figures['peak_mib']:.0f}", f"<= {MEMORY_MIB}"],
        ],
    )
    print("bound: CPU of the writer thread, and a sync for each page\n")


def print_delivery(options):
    """Delivers stored emails of the API and a stored broadcast to the same addresses, in turn."""
    ours, theirs = [], []
    for number in range(options.runs):
        theirs.append(stored_delivery(options, f"transactional-{number}", store_emails)["per_s"])
        ours.append(stored_delivery(options, f"broadcast-{number}", store_broadcast))
    rates = [one["per_s"] for one in ours]
    table(
        ["deliver into smtp-sink", "messages/s", "transactional/s", "ratio", "target", "peak memory MiB"],
        [[
            f"{options.messages:,} recipients of a broadcast", spread(rates), spread(theirs), ratio(rates, theirs),
            f">= {DELIVERY_RATIO}", spread([one["peak_mib"] for one in ours]),
        ]],
    )  # fmt: skip
    print()


def print_live(options):
    first_s, late_ms = [], []
    for number in range(options.runs):
        first, late = live(options, f"live-{number}")
        first_s.append(first)
        late_ms += late
    table(
        [f"broadcast to {min(LIVE_CONTACTS, options.contacts):,} contacts, delivered at once", "figure", "target"],
        [
            ["first message after the request, s", spread(first_s, 2), f"<= {FIRST_S:g}"],
            [
                f"{SINGLE_EMAILS} single emails in the middle, p50 and p99 ms",
                f"{quantile(late_ms, 50):.0f}, {quantile(late_ms, 99):.0f}",
                f"p99 <= {SINGLE_MS}",
            ],
        ],
    )
    print("the receiver of this table is a Python program, which is busy with the broadcast")


def quantile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def address(number):
    return f"user{number:x}@customer{number % DOMAINS}.example.net"


def bodies(count):
    """Returns the bodies of requests that create contacts."""
    result = []
    for start in range(0, count, BATCH):
        items = [
            {"email": address(number), "first_name": f"First{number % 997}",
             "properties": {"plan": ["free", "pro", "team"][number % 3], "city": f"City {number % 400}"}}
            for number in range(start, min(start + BATCH, count))
        ]  # fmt: skip
        result.append(json.dumps(items).encode())
    return result


def import_contacts(server, count):
    for key in ("plan", "city"):
        server.api.ok("POST", "/contact-properties", {"key": key, "type": "string"})
    post(server.port, bodies(count))


def send_broadcast(server, text_bytes=TEXT_BYTES):
    """Sends a broadcast to all contacts. Returns its id, and the seconds of the request."""
    text = "Hello {{{FIRST_NAME|there}}}, your plan is {{{plan|free}}}.\n" + words(text_bytes, Random(7))
    broadcast = {
        "from": SENDER, "subject": "News for {{{FIRST_NAME|you}}}", "text": text + "\n{{{UNSUBSCRIBE_URL}}}", "send": True,
    }  # fmt: skip
    began = time.monotonic()
    response = server.api.ok("POST", "/broadcasts", broadcast)
    return response["id"], time.monotonic() - began


def fan_out_end(server, broadcast):
    """Waits for the last stored recipient. Returns the recipients and the milliseconds from the log."""
    line = re.compile(rf"queued (\d+) recipients of broadcast {broadcast} in (\d+) ms")
    found = wait_until(
        lambda: line.search(server.log_path.read_text(errors="replace")), FAN_OUT_SECONDS,
        lambda: f"the end of the fan-out\n{server.log_tail()}", pause_s=0.1,
    )  # fmt: skip
    return int(found[1]), int(found[2])


class Singles:
    """Requests for one email at a time, until it ends. `times_ms` has the duration of each."""

    def __init__(self, port):
        self.api = Api(port, timeout_s=60)
        self.times_ms, self.is_over, self.error = [], False, None
        self.thread = threading.Thread(target=self._post, daemon=True)

    def _post(self):
        while not self.is_over:
            try:
                self.times_ms.append(self.one())
            except (OSError, AssertionError) as error:
                self.error = error
                return

    def one(self, number=0):
        email = {"from": SENDER, "to": f"one{number}@customer.example.org", "subject": "One", "text": "Hello"}
        began = time.monotonic()
        self.api.ok("POST", "/emails", email)
        return (time.monotonic() - began) * 1_000

    def start(self):
        self.thread.start()
        return self

    def end(self):
        self.is_over = True
        self.thread.join()
        if self.error:
            raise self.error
        return self.times_ms


class Stored:
    """A server that does not deliver."""

    def __init__(self, options):
        self.options = options
        self.server = Server(options.directory / "broadcast", Hold(), profile="release", extra=EXTRA)

    def end(self):
        self.server.end()
        shutil.rmtree(self.server.directory, ignore_errors=True)

    def measure(self):
        server, count = self.server, self.options.contacts
        server.start()
        import_contacts(server, count)
        # A stop gives the pages back that the import has freed.
        server.stop()
        empty = disk_bytes(server.store_path)
        server.start()
        watch = Watch(server.process.pid)
        broadcast, send_s = send_broadcast(server)
        began = time.monotonic()
        recipients, took_ms = fan_out_end(server, broadcast)
        server.wait_until_enqueued(broadcast, FAN_OUT_SECONDS)
        queued_s = time.monotonic() - began
        watch.end()
        assert recipients == count, f"{recipients:,} of {count:,} contacts were queued"
        writer_us = thread_cpu_s(server.process.pid, "store-writer") * 1e6 / count
        peak_mib = server.status_kib("VmHWM") / 1024
        server.stop()
        stored = disk_bytes(server.store_path) - empty
        server.start()
        # Idle and busy requests meet the same process and the same stored emails.
        wait_until_idle(server.process.pid)
        singles = Singles(server.port)
        idle_ms = [singles.one() for _ in range(IDLE_REQUESTS)]
        singles.start()
        second, _ = send_broadcast(server)
        began = time.monotonic()
        _, beside_took_ms = fan_out_end(server, second)
        stored_beside = len(singles.times_ms)
        server.wait_until_enqueued(second, FAN_OUT_SECONDS)
        queued_beside_s = time.monotonic() - began
        beside_ms = singles.end()
        began = time.monotonic()
        # The server has closed the connection of this thread, which was idle during the fan-out.
        canceled = Api(server.port).ok("POST", f"/broadcasts/{second}/cancel")["canceled_remaining"]
        cancel_s = time.monotonic() - began
        assert canceled == count, f"{canceled:,} of {count:,} emails were canceled"
        line = f"removed the queued emails of broadcast {second}"
        wait_until(
            lambda: line in server.log_path.read_text(errors="replace"), FAN_OUT_SECONDS, "the removal", pause_s=0.1
        )
        removal_s = time.monotonic() - began
        peak_mib = max(peak_mib, server.status_kib("VmHWM") / 1024)
        server.stop()
        return {
            "per_s": count * 1_000 / max(took_ms, 1),
            "beside_per_s": count * 1_000 / max(beside_took_ms, 1),
            "idle_ms": idle_ms,
            "beside_ms": beside_ms[:stored_beside],
            "queue_rows_beside_ms": beside_ms[stored_beside:],
            "queued_s": queued_s,
            "queued_beside_s": queued_beside_s,
            "bytes": stored / count,
            "cpu_us": watch.cpu_s * 1e6 / count,
            "writer_us": writer_us,
            "send_s": send_s,
            "canceled": canceled,
            "cancel_s": cancel_s,
            "removal_s": removal_s,
            "peak_mib": peak_mib,
        }


def store_broadcast(server, count):
    """Queues a broadcast to `count` contacts."""
    import_contacts(server, count)
    broadcast, _ = send_broadcast(server)
    server.wait_until_enqueued(broadcast, FAN_OUT_SECONDS)


def store_emails(server, count):
    """Queues `count` emails with a text of the same size, to the addresses of the contacts."""
    text = words(TEXT_BYTES, Random(7))
    emails = [
        {"from": SENDER, "to": address(number), "subject": f"News for First{number % 997}", "text": text}
        for number in range(count)
    ]  # fmt: skip
    for start in range(0, count, EMAIL_BATCH):
        server.api.ok("POST", "/emails/batch", emails[start : start + EMAIL_BATCH])


def stored_delivery(options, name, store):
    """Calls `store` on a server that does not deliver, then delivers. The rate is from the first to the last message."""
    server = Server(options.directory / name, Hold(), profile="release", extra=EXTRA)
    sink = SmtpSink().start()
    try:
        server.start()
        store(server, options.messages)
        server.stop()
        server.delivery = Relay(f"smtp://127.0.0.1:{sink.port}?final=true")
        server.spawn()
        wait_until(
            lambda: sink.count >= options.messages, DELIVERY_SECONDS,
            lambda: f"{options.messages} messages; smtp-sink counted {sink.count}\n{server.log_tail()}",
        )  # fmt: skip
        rate = (sink.count - 1) / (sink.last_at - sink.first_at)
        peak_mib = server.status_kib("VmHWM") / 1024
        server.stop()
        assert sink.count == options.messages, f"{sink.count} of {options.messages} messages arrived"
        return {"per_s": rate, "peak_mib": peak_mib}
    finally:
        server.end()
        sink.stop()
        shutil.rmtree(server.directory, ignore_errors=True)


class Arrivals(RecordingSink):
    """Keeps the time of the first message, and of each single email by its number."""

    def __init__(self):
        super().__init__(0)
        self.first_at, self.count, self.singles = None, 0, {}

    def record(self, epoch, content):
        now = time.monotonic()
        self.first_at = self.first_at or now
        self.count += 1
        found = re.search(rb"(?im)^to: one(\d+)@", content[:4_096])
        if found:
            self.singles[int(found[1])] = now


def live(options, name):
    """Returns the seconds to the first message of a broadcast, and the milliseconds of each single email."""
    count = min(LIVE_CONTACTS, options.contacts)
    sink = Arrivals()
    relay = Relay(f"smtp://127.0.0.1:{sink.port}?final=true")
    server = Server(options.directory / name, relay, profile="release", extra=EXTRA)
    try:
        server.start()
        import_contacts(server, count)
        began = time.monotonic()
        send_broadcast(server)
        wait_until(lambda: sink.first_at, 60, "the first message", pause_s=0.001)
        first_s = sink.first_at - began
        singles, sent = Singles(server.port), {}
        for number in range(SINGLE_EMAILS):
            singles.one(number)
            sent[number] = time.monotonic()
            arrived = lambda number=number: number in sink.singles  # noqa: E731
            wait_until(arrived, 60, f"single email {number}", pause_s=0.001)
        assert sink.count < count + SINGLE_EMAILS, "the broadcast ended before the single emails; use more contacts"
        wait_until(lambda: sink.count == count + SINGLE_EMAILS, DELIVERY_SECONDS, lambda: f"{sink.count} messages")
        server.stop()
        return first_s, [max(0.0, (sink.singles[number] - at) * 1_000) for number, at in sent.items()]
    finally:
        server.end()
        shutil.rmtree(server.directory, ignore_errors=True)
