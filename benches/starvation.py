"""The delay of mail to a good site while the queue is full of other mail, before and after a restart."""

import shutil

from full_queue import World, cases
from machine import table

KINDS = ("known", "new", "scheduled", "greylisted")


def run(options):
    idle = World(options.directory / "idle", "release").start()
    try:
        baseline = idle.lateness()
    finally:
        idle.stop()
    rows = [["idle", "", *(f"{baseline[kind]:.2f}" for kind in KINDS), *[""] * len(KINDS)]]
    for case in cases(options.scale):
        rows.append(one(options, case, baseline))
    table(
        ["queue", "messages", *(f"{kind} s" for kind in KINDS), *(f"{kind} s after a restart" for kind in KINDS)], rows
    )
    print("seconds between the earliest time of an email to a good site and its arrival")


def one(options, case, baseline):
    world = World(options.directory / case.name, "release").start()
    try:
        world.fill(case)
        before = world.lateness()
        world.restart()
        after = world.lateness()
        return [case.name, f"{case.messages:,} to {case.domains:,}", *(f"{before[kind]:.2f}" for kind in KINDS),
                *(f"{after[kind]:.2f}" for kind in KINDS)]  # fmt: skip
    except AssertionError as error:
        return [case.name, f"{case.messages:,} to {case.domains:,}", f"not delivered: {str(error)[:300]}"]
    finally:
        world.stop()
        shutil.rmtree(world.server.directory, ignore_errors=True)
