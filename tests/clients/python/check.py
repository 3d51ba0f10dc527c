"""Checks that print one line each, and calls that name the SDK method they make."""

import asyncio
import inspect
import re
import time
from datetime import datetime, timedelta, timezone

import resend
from resend.exceptions import ResendError

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
# What tells an endpoint that does not exist from a row that does not.
NO_ENDPOINT = "The requested endpoint does not exist."
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"

RESOURCES = {
    "emails": resend.Emails,
    "batch": resend.Batch,
    "domains": resend.Domains,
    "api_keys": resend.ApiKeys,
    "contacts": resend.Contacts,
    "contact_properties": resend.ContactProperties,
    "topics": resend.Topics,
    "segments": resend.Segments,
    "audiences": resend.Audiences,
    "suppressions": resend.Suppressions,
    "webhooks": resend.Webhooks,
    "logs": resend.Logs,
    "usage": resend.Usage,
}


class Suite:
    """One pass over the SDK: its plain methods, or (`suffix` "_async") their asyncio twins."""

    passed = 0
    failed = 0
    called = set()

    def __init__(self, suffix):
        self.suffix = suffix
        self.label = "async" if suffix else "sync"

    def check(self, method, note, body):
        method += self.suffix
        try:
            body()
        except Exception as error:
            self.fail(method, note, error)
        else:
            self.ok(f"{method} ok ({note})")

    def part(self, module):
        """Runs the checks of one module; what it raises between them does not keep the others from running."""
        try:
            module.run(self)
        except Exception as error:
            self.fail(module.__name__, "between two checks", error)

    @staticmethod
    def ok(text):
        Suite.passed += 1
        print(f"client python: {text}", flush=True)

    @staticmethod
    def fail(method, note, error):
        Suite.failed += 1
        kind = "" if isinstance(error, (AssertionError, str)) else f"{type(error).__name__}: "
        print(f"client python: {method} FAILED ({note}): {kind}{error}", flush=True)

    def call(self, method, *args, **named):
        """Calls a method by its path; the SDK raises what the server refuses."""
        method += self.suffix
        Suite.called.add(method)
        resource, *path = method.split(".")
        target = RESOURCES[resource]
        for part in path:
            target = getattr(target, part)
        result = target(*args, **named)
        return asyncio.run(result) if inspect.isawaitable(result) else result

    def data(self, method, *args, **named):
        """The result of a call that must succeed, without the response headers the SDK adds."""
        result = dict(self.call(method, *args, **named))
        assert isinstance(result.pop("http_headers"), dict)
        assert "statusCode" not in result, "a success never carries statusCode"
        return result

    def refused(self, status, name, method, *args, **named):
        """The error of a call that must be refused."""
        try:
            result = self.call(method, *args, **named)
        except ResendError as error:
            seen = (error.code, error.error_type)
            assert seen == (status, name), f"{seen} {error.message}"
            assert error.message
            return error
        raise AssertionError(f"accepted: {result}")

    def must_fail(self, status, name, note, method, *args):
        """A method, or a use of one, that cannot succeed here."""
        try:
            error = self.refused(status, name, method, *args)
            if status == 404:
                assert_equal(error.message, NO_ENDPOINT)
        except Exception as error:
            self.fail(method + self.suffix, note, error)
        else:
            self.ok(f"{method}{self.suffix} must fail: {status} {name} ({note})")

    def until(self, read, accept, timeout_s=15):
        deadline = time.monotonic() + timeout_s
        while True:
            value = read()
            if accept(value):
                return value
            assert time.monotonic() < deadline, f"not within {timeout_s} s; last seen: {value}"
            time.sleep(0.05)


class with_key:
    """Uses another API key inside a `with` block: the SDK holds one for the whole process."""

    def __init__(self, key):
        self.key = key

    def __enter__(self):
        self.key, resend.api_key = resend.api_key, self.key

    def __exit__(self, *_):
        resend.api_key = self.key


def methods_of(resource, path):
    """Every public method under `resource`, what it inherits and its nested classes included."""
    inherited = {name: value for base in reversed(resource.__mro__) for name, value in vars(base).items()}
    for name, value in inherited.items():
        if name.startswith("_"):
            continue
        if isinstance(value, (classmethod, staticmethod)):
            yield f"{path}.{name}"
        elif inspect.isclass(value) and not hasattr(value, "__total__"):  # A TypedDict is data.
            yield from methods_of(value, f"{path}.{name}")


def in_hours(hours):
    instant = datetime.now(timezone.utc) + timedelta(hours=hours)
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant_of(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def assert_equal(seen, expected):
    assert seen == expected, f"{seen!r} is not {expected!r}"


def assert_matches(pattern, text):
    assert re.search(pattern, text), f"{text!r} does not match {pattern!r}"
