"""Checks that print one line each, and calls of SDK methods by name, which are recorded."""

import inspect
import re
import time

import millionsend

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"

RESOURCES = {
    "Contacts": millionsend.Contacts,
    "ContactProperties": millionsend.ContactProperties,
    "Deliverability": millionsend.Deliverability,
    "Segments": millionsend.Segments,
    "Suppressions": millionsend.Suppressions,
    "Topics": millionsend.Topics,
    "Usage": millionsend.Usage,
    "Webhooks": millionsend.Webhooks,
}


class Suite:
    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.called = set()

    def part(self, checks, *arguments):
        """Runs the checks of one function. An exception outside a check fails it; the others still run."""
        try:
            checks(self, *arguments)
        except Exception as error:
            self.fail(checks.__name__, "outside the checks", error)

    def check(self, method, note, body):
        try:
            body()
        except Exception as error:
            self.fail(method, note, error)
        else:
            self.passed += 1
            print(f"client millionsend-python: {method} ok ({note})", flush=True)

    def fail(self, method, note, error):
        self.failed += 1
        kind = "" if isinstance(error, (AssertionError, str)) else f"{type(error).__name__}: "
        print(f"client millionsend-python: {method} FAILED ({note}): {kind}{error}", flush=True)

    def data(self, method, *args, **named):
        """Calls a method by its path. A refusal by the server raises an exception of the SDK."""
        self.called.add(method)
        target = millionsend
        for part in method.split("."):
            target = getattr(target, part)
        return target(*args, **named)

    def refused(self, status, name, method, *args, **named):
        """Returns the error of a call that must be refused."""
        try:
            result = self.data(method, *args, **named)
        except millionsend.MillionSendError as error:
            assert_equal((error.status_code, error.code), (status, name))
            assert error.message
            return error
        raise AssertionError(f"accepted: {result}")

    def cover(self):
        """Fails each method of the SDK that no check has called. Returns whether no check failed."""
        methods = {method for name, resource in RESOURCES.items() for method in methods_of(resource, name)}
        for method in sorted(methods - self.called):
            self.fail(method, "coverage", "no check calls this method of the SDK")
        print(f"client millionsend-python: called {len(methods & self.called)} of {len(methods)} methods")
        print(f"client millionsend-python: {self.passed} passed, {self.failed} failed")
        return self.failed == 0


def methods_of(resource, path):
    """Yields the paths of all public methods of `resource`, with inherited ones and nested classes."""
    inherited = {name: value for base in reversed(resource.__mro__) for name, value in vars(base).items()}
    for name, value in inherited.items():
        if name.startswith("_"):
            continue
        if isinstance(value, (classmethod, staticmethod)):
            yield f"{path}.{name}"
        elif inspect.isclass(value):
            yield from methods_of(value, f"{path}.{name}")


def assert_equal(seen, expected):
    assert seen == expected, f"{seen!r} is not {expected!r}"


def assert_matches(pattern, text):
    assert re.search(pattern, text), f"{text!r} does not match {pattern!r}"


def until(read, accept, timeout_s=60):
    """Calls `read` until `accept` returns a true value for its result, and returns the result."""
    deadline = time.monotonic() + timeout_s
    while not accept(value := read()):
        assert time.monotonic() < deadline, f"not within {timeout_s} s; last seen: {value}"
        time.sleep(0.05)
    return value
