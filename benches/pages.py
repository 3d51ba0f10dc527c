"""A large store: pages at a random cursor, the first response after a start, memory with a full queue."""

import shutil
import time

from load import fill, wrk
from machine import disk_bytes, spread, table
from ports import free_port
from server import Api, Hold, Relay, Server

TEXT_BYTES = 2_700
QUEUED = 100_000
# Time in which the store does its idle commit, so that the start of an idle server is measured.
IDLE_S = 2.0
FIRST_RESPONSE_SECONDS = 60


def run(options):
    rows, start_rows = [], []
    for count in sorted(int(size) for size in options.rows.split(",")):
        server = Server(options.directory / f"pages-{count}", Hold(), profile="release")
        try:
            server.start()
            began = time.monotonic()
            ids = fill(server, count, TEXT_BYTES)
            fill_s = time.monotonic() - began
            filled_mib = server.status_kib("VmHWM") / 1024
            # The restart empties the cache of the process.
            server.stop()
            server.start()
            rows.append([f"{count:,}", *page_figures(options, server, ids), f"{count / fill_s:,.0f}",
                         f"{disk_bytes(server.store_path) / count:,.0f}", f"{filled_mib:.0f}",
                         f"{server.status_kib('VmRSS') / 1024:.0f}"])  # fmt: skip
            start_rows.append([f"{count:,}", *start_figures(options, server)])
            server.stop()
        finally:
            server.end()
            shutil.rmtree(server.directory, ignore_errors=True)
    table(
        ["emails stored", "page p50 ms", "page p99 ms", "pages/s", "p99 ms at 4 in flight", "filled/s",
         "bytes on disk each", "peak MiB filling", "MiB reading"],
        rows,
    )  # fmt: skip
    print("bound: CPU for cached data, random reads otherwise\n")
    table(
        ["emails stored", "ms to first response, clean stop", "same, GET /emails", "ms after kill -9, idle",
         "same, GET /emails"],
        start_rows,
    )  # fmt: skip
    print("bound: opening the store\n")
    memory(options)


def page_figures(options, server, ids):
    path = options.directory / "ids.txt"
    path.write_text("\n".join(ids) + "\n")
    one = [wrk(server.port, "get.lua", 1, options.seconds, IDS=path) for _ in range(options.runs)]
    four = [wrk(server.port, "get.lua", 4, options.seconds, IDS=path) for _ in range(options.runs)]
    return [
        spread([run["p50_ms"] for run in one], 2), spread([run["p99_ms"] for run in one], 2),
        spread([run["per_s"] for run in one]), spread([run["p99_ms"] for run in four], 2),
    ]  # fmt: skip


def start_figures(options, server):
    """Returns the milliseconds from the start to the first responses, after a clean stop and after a kill."""
    figures = {"clean": [], "killed": []}
    for _ in range(options.runs):
        for kind in figures:
            if kind == "clean":
                server.stop()
            else:
                time.sleep(IDLE_S)
                server.kill()
            figures[kind].append(first_responses(server))
    return [
        spread([times[number] for times in figures[kind]], 1) for kind in ("clean", "killed") for number in (0, 1)
    ]  # fmt: skip


def first_responses(server):
    """Starts the server. Returns the milliseconds until /health and a page of emails return 200."""
    began = time.monotonic()
    server.spawn()
    times_ms = []
    for path in ("/health", "/emails?limit=20"):
        while True:
            api = Api(server.port)
            try:
                if api.call("GET", path)[0] == 200:
                    break
            except (OSError, ValueError):
                pass
            finally:
                api.close()
            assert server.process.poll() is None, server.log_tail()
            assert time.monotonic() - began < FIRST_RESPONSE_SECONDS, "no response"
            time.sleep(0.001)
        times_ms.append((time.monotonic() - began) * 1000)
    return times_ms


def memory(options):
    """Prints the peak memory with a full queue: while accepting, and with a relay that refuses connections."""
    server = Server(options.directory / "memory", Hold(), profile="release")
    try:
        server.start()
        fill(server, QUEUED, TEXT_BYTES)
        accepting = server.status_kib("VmHWM") / 1024
        server.stop()
        server.delivery = Relay(f"smtp://127.0.0.1:{free_port()}")
        server.start()
        time.sleep(options.seconds)
        failing = server.status_kib("VmHWM") / 1024
        server.stop()
        table(
            ["peak memory", "MiB"],
            [[f"{QUEUED:,} emails queued, accepting them", f"{accepting:.0f}"],
             [f"the same, all due and the relay down, {options.seconds} s", f"{failing:.0f}"]],
        )  # fmt: skip
    finally:
        server.end()
        shutil.rmtree(server.directory, ignore_errors=True)
