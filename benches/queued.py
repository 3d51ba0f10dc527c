"""Memory with a full queue, with the smallest and the default page cache, and the start after a kill with a full queue.

The page cache grows with the file up to its limit. With the smallest limit, the rest of the memory shows. With the default,
the memory grows until the page cache is full, by about as much as the limits differ, and not with the further queue.
"""

import shutil
import socket
import time

from deadline import wait_until
from load import fill
from machine import disk_bytes, table
from server import Api, Hold, Relay, Server
from smtp_sink import SmtpSink

TEXT_BYTES = 1_000
# Messages that are delivered before the memory is read.
DELIVERED = 3_000
START_SECONDS = 120
# Limits of the page cache in MiB: the smallest one, and the default of --cache-mb.
SMALLEST_MIB, DEFAULT_MIB = 8, 64
CACHES = {SMALLEST_MIB: ("--cache-mb", str(SMALLEST_MIB)), DEFAULT_MIB: ()}
# From this number of messages on, the file is larger than each limit, and the page cache becomes full.
CACHE_FULL = 100_000
MEMORY_MAX, LISTEN_MAX_S, OPEN_MAX_S_PER_GB = 1.2, 1.0, 1.6


def run(options):
    sizes = {int(size) for size in options.rows.split(",")}
    if max(sizes) > CACHE_FULL:
        sizes.add(CACHE_FULL)
    sizes, peaks, lines = sorted(sizes), {}, []
    for cache_mib in CACHES:
        for queued in sizes:
            peak_mib, start = one(options, queued, cache_mib)
            peaks[cache_mib, queued] = peak_mib
            full_mib = peaks.get((cache_mib, CACHE_FULL))
            lines.append([
                f"{cache_mib} MiB", f"{queued:,}", f"{peak_mib:.0f}", f"{peak_mib / peaks[cache_mib, sizes[0]]:.2f}",
                f"{peak_mib / full_mib:.2f}" if full_mib else "-", f"{peak_mib - peaks[SMALLEST_MIB, queued]:+.0f}",
                f"{start['file_gb']:.2f}", f"{start['listening_s']:.3f}", f"{start['refused']} of {start['requests']}",
                f"{start['ready_s']:.2f}", f"{start['ready_s'] / start['file_gb']:.2f}",
            ])  # fmt: skip
    table(
        ["limit of the page cache", "queued", "peak memory MiB", "to the first", f"to {CACHE_FULL:,}",
         f"more than with {SMALLEST_MIB} MiB", "file GB", "listens after a kill s", "requests with 503", "ready s",
         "ready s/GB"],
        lines,
    )  # fmt: skip
    print(
        f"targets: memory at most {MEMORY_MAX} of the first with {SMALLEST_MIB} MiB of page cache, and of that of "
        f"{CACHE_FULL:,} with {DEFAULT_MIB} MiB, the default; listens within {LISTEN_MAX_S:g} s, "
        f"ready within {OPEN_MAX_S_PER_GB} s/GB"
    )
    differ_mib = DEFAULT_MIB - SMALLEST_MIB
    print(f"from {CACHE_FULL:,} messages on, the file is larger than both limits, which differ by {differ_mib} MiB")


def one(options, queued, cache_mib):
    """Returns the peak memory while messages of a full queue are delivered, and the figures of a start after a kill."""
    directory = options.directory / f"queued-{queued}-{cache_mib}"
    server = Server(directory, Hold(), profile="release", extra=CACHES[cache_mib])
    sink = SmtpSink().start()
    try:
        server.start()
        fill(server, queued, TEXT_BYTES)
        server.stop()
        server.delivery = Relay(f"smtp://127.0.0.1:{sink.port}?final=true")
        server.start(seconds=START_SECONDS)
        wanted = min(DELIVERED, queued // 2)
        wait_until(lambda: sink.count >= wanted, 120, lambda: f"{wanted} messages\n{server.log_tail()}")
        peak_mib = server.status_kib("VmHWM") / 1024
        server.kill()
        return peak_mib, start_after_kill(server)
    finally:
        server.end()
        sink.stop()
        shutil.rmtree(server.directory, ignore_errors=True)


def start_after_kill(server):
    """Starts the server and requests an email until it responds with another status than 503."""
    file_gb = disk_bytes(server.store_path) / 1e9
    began = time.monotonic()
    server.spawn()
    wait_until(lambda: is_listening(server.port), START_SECONDS, "the server to listen", pause_s=0.002)
    listening_s, requests, refused = time.monotonic() - began, 0, 0
    api = Api(server.port, timeout_s=START_SECONDS)
    while True:
        status, _ = api.call("GET", "/emails?limit=1")
        api.close()
        requests += 1
        if status != 503:
            break
        refused += 1
        time.sleep(0.02)  # A client would wait for the seconds of `retry-after`.
    assert status == 200, f"the first response after the start has status {status}"
    ready_s = time.monotonic() - began
    return {"file_gb": file_gb, "listening_s": listening_s, "ready_s": ready_s, "requests": requests, "refused": refused}


def is_listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
