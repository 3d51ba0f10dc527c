"""The contacts of a team: an import through POST /contacts/batch, then reads of pages, contacts, batches and counts.

Every contact has 5 properties and belongs to one of 20 segments. Every fifth contact has a choice for one of 5
topics. The load generator and the server share the machine.
"""

import json
import math
import random
import shutil
import statistics
import threading
import time

from limits import contact_rate
from load import wrk
from machine import BUSY_SHARE, Watch, disk_bytes, ratio, spread, table
from server import Api, Hold, Server

BATCH = 1000
CONNECTIONS = 4
PROPERTIES = [("plan", "string"), ("company", "string"), ("city", "string"), ("age", "number"), ("score", "number")]
SEGMENTS = 20
TOPICS = 5
TOPIC_EVERY = 5
SMALL = 10_000
SAMPLE = 50_000  # Contacts that are read. More than one run reads, so that few contacts are read twice.
REPEATS = 20

IMPORT_PER_S = 30_000
IMPORT_RATIO = 0.5
PAGE_MS = 5
BY_EMAIL_MS = 1
BATCH_GET_MS = 20
COUNT_COLD_MS = 400
COUNT_REPEATED_MS = 20


def run(options):
    small = Audience(options, "audience-small", min(SMALL, options.contacts))
    try:
        small.fill()
        small.restart()
        small_page = small.page()
    finally:
        small.end()

    ours, theirs, large = [], [], None
    try:
        for number in range(options.runs):
            if large:
                large.end()
            if options.limits:
                theirs.append(contact_rate(options.limits, options.directory / "limit-flows", options.contacts))
            large = Audience(options, f"audience-{number}", options.contacts)
            ours.append(large.fill())
        print_import(options, ours, theirs)
        large.restart()
        print_reads(options, large, small_page)
        print_counts(options, large)
    finally:
        if large:
            large.end()


def print_import(options, ours, theirs):
    rates = [one["per_s"] for one in ours]
    busy = max(one["busy_share"] for one in ours)
    table(
        [f"import, {BATCH:,} per request, {CONNECTIONS} in flight", "contacts/s", "target", "last tenth/s",
         "CPU us/contact", "bound", "busy", "limit program/s", "ratio", "target"],
        [[
            f"{options.contacts:,} contacts", spread(rates), f">= {IMPORT_PER_S:,}",
            spread([one["last_tenth_per_s"] for one in ours]), spread([one["cpu_us"] for one in ours]),
            "CPU" if busy >= BUSY_SHARE else "fsync", f"{busy:.0%}", spread(theirs), ratio(rates, theirs),
            f">= {IMPORT_RATIO}",
        ]],
    )  # fmt: skip
    print()
    table(
        ["per contact", "bytes in the file", "bytes written", "peak memory MiB, importing"],
        [["", spread([one["file_bytes"] for one in ours]), spread([one["written_bytes"] for one in ours]),
          spread([one["peak_mib"] for one in ours])]],
    )  # fmt: skip
    print()


def print_reads(options, large, small_page):
    page = large.page()
    few = min(SMALL, options.contacts)
    rows = [
        ["page of 100 newest", *figures(page), f"p99 <= {PAGE_MS} ms"],
        [f"the same, {few:,} contacts", *figures(small_page), f"p99 <= {PAGE_MS} ms"],
        ["contact by email", *figures(large.by_email()), f"p99 <= {BY_EMAIL_MS} ms"],
        [f"batch/get of {min(BATCH, large.count):,}", *figures(large.batch_get()), f"p99 <= {BATCH_GET_MS} ms"],
    ]
    table([f"reads among {options.contacts:,} contacts, one in flight", "p50 ms", "p99 ms", "per s", "target"], rows)
    for quantile in ("p50_ms", "p99_ms"):
        grown = ratio([run[quantile] for run in page], [run[quantile] for run in small_page])
        print(f"page of 100, {options.contacts:,} to {few:,} contacts, {quantile[:3]}: {grown}")
    print("bound: CPU for cached data, random reads otherwise\n")


