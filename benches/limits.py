"""The limit programs, in the directory that LIMIT_PROGRAMS names.

Each implements one operation without the rest of the server. `http server=salvo store=1` parses and
stores one email per request in group commits. `smtp mode=send` signs and sends. `store mode=accept
path=each` commits one email at a time. `flows` commits a thousand rows at a time: `mode=contacts` contacts, and
`mode=fanout` the rows of recipients.
"""

import json
import os
import socket
import subprocess

from deadline import wait_until
from ports import free_port

CONTACTS_SECONDS_MAX = 600


class HttpProgram:
    """The program `http` with a new store, until it is stopped."""

    def __init__(self, folder, directory):
        self.port = free_port()
        directory.mkdir(parents=True, exist_ok=True)
        self.process = subprocess.Popen(
            [folder / "http", "server=salvo", f"port={self.port}", "store=1", f"dir={directory}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        wait_until(self._listens, 10, "the limit program to listen")

    def _listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        self.process.kill()
        self.process.wait()


def run_program(folder, name, *arguments, seconds, **variables):
    """Runs a program that prints JSON lines. Returns the last one."""
    return run_lines(folder, name, *arguments, seconds=seconds, **variables)[-1]


def run_lines(folder, name, *arguments, seconds, **variables):
    """Runs a program for `seconds`, at most 60 seconds longer. Returns the JSON lines that it prints."""
    done = subprocess.run(
        [folder / name, *arguments], capture_output=True, text=True, timeout=seconds + 60, check=True,
        env={**os.environ, **variables},
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines() if line.strip()]


def one_commit_rate(folder, directory, seconds):
    """Returns emails per second with one durable commit for each, one in flight, with ordered keys."""
    directory.mkdir(parents=True, exist_ok=True)
    result = run_program(
        folder, "store", "mode=accept", f"dir={directory}", f"secs={seconds}", "store=redb", "path=each",
        "conc=1", "idx=1", seconds=seconds,
    )  # fmt: skip
    return result["emails_s"]


def contact_rate(folder, directory, rows):
    """Returns contacts per second of an import without HTTP: a row, a unique email and a segment each."""
    return flow_rate(folder, directory, "contacts", rows)


def fanout_rate(folder, directory, rows):
    """Returns rows per second of a fan-out without a queue, an engine or contacts."""
    return flow_rate(folder, directory, "fanout", rows)


def flow_rate(folder, directory, flow, rows):
    directory.mkdir(parents=True, exist_ok=True)
    lines = run_lines(
        folder, "flows", f"mode={flow}", f"dir={directory}", "batch=1000", f"rows={rows}",
        seconds=CONTACTS_SECONDS_MAX,
    )  # fmt: skip
    return next(line["rows_s"] for line in lines if line["flow"] == flow)
