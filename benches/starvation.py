"""The delay of mail to a good site while the queue is full of other mail, before and after a restart."""

from full_queue import IDLE, KINDS, cases, measure
from machine import table

LATE_MAX_S = 5.0


def run(options):
    rows, idle, late_names = [], None, []
    for case in [IDLE, *cases(options.scale)]:
        size = f"{case.messages:,} to {case.domains:,}"
        try:
            running, restarted = measure(options.directory / case.name, case, "release")
        except AssertionError as error:
            rows.append([case.name, size, f"not delivered: {str(error)[:300]}", *[""] * (2 * len(KINDS) - 1)])
            late_names.append(f"all of {case.name}")
            continue
        rows.append([case.name, size, *(f"{late[kind]:.2f}" for late in (running, restarted) for kind in KINDS)])
        if case is IDLE:
            idle = running, restarted
        late_names += [
            f"{case.name} {kind}{after}"
            for late, alone, after in zip((running, restarted), idle or ({}, {}), ("", " after a restart"), strict=True)
            for kind in KINDS
            if late[kind] > alone.get(kind, 0) + LATE_MAX_S
        ]
    table(["queue", "messages", *(f"{kind} s" for kind in KINDS), *(f"{kind} s after a restart" for kind in KINDS)], rows)
    print("seconds between the earliest time of an email to a good site, or the restart, and its arrival")
    print(f"target: at most {LATE_MAX_S:g} s more than on an idle server; later: {', '.join(late_names) or 'none'}")
