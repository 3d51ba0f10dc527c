"""Tracking: answers to first requests of pixels and links, each recorded durably, and the cost of tracking for accepting and
for delivery.

A receiver in this process collects the URLs from delivered emails of one recipient each. wrk then requests each URL once,
so that every answer waits for the commit of an event. The URLs of one half of the emails are requested in the order in which
the emails were accepted, so that hits at the same time change adjacent rows. Those of the other half are requested in random
order, in which a commit writes the most pages. The pixel of an invalid token and GET /health write nothing.
"""

import quopri
import random
import re
import shutil

from deadline import wait_until
from load import fill, wrk
from machine import Watch, ratio, spread, table
from recording_sink import RecordingSink
from server import Hold, Relay, Server
from smtp_sink import SmtpSink

IN_FLIGHT = 64
RECORDED = ("pixel", "link", "pixel, random order", "link, random order")
UNRECORDED = ("pixel of an invalid token", "GET /health")
TEXT_BYTES = 1_000
HITS_PER_S = 15_000
P99_MS = 10
ACCEPT_RATIO_MIN = 0.75
DRAIN_SECONDS = 300
LAST_EVENT_SECONDS = 10
SAMPLE = 20
BODY_BYTES = 3_000
PUBLIC_URL = "http://links.ringmail.test"
PATH = re.compile(rb"http://links\.ringmail\.test(/t/([oc])/[A-Za-z0-9_.~-]+)")
# The Message-ID begins with the id of the email, which begins with the time of acceptance.
MESSAGE_ID = re.compile(rb"(?im)^message-id:[ \t]*<(\S+)>")


def run(options):
    kinds = {kind: [] for kind in (*RECORDED, *UNRECORDED)}
    for number in range(options.runs):
        for kind, figures in hits(options, f"track-{number}").items():
            kinds[kind].append(figures)
    rate, p99 = f"ratio to {HITS_PER_S:,}/s", f"ratio to {P99_MS} ms"
    table(
        [f"tracking, {IN_FLIGHT} in flight", "answers/s", rate, "p50 ms", "p99 ms", p99, "CPU us/answer"],
        [row(kind, figures) for kind, figures in kinds.items()],
    )
    print(f"target: at least {HITS_PER_S:,} recorded answers a second, with a p99 of at most {P99_MS} ms. bound: fsync")
    compare(options, "accept, 3 KB bodies, 64 in flight", accept_rate, f"at least {ACCEPT_RATIO_MIN}")
    compare(options, f"deliver {options.messages:,} messages into smtp-sink", delivery_rate, "none")


def row(kind, figures):
    rates, p99s = [one["per_s"] for one in figures], [one["p99_ms"] for one in figures]
    to_target = lambda seen, target: ratio(seen, [target]) if kind in RECORDED else "-"  # noqa: E731
    return [
        kind, spread(rates), to_target(rates, HITS_PER_S), spread([one["p50_ms"] for one in figures], 2),
        spread(p99s, 2), to_target(p99s, P99_MS), spread([one["cpu_us"] for one in figures]),
    ]  # fmt: skip


def compare(options, what, rate, target):
    """Prints the rates without and with tracking. The runs alternate."""
    plain, tracked = [], []
    for number in range(options.runs):
        plain.append(rate(options, f"plain-{number}", False))
        tracked.append(rate(options, f"tracked-{number}", True))
    print()
    table(
        [what, "without tracking/s", "with tracking/s", "ratio", "target"],
        [["emails", spread(plain), spread(tracked), ratio(tracked, plain), target]],
    )


class Collector(RecordingSink):
    """Accepts all messages, and collects the path of the pixel and of the first link of each by Message-ID."""

    def __init__(self):
        super().__init__(0)
        self.paths = {b"o": {}, b"c": {}}

    def record(self, epoch, content):
        message_id = MESSAGE_ID.search(content)[1]
        for path, kind in PATH.findall(quopri.decodestring(content)):
            self.paths[kind].setdefault(message_id, path.decode())
        self.total += 1

    def in_order(self, kind):
        """Returns the paths in the order in which the emails were accepted."""
        return [path for _, path in sorted(self.paths[kind].items())]


def html(text):
    """Returns an email with three links."""
    link = '<p><a href="https://shop.example.com/products/{}?from=news">Product</a></p>'
    links = "".join(link.format(number) for number in range(3))
    return f"<html><body><p>{text}</p>{links}</body></html>"


