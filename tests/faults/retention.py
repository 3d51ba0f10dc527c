#!/usr/bin/env python3
"""Retention of everything under a turned clock: the file does not grow after the first expired day.

    tests/faults/retention.py [WORD...]
"""

from lib import main
from mail_days import Days

DAYS, RETENTION_DAYS, EMAILS = 12, 3, 300
# The engine doubles a small file when it is full. Without retention, the days of this case need four times the file.
GROWTH_MAX = 2.1


def the_file_is_flat_after_the_first_expired_days(directory):
    days = Days(directory, EMAILS, RETENTION_DAYS)
    try:
        for _ in range(DAYS):
            days.run_day()
        settled = days.sizes[RETENTION_DAYS + 3]
        grown = max(days.sizes[RETENTION_DAYS + 4 :])
        print(f"{settled / 1e6:.1f} MB after day {RETENTION_DAYS + 4}, at most {grown / 1e6:.1f} MB later")
        assert grown <= settled * GROWTH_MAX, days.sizes
    finally:
        days.end()


CASES = [the_file_is_flat_after_the_first_expired_days]

if __name__ == "__main__":
    main(CASES)
