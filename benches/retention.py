"""Requests beside retention: POST /emails while the emails of an earlier month are deleted.

A store is filled with delivered emails. The wall clock of the server then moves, to a day on which none of them is
expired, and to a day on which all are. Deletion is slower than the requests of a run, so that it takes the whole run.
"""

import shutil
import time

from deadline import wait_until
from load import fill, wrk
from machine import ratio, spread, table
from server import Capture, Hold
from shifted_server import ShiftedServer

IN_FLIGHT = (1, 8, 64)
RETENTION_DAYS = 30
KEPT_DAYS, EXPIRED_DAYS = RETENTION_DAYS - 10, RETENTION_DAYS + 10
SIMULATED = "delivered@ringmail.test"
TEXT_BYTES = 1_000
P99_RATIO_MAX = 2
DELIVERY_SECONDS = 300
CHECK_SECONDS = 60
DELETION_SECONDS = 600


def run(options):
    rows = []
    for in_flight in IN_FLIGHT:
        runs = [one_run(options, f"retention-{in_flight}-{number}", in_flight) for number in range(options.runs)]
        alone, beside, deleted = zip(*runs, strict=True)
        column = lambda figures, name: [one[name] for one in figures]  # noqa: E731
        rows.append([
            f"{in_flight}", spread(column(alone, "per_s")), spread(column(beside, "per_s")),
            spread(column(alone, "p99_ms"), 1), spread(column(beside, "p99_ms"), 1),
            ratio(column(beside, "p99_ms"), column(alone, "p99_ms")), spread(deleted),
        ])  # fmt: skip
    header = ["in flight", "accepts/s", "beside retention", "p99 ms", "beside retention", "ratio", "deleted emails/s"]
    table([header[0], *header[1:]], rows)
    print(f"target: at most {P99_RATIO_MAX} of the p99 without retention. bound: the writer thread")


def one_run(options, name, in_flight):
    """Returns the figures of wrk on the day before and on the day of the retention, and the deleted emails a second."""
    period = str(RETENTION_DAYS)
    flags = ["--content-retention-days", period, "--email-retention-days", period, "--log", "warn,ringmail::email_metrics=info"]
    server = ShiftedServer(options.directory / name, Capture(), profile="release", extra=flags)
    try:
        server.start()
        first, last = fill_delivered(server, options.messages)
        server.stop()
        # Emails that are held are not settled, so that those of the requests stay.
        server.delivery = Hold()
        server.shift(f"+{KEPT_DAYS}d")
        server.start()
        # The nightly check of the counts reads the events of the filled day.
        wait_until(lambda: "the counts of a day agree" in server.log_path.read_text(), CHECK_SECONDS, "the check of the counts")
        alone = load(options, server, in_flight)
        server.stop()
        server.shift(f"+{EXPIRED_DAYS}d")
        server.start()
        began = time.monotonic()
        beside = load(options, server, in_flight)
        assert not is_deleted(server, last), f"the deletion ended within {options.seconds} s: --messages is too small"
        wait_until(lambda: is_deleted(server, last), DELETION_SECONDS, "the deletion of the last email", pause_s=0.1)
        took_s = time.monotonic() - began
        assert is_deleted(server, first)
        server.stop()
        return alone, beside, options.messages / took_s
    finally:
        server.end()
        shutil.rmtree(server.directory, ignore_errors=True)


def fill_delivered(server, count):
    """Sends emails, and waits until all are delivered. Returns the ids of an early and of the last email."""
    firsts = fill(server, count, TEXT_BYTES, to=SIMULATED)
    path = "/emails/metrics?metrics=delivered"
    delivered = lambda: server.api.ok("GET", path)["totals"]["delivered"]  # noqa: E731
    wait_until(lambda: delivered() == count, DELIVERY_SECONDS, lambda: f"{count} emails; {delivered()}", pause_s=0.2)
    return min(firsts), max(firsts)


def load(options, server, in_flight):
    return wrk(server.port, "post.lua", in_flight, options.seconds, KIND="email", PER=1, BODY_BYTES=3_000)


def is_deleted(server, email):
    return server.api.call("GET", f"/emails/{email}")[0] == 404
