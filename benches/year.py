"""The store file over many days with a retention period, and its compaction afterwards.

The counters and the emails of the days that are kept must be complete, also beside erasures.
"""

import json
import subprocess
import time

from machine import table
from mail_days import METRICS, Days
from server import binary

RETENTION_DAYS = 30
FLAT_FROM_DAY = 40
SHOWN_EVERY = 20
GROWTH_MAX = 1.02


def run(options):
    days = Days(options.directory / "year", options.emails, RETENTION_DAYS, profile="release")
    began = time.monotonic()
    try:
        for _ in range(options.days):
            days.run_day()
        kept = days.kept()
    finally:
        days.end()
    shown = [day for day in range(1, options.days + 1) if day % SHOWN_EVERY == 0 or day in (1, FLAT_FROM_DAY, options.days)]
    table(["day", "file MiB"], [[f"{day}", f"{days.sizes[day - 1] / (1 << 20):.1f}"] for day in shown])
    if options.days > FLAT_FROM_DAY:
        grown = max(days.sizes[FLAT_FROM_DAY:]) / days.sizes[FLAT_FROM_DAY - 1]
        print(f"largest file after day {FLAT_FROM_DAY}: {grown:.3f} of that day; target: at most {GROWTH_MAX}")
    assert_complete(kept, days)
    *counts, stored = (sum(column) for column in zip(*kept.values(), strict=True))
    by_counters = ", ".join(f"{count:,} {metric}" for metric, count in zip(METRICS, counts, strict=True))
    print(f"kept: {by_counters} by the counters; {stored:,} emails; emails a day: {options.emails:,}")
    line = [binary("release"), "compact", "--json", "--data-dir", days.server.data_dir]
    done = subprocess.run(line, env=days.server.environment(), capture_output=True, text=True, check=True)
    compacted = json.loads(done.stdout)
    before, after = compacted["before_bytes"], compacted["after_bytes"]
    print(f"compaction: {before / (1 << 20):.1f} MiB before, {after / (1 << 20):.1f} after")
    print(f"{options.days} days took {time.monotonic() - began:,.0f} s")


def assert_complete(kept, days):
    """Asserts that each day within the retention has all of its events and emails, and that the days before it have none.

    A part of the day before the retention is younger than it.
    """
    whole, expected = min(len(days.sizes), RETENTION_DAYS), (*days.expected(), days.emails)
    counts = list(kept.values())
    assert counts[-whole:] == [expected] * whole, f"days with other counts than {expected}: {kept}"
    boundary = counts[:-whole]
    is_part = lambda day: all(count <= limit for count, limit in zip(day, expected, strict=True))  # noqa: E731
    assert len(boundary) <= 1 and all(map(is_part, boundary)), f"days before: {kept}"
