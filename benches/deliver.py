"""Delivery of accepted emails into smtp-sink: messages of 10 KiB with two DKIM signatures.

The server accepts the emails with --hold, stops, and starts again in relay mode. The measured time is
from the first to the last message that smtp-sink counts. Postfix delivers the same number of messages without signatures, from
its queue and as a relay that accepts them too.
In a second measurement, both accept and deliver at the same time: from the first request to the last message.
In a third one, Ringmail delivers the messages to the MX hosts of 1,000 domains, which are 100 sites, all in the same smtp-sink.
The limits of sites and sessions are the defaults. 100 sites may get 10,000 messages a second, so that these limits do not
bound the rate. A name server in this process responds to the lookups, which are part of the time.
Then `queued.py` measures the memory and the start with a full queue.
"""

import re
import shutil
import subprocess
import time

import queued
import relay
from deadline import wait_until
from limits import run_program
from load import fill, wrk
from machine import BUSY_SHARE, Watch, ratio, spread, table, thread_cpu_s
from recording_sink import RecordingSink
from server import Direct, Hold, Relay, Server
from smtp_sink import SmtpSink

MESSAGE_BYTES = 10_240
# The headers and both signatures have about 1,900 bytes.
TEXT_BYTES = MESSAGE_BYTES - 1_900
# An email of post.lua has two parts, whose headers have about 300 bytes.
BODY_BYTES = TEXT_BYTES - 300
LIMIT_SESSIONS = 10
DRAIN_SECONDS = 180
# Direct delivery. Each site has the mail of ten domains.
DOMAINS, SITES = 1_000, 100
SITE_MESSAGES_PER_S = 100  # Default of --site-messages-per-second.

RATIO_MIN, POSTFIX_RATIO_MIN = 0.7, 4.0
# Module that logs the CPU time of composing and signing at the end of a run.
CPU_LOG = ("--log", "info,ringmail::delivery::cpu=debug")
PARTS = ("signing", "composing", "store", "socket")


def run(options):
    signatures, size = one_message(options)
    ours, direct, theirs, postfix = [], [], [], []
    ours_whole, postfix_whole = [], []
    key = rsa_key(options) if options.limits else None
    postfix_missing = relay.missing()
    for number in range(options.runs):
        if key:
            theirs.append(limit_run(options, key))
        if not postfix_missing:
            postfix.append(relay.relay_rate(options.messages, MESSAGE_BYTES))
            postfix_whole.append(relay.end_to_end_rate(options.messages, MESSAGE_BYTES))
        ours.append(one_run(options, f"deliver-{number}", smarthost))
        direct.append(direct_run(options, f"direct-{number}"))
        ours_whole.append(end_to_end_run(options, f"whole-{number}"))
    rates, direct_rates = ([one["per_s"] for one in some] for some in (ours, direct))
    messages = f"{options.messages:,} of {size / 1024:.1f} KiB, {signatures} DKIM signatures"
    table(
        ["deliver into smtp-sink", "messages/s", "bound", "busy", "peak memory MiB", "limit program/s", "ratio",
         "Postfix from its queue/s", "ratio", "Postfix as a relay/s", "ratio"],
        [[
            messages, spread(rates), *load_of(ours), spread(theirs), ratio(rates, theirs), spread(postfix),
            ratio(rates, postfix), spread(postfix_whole), ratio(rates, postfix_whole),
        ]],
    )  # fmt: skip
    table(
        [f"deliver to the MX hosts of {DOMAINS:,} domains at {SITES} sites", "messages/s", "bound", "busy",
         "peak memory MiB", "as a smarthost/s", "ratio", "limit of the sites/s"],
        [[
            messages, spread(direct_rates), *load_of(direct), spread(rates), ratio(direct_rates, rates),
            f"{SITES * SITE_MESSAGES_PER_S:,}",
        ]],
    )  # fmt: skip
    table(
        ["accept and deliver, requests of one email, 20 in flight", "messages/s", "Postfix/s, 20 sessions", "ratio"],
        [["from the first request to the last message", spread(ours_whole), spread(postfix_whole),
          ratio(ours_whole, postfix_whole)]],
    )  # fmt: skip
    print(f"targets: at least {RATIO_MIN} of the limit program, at least {POSTFIX_RATIO_MIN:g} times Postfix as a relay, which accepts and delivers")
    if postfix_missing:
        print(f"without Postfix: {postfix_missing}")
    table(
        ["CPU us of a message", "all", *PARTS],
        [[name, spread([one["cpu_us"] for one in some]),
          *(spread([one["parts_us"][part] for one in some]) for part in PARTS)]
         for name, some in (("smarthost", ours), ("MX hosts", direct))],
    )  # fmt: skip
    print("store: the writer thread. socket: the rest, which is the sessions, the schedule, the lookups and the runtime.")
    queued.run(options)


