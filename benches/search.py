"""The search of the dashboard: the first page of each filter, a search without a match, and the index by recipient.

The server does not deliver. Some emails are older or newer than all others, so that a filter matches exactly them.
"""

import http.client
import json
import shutil
import statistics
import time
from datetime import UTC, datetime
from urllib.parse import urlencode, urlsplit

from deadline import wait_until
from load import fill
from machine import disk_bytes, table
from server import DOMAIN, Hold, Server

TEXT_BYTES = 200
RECENT = 30
REPEATS = 40
INDEX_SECONDS = 900
FIRST_PAGE_MS = 300
OLD, NEW, ABSENT = "rare@old.example.net", "ada@recent.example.net", "nobody@absent.example.net"


def run(options):
    for count in sorted(int(size) for size in options.rows.split(",")):
        one(options, count)
    print("bound: CPU; a page ends after 200 ms or 50,000 rows")


def one(options, count):
    """Prints the figures of a store with `count` emails."""
    server = Server(options.directory / f"search-{count}", Hold(), profile="release")
    try:
        server.start()
        server.send(OLD)
        first = now()
        began = time.monotonic()
        fill(server, count, TEXT_BYTES)
        fill_s, filled = time.monotonic() - began, now()
        wait_for_index(server)
        behind_s = time.monotonic() - began - fill_s
        server.api.close()  # The server has closed the idle connection.
        newest = [
            server.send(NEW, subject=f"Invoice {number}", tags=[{"name": "kind", "value": "recent"}],
                        attachments=[{"filename": "a.txt", "content": "aGVsbG8="}])
            for number in range(RECENT)
        ]  # fmt: skip
        # The restart empties the cache of the process.
        server.stop()
        server.start()
        dashboard = Dashboard(server)
        key = server.api.ok("GET", "/api-keys")["data"][0]["id"]
        filters = [
            {}, {"q": newest[0]}, {"q": f"<{newest[0]}@{DOMAIN}>"}, {"q": "invoice"}, {"to": NEW}, {"to": OLD},
            {"to": "recent.example"}, {"from": "ringmail tests"}, {"subject": "invoice"}, {"status": "queued"},
            {"domain": DOMAIN}, {"key": key}, {"tag": "kind:recent"}, {"has_attachment": "1"},
            {"to": NEW, "tag": "kind"}, {"since": filled}, {"until": filled}, {"until": first},
        ]  # fmt: skip
        table(
            [f"first page of a search in {count:,} emails", "rows", "p50 ms", "max ms", "target"],
            [figures(dashboard, one_filter) for one_filter in filters],
        )
        pages_ms = all_pages(dashboard, subject="no such subject")
        stored = disk_bytes(server.store_path) / count
        print(f"no match: {len(pages_ms)} pages, {sum(pages_ms):,.0f} ms, the slowest {max(pages_ms):,.0f} ms")
        print(f"index complete {behind_s:.0f} s after the last email; {count / fill_s:,.0f} accepts/s")
        print(f"{stored:,.0f} bytes on disk for each email\n")
        server.stop()
    finally:
        server.end()
        shutil.rmtree(server.directory, ignore_errors=True)


def now():
    """Returns the time as the search takes it."""
    return datetime.now(UTC).isoformat()


def wait_for_index(server):
    """Waits until the index of the search has all complete blocks."""
    dashboard = Dashboard(server)
    # Without the index, this search ends at its bounds.
    indexed = lambda: dashboard.search(to=ABSENT)[1]["complete"]  # noqa: E731
    wait_until(indexed, INDEX_SECONDS, "the index to have all complete blocks", pause_s=0.5)


def figures(dashboard, filters):
    times_ms = []
    for _ in range(REPEATS):
        took_ms, page = dashboard.search(**filters)
        assert page["data"], f"{filters} matches nothing"
        times_ms.append(took_ms)
    name = ", ".join(f"{name}={value}" for name, value in filters.items()) or "no filter"
    p50_ms, max_ms = f"{statistics.median(times_ms):.1f}", f"{max(times_ms):.1f}"
    return [name, len(page["data"]), p50_ms, max_ms, f"<= {FIRST_PAGE_MS} ms"]


def all_pages(dashboard, **filters):
    """Follows the positions of a search to its end. Returns the milliseconds of each page."""
    times_ms, position = [], None
    while True:
        took_ms, page = dashboard.search(**filters, **({"after": position} if position else {}))
        times_ms.append(took_ms)
        position = page["position"]
        if page["complete"]:
            return times_ms


class Dashboard:
    """One connection with a session of the dashboard."""

    def __init__(self, server):
        link = json.loads(server.cli("setup-link", "--json"))["url"]
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.connection.request("GET", urlsplit(link).path)
        response = self.connection.getresponse()
        response.read()
        assert response.status == 303, f"the link of the dashboard returned {response.status}"
        self.cookie = response.headers["set-cookie"].split(";")[0]

    def search(self, **filters):
        """Returns the milliseconds of a search, and its page."""
        path = f"/dashboard/api/search?{urlencode(filters)}"
        began = time.monotonic()
        self.connection.request("GET", path, headers={"Cookie": self.cookie})
        response = self.connection.getresponse()
        text = response.read()
        took_ms = (time.monotonic() - began) * 1000
        page = json.loads(text)
        assert response.status == 200, f"{path} returned {response.status}: {page}"
        return took_ms, page
