"""Runs the benches that the command line names. See benches/run."""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "lib")]

import accept  # noqa: E402
import audience  # noqa: E402
import broadcast  # noqa: E402
import dashboard  # noqa: E402
import deliver  # noqa: E402
import machine  # noqa: E402
import memory  # noqa: E402
import pages  # noqa: E402
import retention  # noqa: E402
import search  # noqa: E402
import track  # noqa: E402
import webhooks  # noqa: E402
import year  # noqa: E402
from server import TARGET, binary  # noqa: E402


def starvation(options):
    # Its name server needs a package that the other benches do without.
    import starvation as bench

    bench.run(options)


BENCHES = {"accept": accept.run, "deliver": deliver.run, "pages": pages.run, "audience": audience.run,
           "broadcast": broadcast.run, "track": track.run,
           "search": search.run, "dashboard": dashboard.run, "webhooks": webhooks.run, "memory": memory.run, "starvation": starvation, "retention": retention.run, "year": year.run}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(prog="benches/run")
    parser.add_argument("bench", choices=[*BENCHES, "all"])
    parser.add_argument("--runs", type=int, default=3, help="runs of each figure; the median is printed")
    parser.add_argument("--seconds", type=int, default=5, help="duration of one run")
    parser.add_argument("--rows", default="10000,1000000", help="sizes of the stores for the pages, the search, and the dashboard")
    parser.add_argument("--messages", type=int, default=15_000, help="messages per delivery run; a quarter of the expired emails of the retention bench")
    parser.add_argument("--contacts", type=int, default=1_000_000, help="number of contacts in the audience and broadcast benches")
    # Ten connections below the limit of the server are left for GET /health.
    parser.add_argument("--connections", type=int, default=9_990, help="connections of each flood of the memory bench")
    parser.add_argument("--scale", type=float, default=1, help="part of the sizes of the starvation bench")
    parser.add_argument("--days", type=int, default=365, help="days of the year bench")
    parser.add_argument("--emails", type=int, default=10_000, help="emails a day in the year bench, a multiple of 100")
    options = parser.parse_args()
    limits = os.environ.get("LIMIT_PROGRAMS")
    options.limits = pathlib.Path(limits) if limits else None

    TARGET.mkdir(exist_ok=True)
    options.directory = pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=TARGET))
    try:
        print(machine.describe(options.directory))
        print(f"binary: {binary('release').stat().st_size / 1e6:.1f} MB; medians of {options.runs} [min..max]")
        for name, bench in BENCHES.items():
            # A year takes an hour, so that it is not among all benches.
            if options.bench == name or (options.bench == "all" and name != "year"):
                print(f"\n== {name}")
                bench(options)
    finally:
        shutil.rmtree(options.directory, ignore_errors=True)


if __name__ == "__main__":
    main()
