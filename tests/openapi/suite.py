#!/usr/bin/env python3
"""Sends generated requests to the real binary, and checks each response against the OpenAPI document.

tests/openapi/run [REQUESTS] [--seed N]

REQUESTS is the approximate number of requests. The seed repeats the requests of a run.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.dont_write_bytecode = True

import server  # noqa: E402

# Checks that are replaced by those of hooks.py, which know the exceptions.
REPLACED = "positive_data_acceptance,negative_data_rejection"
# Requests for each example, over all operations. Large runs send fewer, because small schemas have few examples.
REQUESTS_PER_EXAMPLE = 85
REQUESTS_PER_EXAMPLE_OF_LARGE_RUN = 62
# The coverage phase sends about this many requests, whatever the number of examples.
COVERAGE_REQUESTS = 6_000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("requests", nargs="?", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        flags = ["--public-url", "https://mail.example.com"]
        instance = server.Server(directory, server.Capture(), domains=("example.com",), extra=flags).start()
        try:
            code = run(instance, pathlib.Path(directory), arguments)
            if instance.process.poll() is not None:
                print(f"the server ended\n{instance.log_tail()}")
                code = 1
        finally:
            instance.end()
    sys.exit(code)


def run(instance, directory, arguments):
    """Runs schemathesis and prints the counts. Returns its exit code."""
    with_coverage = arguments.requests > 2 * COVERAGE_REQUESTS
    if with_coverage:
        examples = round((arguments.requests - COVERAGE_REQUESTS) / REQUESTS_PER_EXAMPLE_OF_LARGE_RUN)
    else:
        examples = max(1, round(arguments.requests / REQUESTS_PER_EXAMPLE))
    phases = "examples,coverage,fuzzing,stateful" if with_coverage else "examples,fuzzing"
    kept = [row["id"] for path in ("/api-keys", "/domains") for row in instance.api.ok("GET", path)["data"]]
    counts = directory / "counts.json"
    command = [
        str(pathlib.Path(sys.executable).with_name("st")), "run",
        f"http://127.0.0.1:{instance.port}/docs/openapi.json",
        "--url", f"http://127.0.0.1:{instance.port}",
        "--header", f"Authorization: Bearer {server.API_KEY}",
        "--checks", "all", "--exclude-checks", REPLACED, "--phases", phases,
        "--max-examples", str(examples), "--seed", str(arguments.seed),
        "--suppress-health-check", "all", "--warnings", "off", "--continue-on-failure", "--no-color",
    ]  # fmt: skip
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE),
        "SCHEMATHESIS_HOOKS": "hooks",
        "RINGMAIL_OPENAPI_COUNTS": str(counts),
        "RINGMAIL_OPENAPI_KEPT": " ".join(kept),
    }
    code = subprocess.run(command, cwd=directory, env=environment, check=False).returncode
    if not counts.exists():
        return code or 1
    found = json.loads(counts.read_text())
    print(f"{sum(found['statuses'].values())} requests: {dict(sorted(found['statuses'].items()))}")
    for name, number in sorted(found["exceptions"].items()):
        print(f"exception: {name}: {number}")
    return code


if __name__ == "__main__":
    main()
