"""Requests beside retention: POST /emails while the emails of an earlier month are deleted.

A store is filled with delivered emails. The wall clock of the server then moves, to a day on which none of them is
expired, and to a day on which all are. If the deletion ends before the requests, the last figures show it: --messages
is then too small for the machine.
"""

import shutil
import time

from deadline import wait_until
from load import fill, wrk
from machine import ratio, spread, table
from mail_days import CHECKS_LOGGED, checked_days
from server import Capture, Hold
from shifted_server import ShiftedServer

IN_FLIGHT = (1, 8, 64)
RETENTION_DAYS = 30
KEPT_DAYS, EXPIRED_DAYS = RETENTION_DAYS - 10, RETENTION_DAYS + 10
SIMULATED = "delivered@ringmail.test"
TEXT_BYTES = 1_000
# Expired emails of a run for each message of the other benches.
EMAILS_PER_MESSAGE = 4
P99_RATIO_MAX = 2
DELIVERY_SECONDS = 300
CHECK_SECONDS = 60
DELETION_SECONDS = 600


def run(options):
    rows = []
    for in_flight in IN_FLIGHT:
        runs = [one_run(options, f"retention-{in_flight}-{number}", in_flight) for number in range(options.runs)]
        alone, beside, took_s = zip(*runs, strict=True)
        column = lambda figures, name: [one[name] for one in figures]  # noqa: E731
        rows.append([
            f"{in_flight}", spread(column(alone, "per_s")), spread(column(beside, "per_s")),
            spread(column(alone, "p99_ms"), 1), spread(column(beside, "p99_ms"), 1),
            ratio(column(beside, "p99_ms"), column(alone, "p99_ms")), spread(took_s, 1),
        ])  # fmt: skip
    deleted = f"{options.messages * EMAILS_PER_MESSAGE:,} deleted after s"
    table(["in flight", "accepts/s", "beside retention", "p99 ms", "beside retention", "ratio", deleted], rows)
    print(f"requests of {options.seconds} s. target: at most {P99_RATIO_MAX} of the p99 without retention. bound: the writer thread")


def one_run(options, name, in_flight):
    """Returns the figures of wrk without and with expired emails, and the seconds until these are deleted."""
    period = str(RETENTION_DAYS)
    flags = ["--content-retention-days", period, "--email-retention-days", period, *CHECKS_LOGGED]
    server = ShiftedServer(options.directory / name, Capture(), profile="release", extra=flags)
    try:
        server.start()
        last_batch = fill_delivered(server, options.messages * EMAILS_PER_MESSAGE)
        server.stop()
        # The requests measure accepting alone, so that nothing is delivered.
        server.delivery = Hold()
        server.shift(f"+{KEPT_DAYS}d")
        server.start()
        # The nightly check of the counts reads the events of the filled day.
        wait_until(lambda: checked_days(server) > 0, CHECK_SECONDS, "the check of the counts")
        alone = load(options, server, in_flight)
        server.stop()
        server.shift(f"+{EXPIRED_DAYS}d")
        server.start()
        began = time.monotonic()
        beside = load(options, server, in_flight)
        is_deleted = lambda: server.api.call("GET", f"/emails/{last_batch}")[0] == 404  # noqa: E731
        wait_until(is_deleted, DELETION_SECONDS, "the deletion of the last batch", pause_s=0.1)
        took_s = time.monotonic() - began
        server.stop()
        return alone, beside, took_s
    finally:
        server.end()
        shutil.rmtree(server.directory, ignore_errors=True)


def fill_delivered(server, count):
    """Sends emails, and waits until all are delivered. Returns the first id of the last batch."""
    firsts = fill(server, count, TEXT_BYTES, to=lambda _: SIMULATED)
    path = "/emails/metrics?metrics=delivered"
    delivered = lambda: server.api.ok("GET", path)["totals"]["delivered"]  # noqa: E731
    wait_until(lambda: delivered() == count, DELIVERY_SECONDS, lambda: f"{count} emails; {delivered()}", pause_s=0.2)
    return max(firsts)


def load(options, server, in_flight):
    return wrk(server.port, "post.lua", in_flight, options.seconds, KIND="email", PER=1, BODY_BYTES=3_000)
