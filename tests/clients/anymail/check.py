"""Checks that print one line each, requests to the API without an SDK, and polling with a deadline."""

import re
import time

import requests
from django.conf import settings

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Suite:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    def part(self, checks, *arguments):
        """Runs the checks of one function. An exception outside a check fails it; the others still run."""
        try:
            checks(self, *arguments)
        except Exception as error:
            self.fail(checks.__name__, "outside the checks", error)

    def check(self, feature, note, body, *args):
        try:
            body(*args)
        except Exception as error:
            self.fail(feature, note, error)
        else:
            self.passed += 1
            print(f"client anymail: {feature} ok ({note})", flush=True)

    def fail(self, feature, note, error):
        self.failed += 1
        kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
        print(f"client anymail: {feature} FAILED ({note}): {kind}{error}", flush=True)

    def finish(self):
        """Prints the counts. Returns whether no check failed."""
        print(f"client anymail: {self.passed} passed, {self.failed} failed")
        return self.failed == 0


def api(method, path, body=None):
    """Sends a request that Anymail has no function for, and returns its JSON."""
    url = settings.ANYMAIL["RESEND_API_URL"] + path
    key = settings.ANYMAIL["RESEND_API_KEY"]
    response = requests.request(method, url, json=body, headers={"Authorization": f"Bearer {key}"}, timeout=60)
    assert response.ok, f"{method} {path}: {response.status_code} {response.text}"
    return response.json()


def email(message_id):
    return api("GET", f"/emails/{message_id}")


def until(read, accept, timeout_s=60):
    deadline = time.monotonic() + timeout_s
    while not accept(value := read()):
        assert time.monotonic() < deadline, f"not within {timeout_s} s; last seen: {value}"
        time.sleep(0.02)
    return value


def assert_equal(seen, expected):
    assert seen == expected, f"{seen!r} is not {expected!r}"


def assert_fields(row, **expected):
    assert_equal({name: row[name] for name in expected}, expected)


def assert_matches(pattern, text):
    assert re.search(pattern, text), f"{text!r} does not match {pattern!r}"