def figures(runs):
    return [
        spread([run["p50_ms"] for run in runs], 2), spread([run["p99_ms"] for run in runs], 2),
        spread([run["per_s"] for run in runs]),
    ]  # fmt: skip


def print_counts(options, large):
    cold, repeated, changed, scan = large.counts()
    table(
        [f"count of a segment of two conditions, {options.contacts:,} contacts", "ms", "target"],
        [
            ["first after a start", spread(cold, 1), f"<= {COUNT_COLD_MS} ms"],
            ["again, p50", spread([statistics.median(times) for times in repeated], 2), f"<= {COUNT_REPEATED_MS} ms"],
            [f"again, the slowest of {REPEATS}", spread([max(times) for times in repeated], 2), ""],
            ["after a contact changed", spread(changed, 1), ""],
        ],
    )
    print(f"bound: CPU, one pass over every contact ({scan:,.0f} contacts/s cold)")
    print(f"peak memory reading and counting: {large.peak_mib:.0f} MiB")


class Audience:
    """One server with `count` contacts."""

    def __init__(self, options, name, count):
        self.options = options
        self.count = count
        self.peak_mib = 0.0
        self.emails = []
        self.server = Server(options.directory / name, Hold(), profile="release")

    def end(self):
        self.server.end()
        shutil.rmtree(self.server.directory, ignore_errors=True)

    def restart(self):
        """Restarts the server, so that no read is served from the cache of the import."""
        self.server.stop()
        self.server.start()

    def fill(self):
        """Imports all contacts and stops the server. Returns the figures of the import."""
        self.server.start()
        api = self.server.api
        for key, kind in PROPERTIES:
            api.ok("POST", "/contact-properties", {"key": key, "type": kind})
        segments = [api.ok("POST", "/segments", {"name": f"Segment {n}"})["id"] for n in range(SEGMENTS)]
        topics = [
            api.ok("POST", "/topics", {"name": f"Topic {n}", "default_subscription": "opt_in"})["id"]
            for n in range(TOPICS)
        ]
        self.emails, bodies = batches(self.count, segments, topics)
        empty = disk_bytes(self.server.store_path)
        watch = Watch(self.server.process.pid)
        took, last_tenth = post(self.server.port, bodies)
        watch.end()
        result = {
            "per_s": self.count / took,
            "last_tenth_per_s": last_tenth,
            "cpu_us": watch.cpu_s * 1e6 / self.count,
            "written_bytes": watch.written_bytes / self.count,
            "busy_share": watch.busy_share,
            "peak_mib": self.server.status_kib("VmHWM") / 1024,
        }
        self.server.stop()
        result["file_bytes"] = (disk_bytes(self.server.store_path) - empty) / self.count
        return result

    def page(self):
        return self.drive("page", ["GET\t/contacts?limit=100"])

    def by_email(self):
        return self.drive("by-email", [f"GET\t/contacts/{email}" for email in self.emails])

    def batch_get(self):
        chance = random.Random(3)
        size = min(BATCH, len(self.emails))
        bodies = [{"contacts": [{"email": email} for email in chance.sample(self.emails, size)]} for _ in range(20)]
        return self.drive("batch-get", [f"POST\t/contacts/batch/get\t{json.dumps(body)}" for body in bodies])

    def drive(self, name, requests):
        """Returns the figures of wrk runs that send the requests in random order, one in flight."""
        path = self.options.directory / f"{name}.txt"
        path.write_text("\n".join(requests) + "\n")
        runs = [
            wrk(self.server.port, "requests.lua", 1, self.options.seconds, REQUESTS=path)
            for _ in range(self.options.runs)
        ]
        path.unlink()
        return runs

    def counts(self):
        """Returns the milliseconds of first counts, repeated counts and counts after a write, and the scan rate."""
        cold, repeated, changed = [], [], []
        for number in range(self.options.runs):
            self.peak_mib = max(self.peak_mib, self.server.status_kib("VmHWM") / 1024)
            self.restart()
            conditions = [
                {"field": "property:plan", "op": "equals", "value": PLANS[number % len(PLANS)]},
                {"field": "property:age", "op": "greater_than", "value": str(30 + number)},
            ]
            segment = self.server.api.ok(
                "POST", "/segments", {"name": f"Count {number}", "filter": {"match": "all", "conditions": conditions}}
            )["id"]
            cold.append(self.count_ms(segment))
            repeated.append([self.count_ms(segment) for _ in range(REPEATS)])
            self.server.api.ok("PATCH", f"/contacts/{self.emails[number]}", {"first_name": f"Changed {number}"})
            changed.append(self.count_ms(segment))
        self.peak_mib = max(self.peak_mib, self.server.status_kib("VmHWM") / 1024)
        return cold, repeated, changed, self.count / (statistics.median(cold) / 1000)

    def count_ms(self, segment):
        """Reads a segment with its count. Returns the milliseconds."""
        began = time.monotonic()
        response = self.server.api.ok("GET", f"/segments/{segment}")
        took_ms = (time.monotonic() - began) * 1000
        assert response["contact_count"] > 0, f"the count is {response['contact_count']}"
        return took_ms


