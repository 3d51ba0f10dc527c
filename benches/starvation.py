"""The delay of mail of two teams to a good site while the queue is full of other mail, before and after a restart."""

from full_queue import IDLE, KINDS, LATE_MAX_S, cases, measure, rows, too_late
from machine import table


def run(options):
    lines, idle, problems = [], None, []
    for case in [IDLE, *cases(options.scale)]:
        size = f"{case.messages:,} to {case.domains:,}"
        try:
            late = measure(options.directory / case.name, case, "release")
        except AssertionError as error:
            lines.append([case.name, size, f"not delivered: {str(error)[:300]}", *[""] * (1 + len(KINDS))])
            problems.append(f"{case.name} was not delivered")
            continue
        for mode, team, seconds in rows(late):
            lines.append([case.name, size, mode, team, *(f"{late_s:.2f}" for late_s in seconds.values())])
        if case is IDLE:
            idle = late
        if idle:
            problems += [f"{case.name} {problem}" for problem in too_late(late, idle)]
    table(["queue", "messages", "server", "team", *(f"{kind} s" for kind in KINDS)], lines)
    print("seconds between the earliest time of mail to a good site, or the restart, and its arrival")
    print("the messages of the first team fill the queue; a broadcast is late by its last recipient")
    print(f"target: at most {LATE_MAX_S:g} s more than on an idle server; later: {'; '.join(problems) or 'none'}")
