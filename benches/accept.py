"""Accepting over HTTP: POST /emails with 1, 16 and 64 in flight, with idempotency keys, and batches of 100 with 4.

Every run has a new store and the server does not deliver, so that only accepting is measured. The load
generator and the server share the machine.
"""

import shutil

from limits import HttpProgram, one_commit_rate
from load import wrk
from machine import BUSY_SHARE, Watch, disk_bytes, ratio, spread, table
from server import Hold, Server

BODY_BYTES = 3000
BATCH = 100
CASES = [("email", 1), ("email", 16), ("email", 64), ("keyed", 16), ("keyed", 64), ("batch", 4)]


def run(options):
    rows, disk_rows = [], []
    for kind, in_flight in CASES:
        ours, theirs = [], []
        for number in range(options.runs):
            if options.limits and kind == "email":
                theirs.append(limit_run(options, in_flight))
            ours.append(one_run(options, kind, in_flight, f"accept-{kind}-{in_flight}-{number}"))
        what = {"email": "POST /emails", "keyed": "POST /emails with keys", "batch": f"batches of {BATCH}"}[kind]
        name = f"{what}, {in_flight} in flight"
        limit_rates = [one["per_s"] for one in theirs]
        rates = [one["emails_per_s"] for one in ours]
        busy = max(one["busy_share"] for one in ours)
        rows.append(
            [
                name, spread(rates),
                spread([one["p50_ms"] for one in ours], 2), spread([one["p99_ms"] for one in ours], 2),
                spread([one["cpu_us"] for one in ours]), "CPU" if busy >= BUSY_SHARE else "fsync", f"{busy:.0%}",
                spread(limit_rates), ratio(rates, limit_rates), spread([one["p99_ms"] for one in theirs], 2),
            ]
        )  # fmt: skip
        disk_rows.append(
            [
                name, spread([one["emails"] for one in ours]),
                spread([one["file_bytes"] for one in ours]), spread([one["written_bytes"] for one in ours]),
                spread([one["peak_mib"] for one in ours]),
            ]
        )  # fmt: skip
    table(
        ["accept, durable, 3 KB bodies", "emails/s", "p50 ms", "p99 ms", "CPU us/email", "bound", "busy",
         "limit program/s", "ratio", "its p99 ms"],
        rows,
    )  # fmt: skip
    print()
    table(["per email", "accepted a run", "bytes on disk", "bytes written", "peak memory MiB"], disk_rows)
    if options.limits:
        rates = [
            one_commit_rate(options.limits, options.directory / f"each-{number}", options.seconds)
            for number in range(options.runs)
        ]
        print(f"\none durable commit per email, no HTTP (limit program): {spread(rates)} emails/s")


def one_run(options, kind, in_flight, name):
    """Returns the figures of one run of wrk against a new store."""
    server = Server(options.directory / name, Hold(), profile="release")
    server.start()
    try:
        empty = disk_bytes(server.store_path)
        watch = Watch(server.process.pid)
        result = wrk(
            server.port, "post.lua", in_flight, options.seconds, KIND=kind, PER=BATCH, BODY_BYTES=BODY_BYTES
        )  # fmt: skip
        watch.end()
        emails = result["requests"] * (BATCH if kind == "batch" else 1)
        result.update(
            emails=emails,
            emails_per_s=emails / result["seconds"],
            cpu_us=watch.cpu_s * 1e6 / emails,
            written_bytes=watch.written_bytes / emails,
            busy_share=watch.busy_share,
            peak_mib=server.status_kib("VmHWM") / 1024,
        )
        server.stop()
        result["file_bytes"] = (disk_bytes(server.store_path) - empty) / emails
        return result
    finally:
        server.end()
        shutil.rmtree(server.directory, ignore_errors=True)


def limit_run(options, in_flight):
    """Returns the figures of one run of wrk against the limit program."""
    directory = options.directory / "limit-http"
    program = HttpProgram(options.limits, directory)
    try:
        return wrk(program.port, "post.lua", in_flight, options.seconds, KIND="email", BODY_BYTES=BODY_BYTES)
    finally:
        program.stop()
        shutil.rmtree(directory, ignore_errors=True)
