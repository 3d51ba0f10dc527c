"""The delay of mail to a good site while the queue is full of other mail, before and after a restart."""

from full_queue import IDLE, KINDS, LATE_MAX_S, cases, measure, too_late
from machine import table


def run(options):
    rows, idle, problems = [], None, []
    for case in [IDLE, *cases(options.scale)]:
        size = f"{case.messages:,} to {case.domains:,}"
        try:
            running, restarted = measure(options.directory / case.name, case, "release")
        except AssertionError as error:
            rows.append([case.name, size, f"not delivered: {str(error)[:300]}", *[""] * (2 * len(KINDS) - 1)])
            problems.append(f"{case.name} was not delivered")
            continue
        rows.append([case.name, size, *(f"{late[kind]:.2f}" for late in (running, restarted) for kind in KINDS)])
        if case is IDLE:
            idle = running, restarted
        if idle:
            problems += [f"{case.name} {problem}" for problem in too_late((running, restarted), idle)]
    table(["queue", "messages", *(f"{kind} s" for kind in KINDS), *(f"{kind} s after a restart" for kind in KINDS)], rows)
    print("seconds between the earliest time of an email to a good site, or the restart, and its arrival")
    print(f"target: at most {LATE_MAX_S:g} s more than on an idle server; later: {'; '.join(problems) or 'none'}")
