"""The dashboard in Chromium beside a large store: its first view, and the interactions of the list of emails.

The server does not deliver, and has indexed the emails for the search. The times are those of the page: from the start of
the navigation, or from the input event, to the frame with the result. Each input follows when the page is complete and the
browser is idle.
"""

import json
import os
import pathlib
import shutil
import subprocess

from load import fill
from machine import ratio, spread, table
from search import wait_for_index
from server import Hold, Server

HERE = pathlib.Path(__file__).resolve().parent
TEXT_BYTES = 200
BROWSER_SECONDS = 600
FIRST_VIEW_MS, INTERACTION_MS = 300, 100
REQUESTS_MAX, COMPRESSED_BYTES_MAX = 12, 150_000


def run(options):
    for count in sorted(int(size) for size in options.rows.split(",")):
        one(options, count)
    print("bound: CPU of the browser")


def one(options, count):
    """Prints the figures of a store with `count` emails."""
    server = Server(options.directory / f"dashboard-{count}", Hold(), profile="release")
    try:
        server.start()
        fill(server, count, TEXT_BYTES)
        newest = server.send("ada@recent.example.net", subject="The newest one", html="<h1>It works.</h1>")
        wait_for_index(server)
        # The restart empties the cache of the process.
        server.stop()
        server.start()
        measured = browse(server, options.runs, newest)
        floor = measured["times_ms"].pop("sign-in page, empty cache")
        rows = [["sign-in page, without script", spread(floor, 0), "", ""]]
        rows += [
            [name, spread(times, 0), ratio(times, floor),
             f"<= {FIRST_VIEW_MS if name.startswith('first view') else INTERACTION_MS} ms"]
            for name, times in measured["times_ms"].items()
        ]  # fmt: skip
        table([f"dashboard beside {count:,} emails", "ms", "ratio to the sign-in page", "target"], rows)
        print(f"requests of the first view: {measured['requests']} (<= {REQUESTS_MAX})")
        print(f"JS and CSS of all pages, compressed: {measured['bytes']:,} bytes (<= {COMPRESSED_BYTES_MAX:,})\n")
        server.stop()
    finally:
        server.end()
        shutil.rmtree(server.directory, ignore_errors=True)


def browse(server, runs, newest):
    """Returns the figures that the browser prints."""
    link = json.loads(server.cli("setup-link", "--json"))["url"]
    done = subprocess.run(
        ["node", str(HERE / "dashboard.mjs"), link, str(runs), newest],
        env=os.environ, capture_output=True, text=True, timeout=BROWSER_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)