def tracked_server(options, name, delivery):
    """Returns a server that takes no request for one of software because it follows soon after delivery."""
    extra = ["--public-url", PUBLIC_URL, "--prefetch-window-s", "0"]
    return Server(options.directory / name, delivery, profile="release", extra=extra)


def hits(options, name):
    """Returns the figures of each kind of request, from one store with delivered emails."""
    sink = Collector()
    server = tracked_server(options, name, Relay(f"smtp://127.0.0.1:{sink.port}?final=true"))
    try:
        server.start()
        server.track()
        firsts = fill(server, options.messages, TEXT_BYTES, html=html)
        wait_until(
            lambda: sink.total >= options.messages, DRAIN_SECONDS,
            lambda: f"{options.messages} messages; {sink.total} arrived\n{server.log_tail()}", pause_s=0.2,
        )  # fmt: skip
        pixels, links = (sink.in_order(kind) for kind in (b"o", b"c"))
        assert len(pixels) == len(links) == options.messages, f"{len(pixels)} pixels, {len(links)} links"
        # The server takes a request before the delivery is stored for one of software.
        for email in firsts:
            server.wait_for(email, "delivered", DRAIN_SECONDS)
        # The worker checks the content of each email once, some seconds after it was accepted.
        checked = lambda: server.api.call("GET", f"/emails/{firsts[-1]}/insights")[0] == 200  # noqa: E731
        wait_until(checked, DRAIN_SECONDS, "the checks of the content of the last emails", pause_s=0.2)
        server.api.close()
        half, chance = len(pixels) // 2, random.Random(7)
        invalid = [f"{path[:-4]}{number % 10_000:04}" for number, path in enumerate(pixels)]
        paths = {
            "pixel": pixels[:half],
            "link": links[:half],
            "pixel, random order": chance.sample(pixels[half:], len(pixels) - half),
            "link, random order": chance.sample(links[half:], len(links) - half),
            "pixel of an invalid token": invalid,
            "GET /health": ["/health"] * len(pixels),
        }
        figures = {kind: one_run(options, server, paths[kind]) for kind in paths}
        recorded(server, firsts[:: max(1, len(firsts) // SAMPLE)])
        server.stop()
        return figures
    finally:
        server.end()
        sink.loop.call_soon_threadsafe(sink.loop.stop)
        shutil.rmtree(server.directory, ignore_errors=True)


def one_run(options, server, paths):
    """Requests each path once. Returns the figures of wrk."""
    file = server.directory / "paths.txt"
    file.write_text("".join(f"{path}\n" for path in paths))
    watch = Watch(server.process.pid)
    result = wrk(server.port, "paths.lua", IN_FLIGHT, options.seconds, PATHS=file)
    watch.end()
    if result["took_s"]:
        result["per_s"] = len(paths) / result["took_s"]
    result["cpu_us"] = watch.cpu_s * 1e6 / result["requests"]
    return result


def recorded(server, emails):
    """Asserts that the emails have the clicks of the runs."""
    for email in emails:
        server.wait_for(email, {"opened", "clicked"}, LAST_EVENT_SECONDS)


def accept_rate(options, name, is_tracked):
    """Returns the emails that the server accepts in a second."""
    server = tracked_server(options, f"accept-{name}", Hold())
    try:
        server.start()
        if is_tracked:
            server.track()
        result = wrk(server.port, "post.lua", IN_FLIGHT, options.seconds, KIND="email", PER=1, BODY_BYTES=BODY_BYTES)
        return result["per_s"]
    finally:
        server.end()
        shutil.rmtree(server.directory, ignore_errors=True)


def delivery_rate(options, name, is_tracked):
    """Returns the messages that smtp-sink receives in a second, from a full queue."""
    server = tracked_server(options, f"deliver-{name}", Hold())
    sink = SmtpSink().start()
    try:
        server.start()
        if is_tracked:
            server.track()
        fill(server, options.messages, TEXT_BYTES, html=html)
        server.stop()
        server.delivery = Relay(f"smtp://127.0.0.1:{sink.port}?final=true")
        server.spawn()
        wait_until(
            lambda: sink.count >= options.messages, DRAIN_SECONDS,
            lambda: f"{options.messages} messages; smtp-sink counted {sink.count}\n{server.log_tail()}",
        )  # fmt: skip
        return (sink.count - 1) / (sink.last_at - sink.first_at)
    finally:
        server.end()
        sink.stop()
        shutil.rmtree(server.directory, ignore_errors=True)