PLANS = ["free", "pro", "team", "scale"]
CITIES = ["Lisbon", "Lagos", "Lima", "Oslo", "Osaka", "Quito", "Turin", "Tunis"]


def batches(count, segments, topics):
    """Returns a sample of the email addresses and the bodies of all requests. Runs before the measurement."""
    chance = random.Random(11)
    step = max(1, count // SAMPLE)
    emails, bodies, items = [], [], []
    for number in range(count):
        email = f"user{chance.getrandbits(40):010x}{number:x}@customer{chance.randrange(5_000)}.example.net"
        if number % step == 0:
            emails.append(email)
        topic = ""
        if number % TOPIC_EVERY == 0:
            choice = "opt_out" if number % (2 * TOPIC_EVERY) else "opt_in"
            topic = f',"topics":[{{"id":"{topics[number // TOPIC_EVERY % TOPICS]}","subscription":"{choice}"}}]'
        items.append(
            f'{{"email":"{email}","first_name":"First{number % 997}","last_name":"Last{number % 4999}",'
            f'"properties":{{"plan":"{PLANS[number % len(PLANS)]}","company":"Company {number % 5000}",'
            f'"city":"{CITIES[number % len(CITIES)]}","age":{18 + number % 63},"score":{number % 10007 / 8}}},'
            f'"segments":[{{"id":"{segments[number % SEGMENTS]}"}}]{topic}}}'
        )
        if len(items) == BATCH or number == count - 1:
            bodies.append(("[" + ",".join(items) + "]").encode())
            items = []
    return emails, bodies


def post(port, bodies):
    """Posts every body once over several connections. Returns the seconds, and the rate of the last tenth."""
    lock, left, errors = threading.Lock(), list(reversed(bodies)), []
    finished = []

    def connection():
        api = Api(port, timeout_s=120)
        while not errors:
            with lock:
                if not left:
                    return
                body = left.pop()
            try:
                response = api.ok("POST", "/contacts/batch", body)
                assert response["counts"]["created"] == len(response["data"]), f"not all created: {response['counts']}"
            except (OSError, AssertionError) as error:
                errors.append(error)
                return
            finished.append((time.monotonic(), len(response["data"])))

    threads = [threading.Thread(target=connection) for _ in range(CONNECTIONS)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    finished.sort()
    tail = finished[-math.ceil(len(finished) / 10) :]
    since = finished[-len(tail) - 1][0] if len(finished) > len(tail) else began
    return finished[-1][0] - began, sum(size for _, size in tail) / (tail[-1][0] - since)
