"""Webhooks: the rate limit of a hundred endpoints, the maximum rate of one endpoint, and the cost of an event
for the request that causes it.

The events are new contacts. The receiver, a small Go program, and Node's fetch share the machine with
the server.
"""

import json
import pathlib
import shutil
import statistics
import subprocess
import time

from deadline import wait_until
from load import wrk
from machine import BUSY_SHARE, Watch, ratio, spread, table
from receiver import Receiver
from server import Hold, Server

HERE = pathlib.Path(__file__).resolve().parent
ENDPOINTS = 100
PER_SECOND = 50
PER_ENDPOINT = 2_000
RATE_ERROR_MAX = 0.02
EVENTS = 200_000
RATE_TARGET = 13_000
RATIO_TARGET = 2
COST_ENDPOINTS = 5
COST_TARGET = 0.15
COST_IN_FLIGHT = 16
BATCH = 1_000
TIMEOUT_S = 600


def run(options):
    receiver = Receiver()
    try:
        rate_limit(options, receiver)
        print()
        maximum_rate(options, receiver)
        print()
        cost(options, receiver)
    finally:
        receiver.stop()


def add_contacts(server, count, label):
    for start in range(0, count, BATCH):
        batch = [{"email": f"{label}{start + number}@example.net"} for number in range(min(BATCH, count - start))]
        server.api.ok("POST", "/contacts/batch", batch)


def subscribe(server, url, events):
    return server.api.ok("POST", "/webhooks", {"endpoint": url, "events": events})["id"]


def rate_limit(options, receiver):
    """Delivers 2,000 events to each of 100 endpoints at the default limit of 50 per second and endpoint."""
    server = Server(options.directory / "webhooks-limit", Hold(), profile="release")
    server.start()
    try:
        names = [f"limit-{number}" for number in range(ENDPOINTS)]
        for name in names:
            subscribe(server, receiver.url(name), ["contact.created"])
        watch = Watch(server.process.pid)
        add_contacts(server, PER_ENDPOINT, "c")
        wait_until(
            lambda: all(receiver.matches(names, "ids", PER_ENDPOINT)), TIMEOUT_S, "every delivery at the limit", 0.5
        )
        watch.end()
        report = receiver.report()
        rates = [(report[name]["requests"] - 1) / report[name]["seconds"] for name in names]
        repeated = sum(report[name]["repeated"] for name in names)
        error_max = max(abs(rate - PER_SECOND) / PER_SECOND for rate in rates)
        table(
            [f"{ENDPOINTS} endpoints, {PER_ENDPOINT:,} events each", "per second and endpoint", "max error",
             "target", "repeated", "most at once", "CPU us/delivery", "busy"],
            [[
                f"{ENDPOINTS * PER_ENDPOINT:,} deliveries", spread(rates, 2), f"{error_max:.2%}",
                f"<= {RATE_ERROR_MAX:.0%}", repeated, max(report[name]["most_at_once"] for name in names),
                f"{watch.cpu_s * 1e6 / (ENDPOINTS * PER_ENDPOINT):,.0f}", f"{watch.busy_share:.0%}",
            ]],
        )  # fmt: skip
        server.stop()
    finally:
        server.end()
        shutil.rmtree(server.directory, ignore_errors=True)


def maximum_rate(options, receiver):
    """Compares the delivery rate of one endpoint without a limit with signed POSTs from Node."""
    ours, theirs, others = [], [], []
    for number in range(options.runs):
        theirs.append(node_rate(receiver, "fetch", options.seconds))
        others.append(node_rate(receiver, "http", options.seconds))
        ours.append(drain(options, receiver, f"fast-{number}"))
    rates = [one["per_s"] for one in ours]
    busy = max(one["busy_share"] for one in ours)
    table(
        ["one endpoint, 8 in flight, no limit", "deliveries/s", "target", "CPU us/delivery", "bound", "busy",
         "Node fetch/s", "ratio", "target", "Node http/s", "ratio"],
        [[
            f"{EVENTS:,} events, outcomes durable", spread(rates), f">= {RATE_TARGET:,}",
            spread([one["cpu_us"] for one in ours]), "CPU" if busy >= BUSY_SHARE else "round trips", f"{busy:.0%}",
            spread(theirs), ratio(rates, theirs), f">= {RATIO_TARGET}", spread(others), ratio(rates, others),
        ]],
    )  # fmt: skip


