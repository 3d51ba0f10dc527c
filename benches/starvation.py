"""The delay of mail to a good site while the queue is full of other mail, before and after a restart."""

from full_queue import IDLE, KINDS, cases, measure
from machine import table


def run(options):
    rows = []
    for case in [IDLE, *cases(options.scale)]:
        size = f"{case.messages:,} to {case.domains:,}"
        try:
            running, restarted = measure(options.directory / case.name, case, "release")
        except AssertionError as error:
            rows.append([case.name, size, f"not delivered: {str(error)[:300]}", *[""] * (2 * len(KINDS) - 1)])
            continue
        rows.append([case.name, size, *(f"{late[kind]:.2f}" for late in (running, restarted) for kind in KINDS)])
    table(["queue", "messages", *(f"{kind} s" for kind in KINDS), *(f"{kind} s after a restart" for kind in KINDS)], rows)
    print("seconds between the earliest time of an email to a good site, or the restart, and its arrival")
