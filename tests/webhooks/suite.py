"""Runs the webhook cases: `suite.py [--seed N] [WORD…]`. With WORDs, those whose name contains one of them.

A case is a function that `@case` or `@loads` has registered. Its name is a sentence, and it returns its
counts as text. Cases of `@case` mostly wait, and run concurrently. Cases of `@loads` load the machine, and
run one at a time beside the others.
"""

import argparse
import concurrent.futures
import pathlib
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

from cases import LOADING, WAITING  # noqa: E402
from server import TARGET  # noqa: E402
from world import World  # noqa: E402


class Results:
    def __init__(self):
        self.passed = self.failed = 0
        self.lock = threading.Lock()

    def run(self, case, world):
        began = time.monotonic()
        try:
            counts, error = case(world), None
        except Exception:
            counts, error = "", traceback.format_exc()
        word = "failed" if error else "ok"
        with self.lock:
            self.passed += error is None
            self.failed += error is not None
            print(f"{word:6} {case.__name__} ({time.monotonic() - began:.1f} s): {counts}", flush=True)
            if error:
                print(error, flush=True)


def no_file_contains_a_readable_secret(world):
    """Searches the files of all servers for all secrets. Runs last."""
    return world.search_for_secrets()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"webhooks: seed {seed}", flush=True)

    def chosen(cases):
        words = options.words
        return [case for case in cases if not words or any(word in case.__name__ for word in words)]

    began = time.monotonic()
    TARGET.mkdir(parents=True, exist_ok=True)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="webhooks-", dir=TARGET))
    world = World(directory, seed)
    results = Results()
    try:
        world.start()
        waiting, loading = chosen(WAITING), chosen(LOADING)
        with concurrent.futures.ThreadPoolExecutor(len(waiting) + 1) as pool:
            running = [pool.submit(results.run, case, world) for case in waiting]
            for case in loading:
                results.run(case, world)
            for done in running:
                done.result()
    finally:
        world.stop()
    if results.passed:
        results.run(no_file_contains_a_readable_secret, world)
    if results.failed:
        print(f"the data and the logs of the servers are in {directory}")
    else:
        shutil.rmtree(directory, ignore_errors=True)
    seconds = time.monotonic() - began
    print(f"webhooks: {results.passed} passed, {results.failed} failed, {seconds:.0f} s (seed {seed})")
    return 1 if results.failed or not results.passed else 0


if __name__ == "__main__":
    sys.exit(main())