def drain(options, receiver, name):
    """Returns the delivery rate of a backlog while the server has no other work."""
    server = Server(options.directory / name, Hold(), profile="release", extra=["--webhook-rate", "0"])
    server.start()
    try:
        webhook = subscribe(server, receiver.url(name), ["contact.created"])
        add_contacts(server, EVENTS, "f")
        before = receiver.counts(name)["ids"]
        began, watch = time.monotonic(), Watch(server.process.pid)
        wait_until(lambda: receiver.counts(name)["ids"] == EVENTS, TIMEOUT_S, "every delivery", 0.02)
        seconds = time.monotonic() - began
        watch.end()
        wait_until(
            lambda: server.api.ok("GET", f"/webhooks/{webhook}/events?limit=1")["data"][0]["status"] == "success",
            30, "the last outcome",
        )  # fmt: skip
        server.stop()
        # The outcomes are durable: after a restart on the same store no delivery is repeated.
        requests = receiver.counts(name)["requests"]
        server.start()
        assert server.api.ok("GET", f"/webhooks/{webhook}/events?limit=1")["data"][0]["status"] == "success"
        server.stop()
        assert receiver.counts(name)["requests"] == requests == EVENTS, "a delivery was repeated"
        count = EVENTS - before
        return {"per_s": count / seconds, "cpu_us": watch.cpu_s * 1e6 / count, "busy_share": watch.busy_share}
    finally:
        server.end()
        shutil.rmtree(server.directory, ignore_errors=True)


def node_rate(receiver, kind, seconds):
    """Returns the rate of signed POSTs of the same size from Node's fetch or its http module, 8 in flight."""
    url = receiver.url(f"node-{kind}")
    done = subprocess.run(
        ["node", str(HERE / "webhooks.mjs"), url, "8", str(seconds), kind],
        capture_output=True, text=True, check=True, timeout=seconds + 60,
    )  # fmt: skip
    return json.loads(done.stdout)["per_s"]


def cost(options, receiver):
    """Compares scheduled emails without a subscribed endpoint and with five. Each email records an event."""
    without, subscribed = [], []
    for number in range(options.runs):
        without.append(accept(options, receiver, f"cost-none-{number}", 0))
        subscribed.append(accept(options, receiver, f"cost-{number}", COST_ENDPOINTS))
    rows = []
    for name, runs in [("no endpoint", without), (f"{COST_ENDPOINTS} endpoints", subscribed)]:
        rows.append([
            name, spread([one["per_s"] for one in runs]), spread([one["cpu_us"] for one in runs]),
            spread([one["p99_ms"] for one in runs], 2),
        ])  # fmt: skip
    medians = [statistics.median(one["per_s"] for one in runs) for runs in (without, subscribed)]
    rows[1].append(f"{medians[0] / medians[1] - 1:.1%} (target < {COST_TARGET:.0%})")
    rows[0].append("")
    table(
        [f"POST /emails, scheduled, {COST_IN_FLIGHT} in flight", "emails/s", "CPU us/email", "p99 ms", "more time"],
        rows,
    )


def accept(options, receiver, name, endpoints):
    """Returns the rate of accepted emails with this number of subscribed endpoints."""
    server = Server(options.directory / name, Hold(), profile="release")
    server.start()
    try:
        # The first response starts a cooldown of the endpoint, so that only recording is measured.
        for number in range(endpoints):
            receiver.configure(f"{name}-{number}", "status", status=429, retry_after="3600")
            subscribe(server, receiver.url(f"{name}-{number}"), ["email.scheduled"])
        watch = Watch(server.process.pid)
        result = wrk(
            server.port, "post.lua", COST_IN_FLIGHT, options.seconds, KIND="email", BODY_BYTES=3000, LATER="in 20 days"
        )
        watch.end()
        result["cpu_us"] = watch.cpu_s * 1e6 / result["requests"]
        server.stop()
        return result
    finally:
        server.end()
        shutil.rmtree(server.directory, ignore_errors=True)
