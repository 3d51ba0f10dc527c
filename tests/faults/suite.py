"""Runs the fault cases: `suite.py [--recipients N] [WORD…]`. With WORDs, those whose name or file contains one of them
run.

`--recipients` is the number of recipients of a broadcast. The default of the cases takes seconds in a debug build.

Several cases run at the same time, because most of their time is the wait for a retry. Each has a process of its own, so
that its receivers and its name server respond without delay.
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys
import time

import broadcast_cancel
import broadcast_clock
import broadcast_disk
import broadcast_kill
import broadcast_leave
import broadcast_queue
import clock
import disk
import dns
import dot
import failing_disk
import retention
import row
import session_kill
from lib import HERE

AT_ONCE = 4
BROADCASTS = [
    broadcast_cancel, broadcast_kill, broadcast_leave, broadcast_queue, broadcast_disk, broadcast_clock,
]  # fmt: skip
# The module with the longest cases is first.
MODULES = [dns, *BROADCASTS, retention, failing_disk, dot, disk, clock, session_kill, row]
# Modules that need a library for LD_PRELOAD, by the variable that names it.
NEEDED = {"FAKETIME_LIBRARY": [clock, broadcast_clock, retention], "FAILING_DISK_LIBRARY": [failing_disk]}


def run_case(module, case):
    """Returns whether a case succeeded, and its output."""
    command = [sys.executable, "-B", HERE / f"{module.__name__}.py", case.__name__]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode == 0, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--recipients", type=int)
    arguments = parser.parse_args()
    words = arguments.words
    if arguments.recipients:
        os.environ["FAULTS_RECIPIENTS"] = str(arguments.recipients)
    began = time.monotonic()
    left_out = [module for library, modules in NEEDED.items() if library not in os.environ for module in modules]
    modules = [module for module in MODULES if module not in left_out]
    cases = [(module, case) for module in modules for case in module.CASES]
    names = {one: f"{one[0].__name__} {one[1].__name__}" for one in cases}
    chosen = [one for one in cases if not words or any(word in names[one] for word in words)]
    passed = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run_case, *one) for one in chosen]):
            succeeded, output = done.result()
            passed += succeeded
            print(output, end="", flush=True)
    print(f"faults: {passed} passed, {len(chosen) - passed} failed, {time.monotonic() - began:.0f} s")
    return 0 if passed == len(chosen) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
