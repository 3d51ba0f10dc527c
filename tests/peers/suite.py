"""Runs the peer cases: `suite.py [WORD…]`. With WORDs, those whose name contains one of them.

A case is a function that `@case` has registered. Its name is a sentence. Several cases run concurrently,
because most of their time is the wait for a retry.
"""

import concurrent.futures
import pathlib
import shutil
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

from cases import CASES  # noqa: E402
from postfix_instance import PostfixInstance  # noqa: E402
from server import TARGET  # noqa: E402
from world import World  # noqa: E402

AT_ONCE = 8
SKIPPED = 77


def run_case(world, case):
    started = time.monotonic()
    try:
        case(world)
        return case, time.monotonic() - started, None
    except Exception:
        return case, time.monotonic() - started, traceback.format_exc()


def main(words):
    missing = PostfixInstance.missing()
    if missing:
        print(f"skipped: {missing}")
        return SKIPPED
    chosen = [case for case in CASES if not words or any(word in case.__name__ for word in words)]
    TARGET.mkdir(exist_ok=True)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="peers-", dir=TARGET))
    world = World(directory)
    chosen = [case for case in chosen if getattr(case, "server", "postfix") in world.mail_servers]
    failed = 0
    try:
        world.start()
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            running = [pool.submit(run_case, world, case) for case in chosen]
            for done in concurrent.futures.as_completed(running):
                case, seconds, error = done.result()
                print(f"{'failed' if error else 'ok':6} {case.__name__} ({seconds:.1f} s)", flush=True)
                if error:
                    failed += 1
                    print(error, flush=True)
    finally:
        world.stop()
        if failed == 0 and sys.exc_info()[0] is None:
            shutil.rmtree(directory, ignore_errors=True)
        else:
            print(f"the data and the logs of the servers are in {directory}")
    print(f"peers: {len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