def load_of(results):
    """Returns the cells of the limiting factor, the busy share and the peak memory of deliveries."""
    busy = max(one["busy_share"] for one in results)
    return ["CPU" if busy >= BUSY_SHARE else "socket", f"{busy:.0%}", spread([one["peak_mib"] for one in results])]


def smarthost(port):
    return Relay(f"smtp://127.0.0.1:{port}?final=true")


def domain(number):
    return f"customer{number % DOMAINS}.example.net"


def one_message(options):
    """Delivers one message. Returns its number of signatures and its size in bytes."""
    sizes = []

    class Measuring(RecordingSink):
        def record(self, epoch, content):
            sizes.append((content.count(b"DKIM-Signature:"), len(content)))

    sink = Measuring(0)
    server = Server(options.directory / "one", smarthost(sink.port), profile="release")
    try:
        server.start()
        fill(server, 1, TEXT_BYTES)
        wait_until(lambda: sizes, 30, "one message")
        server.stop()
        return sizes[0]
    finally:
        server.end()
        shutil.rmtree(server.directory, ignore_errors=True)


def direct_run(options, name):
    """Returns the figures of one delivery to MX hosts."""
    # The name server needs a package that the benches which import this file do without.
    from names import Names

    names = Names()
    try:
        for number in range(DOMAINS):
            names.mail_host(domain(number), "127.0.0.1", host=f"mx.site{number % SITES}.test")
            names.prepare(domain(number))
        return one_run(options, name, lambda port: Direct(names.address, port))
    finally:
        names.stop()


def one_run(options, name, delivery):
    """Returns the figures of one delivery of all messages. `delivery` returns the way to the port of smtp-sink."""
    server = Server(options.directory / name, Hold(), profile="release")
    sink = SmtpSink().start()
    try:
        server.start()
        fill(server, options.messages, TEXT_BYTES, to=lambda number: f"user{number}@{domain(number)}")
        server.stop()
        server.delivery, server.extra = delivery(sink.port), list(CPU_LOG)
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
        store_us = thread_cpu_s(server.process.pid, "store-writer") * 1e6 / sink.count
        server.stop()
        result["parts_us"] = parts_us(server, result["cpu_us"], store_us)
        assert sink.count == options.messages, f"{sink.count} of {options.messages} messages arrived"
        return result
    finally:
        server.end()
        sink.stop()
        shutil.rmtree(server.directory, ignore_errors=True)


def end_to_end_run(options, name):
    """Returns the messages per second that are accepted and delivered at the same time."""
    sink = SmtpSink().start()
    server = Server(options.directory / name, smarthost(sink.port), profile="release")
    try:
        server.start()
        began = time.monotonic()
        accepted = wrk(
            server.port, "post.lua", relay.SESSIONS, options.seconds, KIND="email", BODY_BYTES=BODY_BYTES
        )["requests"]  # fmt: skip
        wait_until(
            lambda: sink.count >= accepted, DRAIN_SECONDS,
            lambda: f"{accepted} messages; smtp-sink counted {sink.count}\n{server.log_tail()}",
        )  # fmt: skip
        return sink.count / (sink.last_at - began)
    finally:
        server.end()
        sink.stop()
        shutil.rmtree(server.directory, ignore_errors=True)


def parts_us(server, all_us, store_us):
    """Returns the CPU time of each part of a message. The log has those of composing and signing."""
    lines = re.findall(r"CPU time of a message: composing (\d+) us, signing (\d+) us", server.log_path.read_text())
    assert lines, f"the log has no CPU times\n{server.log_tail()}"
    composing, signing = map(int, lines[-1])
    return {"signing": signing, "composing": composing, "store": store_us,
            "socket": all_us - store_us - composing - signing}  # fmt: skip


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
