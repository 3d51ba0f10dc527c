"""Times mail of two teams to good sites beside a full queue: `suite.py [WORD…]`. See `full_queue.py` for the queues.

Each email may arrive at most `full_queue.LATE_MAX_S` later than on an idle server. A site that does not greet counts as failing after
three seconds, so that mail to a new site can wait that long for a session. Without turns, it waits for minutes.
"""

import concurrent.futures
import pathlib
import shutil
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

from full_queue import IDLE, measure, rows, small_cases, too_late  # noqa: E402
from server import TARGET  # noqa: E402

AT_ONCE = 4
# Fewer sessions than the default, so that the small queues use all of them.
EXTRA = ("--sessions", "30")


def measured(directory, case):
    """Returns the case with its lateness in each mode, or with the error of the measurement."""
    try:
        return case, measure(directory / case.name, case, "debug", EXTRA)
    except Exception as error:
        traceback.print_exc(file=sys.stdout)
        return case, error


def print_rows(name, late):
    for mode, team, seconds in rows(late):
        figures = ", ".join(f"{kind} {late_s:.2f}" for kind, late_s in seconds.items())
        print(f"{name:10}{mode:10}{team:7}{figures}", flush=True)


def main(words):
    began = time.monotonic()
    chosen = [case for case in small_cases() if not words or any(word in case.name for word in words)]
    TARGET.mkdir(exist_ok=True)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="starvation-", dir=TARGET))
    failed = []
    try:
        _, idle = measured(directory, IDLE)
        if isinstance(idle, Exception):
            raise idle
        print("seconds by which mail of each team to good sites arrived late")
        print_rows("idle", idle)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for case, late in pool.map(lambda case: measured(directory, case), chosen):
                if isinstance(late, Exception):
                    failed.append(f"{case.name}: {late}")
                    continue
                print_rows(case.name, late)
                failed += [f"{case.name} {problem}" for problem in too_late(late, idle)]
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    for problem in failed:
        print(f"failed: {problem}")
    print(f"starvation: {len(chosen)} queues, {len(failed)} failures, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
