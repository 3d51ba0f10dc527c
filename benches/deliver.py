"""Delivery of accepted emails into smtp-sink: messages of 10 KiB with two DKIM signatures.

The server accepts the emails with --hold, stops, and starts again in relay mode. The measured time is
from the first to the last message that smtp-sink counts.
"""

import shutil
import subprocess

from deadline import wait_until
from limits import run_program
from load import fill
from machine import BUSY_SHARE, Watch, ratio, spread, table
from recording_sink import RecordingSink
from server import Hold, Relay, Server
from smtp_sink import SmtpSink

MESSAGE_BYTES = 10_240
# The headers and both signatures have about 1,900 bytes.
TEXT_BYTES = MESSAGE_BYTES - 1_900
LIMIT_SESSIONS = 10
DRAIN_SECONDS = 180


def run(options):
    signatures, size = one_message(options)
    ours, theirs = [], []
    key = rsa_key(options) if options.limits else None
    for number in range(options.runs):
        if key:
            theirs.append(limit_run(options, key))
        ours.append(one_run(options, f"deliver-{number}"))
    rates = [one["per_s"] for one in ours]
    busy = max(one["busy_share"] for one in ours)
    table(
        ["deliver into smtp-sink", "messages/s", "CPU us/message", "bound", "busy", "peak memory MiB",
         "limit program/s", "ratio"],
        [[
            f"{options.messages:,} of {size / 1024:.1f} KiB, {signatures} DKIM signatures", spread(rates),
            spread([one["cpu_us"] for one in ours]), "CPU" if busy >= BUSY_SHARE else "socket", f"{busy:.0%}",
            spread([one["peak_mib"] for one in ours]), spread(theirs), ratio(rates, theirs),
        ]],
    )  # fmt: skip


def one_message(options):
    """Delivers one message. Returns its number of signatures and its size in bytes."""
    sizes = []

    class Measuring(RecordingSink):
        def record(self, epoch, content):
            sizes.append((content.count(b"DKIM-Signature:"), len(content)))

    sink = Measuring(0)
    server = Server(options.directory / "one", Relay(f"smtp://127.0.0.1:{sink.port}?final=true"), profile="release")
    try:
        server.start()
        fill(server, 1, TEXT_BYTES)
        wait_until(lambda: sizes, 30, "one message")
        server.stop()
        return sizes[0]
    finally:
        server.end()
        shutil.rmtree(server.directory, ignore_errors=True)


def one_run(options, name):
    """Returns the figures of one delivery of all messages."""
    server = Server(options.directory / name, Hold(), profile="release")
    sink = SmtpSink().start()
    try:
        server.start()
        fill(server, options.messages, TEXT_BYTES)
        server.stop()
        server.delivery = Relay(f"smtp://127.0.0.1:{sink.port}?final=true")
        server.spawn()
        watch = Watch(server.process.pid)
        wait_until(
            lambda: sink.count >= options.messages, DRAIN_SECONDS,
            lambda: f"{options.messages} messages; smtp-sink counted {sink.count}\n{server.log_tail()}",
        )  # fmt: skip
        watch.end()
        result = {
            "per_s": (sink.count - 1) / (sink.last_at - sink.first_at),
            "cpu_us": watch.cpu_s * 1e6 / sink.count,
            "busy_share": watch.busy_share,
            "peak_mib": server.status_kib("VmHWM") / 1024,
        }
        server.stop()
        assert sink.count == options.messages, f"{sink.count} of {options.messages} messages arrived"
        return result
    finally:
        server.end()
        sink.stop()
        shutil.rmtree(server.directory, ignore_errors=True)


def rsa_key(options):
    path = options.directory / "dkim.pem"
    subprocess.run(["openssl", "genrsa", "-out", path, "2048"], check=True, capture_output=True)
    return path


def limit_run(options, key):
    """Returns the messages per second of the limit program."""
    sink = SmtpSink().start()
    try:
        result = run_program(
            options.limits, "smtp", "mode=send", f"port={sink.port}", f"secs={options.seconds}",
            f"conc={LIMIT_SESSIONS}", "reuse=1", "pipe=1", "dkim=rsa", f"size={MESSAGE_BYTES}",
            seconds=options.seconds, DKIM_RSA=str(key),
        )  # fmt: skip
        return result["msgs_s"]
    finally:
        sink.stop()
