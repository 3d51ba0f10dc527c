"""Runs the fault cases: `suite.py [WORD…]`. With WORDs, those whose name contains one of them.

Several cases run at the same time, because most of their time is the wait for a retry. Each has a process of its own, so
that its receivers and its name server respond without delay.
"""

import concurrent.futures
import os
import subprocess
import sys
import time

import clock
import disk
import dns
import dot
import row
from lib import HERE

AT_ONCE = 4
# The module with the longest cases is first.
MODULES = [dns, dot, disk, clock, row]


def run_case(module, case):
    """Returns whether a case succeeded, and its output."""
    command = [sys.executable, "-B", HERE / f"{module.__name__}.py", case.__name__]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode == 0, done.stdout


def main(words):
    began = time.monotonic()
    modules = [module for module in MODULES if module is not clock or "FAKETIME_LIBRARY" in os.environ]
    cases = [(module, case) for module in modules for case in module.CASES]
    chosen = [one for one in cases if not words or any(word in one[1].__name__ for word in words)]
    passed = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run_case, *one) for one in chosen]):
            succeeded, output = done.result()
            passed += succeeded
            print(output, end="", flush=True)
    print(f"faults: {passed} passed, {len(chosen) - passed} failed, {time.monotonic() - began:.0f} s")
    return 0 if passed == len(chosen) > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
