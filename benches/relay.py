"""Postfix as a relay of the same messages, without signatures, for comparison.

All settings that affect the speed are the defaults.
"""

import contextlib
import shutil
import subprocess
import time

from deadline import wait_until
from postfix_instance import SERVICES, PostfixInstance, search_path
from ports import free_port
from smtp_sink import SmtpSink

SESSIONS = 20
FILL_SECONDS, DRAIN_SECONDS = 600, 600
QMGR = next(service for service in SERVICES if service.startswith("qmgr "))


def missing():
    """Returns the reason why the comparison cannot run, `None` if it can."""
    return PostfixInstance.missing()


def relay_rate(messages, message_bytes):
    """Returns the messages per second that Postfix relays from its queue into smtp-sink, from the first to the last."""
    with postfix() as (sink, instance, port, settings, services):
        # Without the queue manager, the messages stay in the queue. Each would wait for a token of it.
        instance.configure({**settings, "in_flow_delay": "0"}, [service for service in services if service != QMGR])
        instance.start()
        submit(port, messages, message_bytes)
        assert sink.count == 0, "Postfix relayed messages before the measurement"
        instance.configure(settings, services)
        instance.command("reload")
        await_all(sink, instance, messages)
        return (sink.count - 1) / (sink.last_at - sink.first_at)


def end_to_end_rate(messages, message_bytes):
    """Returns the messages per second that Postfix accepts and relays, from the first connection to the last message."""
    with postfix() as (sink, instance, port, settings, services):
        instance.configure(settings, services)
        instance.start()
        began = time.monotonic()
        submit(port, messages, message_bytes)
        await_all(sink, instance, messages)
        return messages / (sink.last_at - began)


@contextlib.contextmanager
def postfix():
    """A sink, and an instance that is neither configured nor started, with its port, settings and services."""
    sink, instance, port = SmtpSink().start(), PostfixInstance(), free_port()
    try:
        instance.make_directories()
        settings = {
            "relayhost": f"[127.0.0.1]:{sink.port}",
            "relay_domains": "regexp:{{/./ ok}}",
            "relay_transport": "smtp",
            "smtpd_recipient_restrictions": "permit_mynetworks, reject",
        }
        services = [
            f"127.0.0.1:{port} inet n - n - - smtpd",
            "smtp unix - - n - - smtp",
            "scache unix - - n - 1 scache",  # Keeps sessions open for further messages.
            *SERVICES,
        ]
        yield sink, instance, port, settings, services
    finally:
        instance.stop()
        sink.stop()


def submit(port, messages, message_bytes):
    """Sends the messages to Postfix with smtp-source, over SESSIONS connections at a time."""
    source = shutil.which("smtp-source", path=search_path())
    subprocess.run(
        [source, "-s", str(SESSIONS), "-m", str(messages), "-l", str(message_bytes), "-f", "sender@bench.test",
         "-t", "recipient@bench.test", f"127.0.0.1:{port}"],
        check=True, timeout=FILL_SECONDS, capture_output=True,
    )  # fmt: skip


def await_all(sink, instance, messages):
    wait_until(
        lambda: sink.count >= messages, DRAIN_SECONDS,
        lambda: f"{messages} messages; smtp-sink counted {sink.count}\n{instance.log_tail()}",
    )  # fmt: skip
