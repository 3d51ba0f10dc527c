"""Checks that print one line each, and calls of SDK methods by name, which are recorded."""

import asyncio
import inspect
import os
import re
import time
from datetime import datetime, timedelta, timezone
from importlib.metadata import version

import resend
from resend.exceptions import ResendError

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
# Message of a 404 for a path that does not exist. Other 404 responses are about a row.
NO_ENDPOINT = "The requested endpoint does not exist."
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"

NAME = os.environ["CLIENT_NAME"]
# The older major version has fewer methods and parameters, and returns objects with fewer fields.
IS_OLDER = int(version("resend").split(".")[0]) < 2

CLASSES = {
    "emails": "Emails",
    "batch": "Batch",
    "domains": "Domains",
    "api_keys": "ApiKeys",
    "contacts": "Contacts",
    "contact_properties": "ContactProperties",
    "topics": "Topics",
    "segments": "Segments",
    "audiences": "Audiences",
    "suppressions": "Suppressions",
    "broadcasts": "Broadcasts",
    "templates": "Templates",
    "webhooks": "Webhooks",
    "logs": "Logs",
    "usage": "Usage",
}
RESOURCES = {
    name: getattr(resend, class_name)
    for name, class_name in CLASSES.items()
    if not IS_OLDER or hasattr(resend, class_name)
}


class Suite:
    """The checks of the synchronous methods, or with the suffix "_async" those of the asyncio methods."""

    passed = 0
    failed = 0
    called = set()

    def __init__(self, suffix):
        self.suffix = suffix
        self.label = "async" if suffix else "sync"

    def check(self, method, note, body):
        """Runs one check of a method, unless only the newest major version has that method."""
        method += self.suffix
        if IS_OLDER and method not in METHODS:
            return
        try:
            body()
        except Exception as error:
            self.fail(method, note, error)
        else:
            self.ok(f"{method} ok ({note})")

    def part(self, module):
        """Runs the checks of one module. An exception outside a check fails the module; the others still run."""
        try:
            module.run(self)
        except Exception as error:
            self.fail(module.__name__, "outside the checks", error)

    @staticmethod
    def ok(text):
        Suite.passed += 1
        print(f"client {NAME}: {text}", flush=True)

    @staticmethod
    def fail(method, note, error):
        Suite.failed += 1
        kind = "" if isinstance(error, (AssertionError, str)) else f"{type(error).__name__}: "
        print(f"client {NAME}: {method} FAILED ({note}): {kind}{error}", flush=True)

    def call(self, method, *args, **named):
        """Calls a method by its path. A refusal by the server raises an exception of the SDK."""
        method += self.suffix
        Suite.called.add(method)
        resource, *path = method.split(".")
        target = RESOURCES[resource]
        for part in path:
            target = getattr(target, part)
        result = target(*args, **named)
        return asyncio.run(result) if inspect.isawaitable(result) else result

    def data(self, method, *args, **named):
        """Returns the result of a call that must succeed, without the response headers that the SDK adds."""
        if IS_OLDER:
            return plain(self.call(method, *args, **named))
        result = dict(self.call(method, *args, **named))
        assert isinstance(result.pop("http_headers"), dict)
        assert "statusCode" not in result, "a success has no statusCode"
        return result

    def refused(self, status, name, method, *args, **named):
        """Returns the error of a call that must be refused."""
        try:
            result = self.call(method, *args, **named)
        except ResendError as error:
            seen = (error.code, error.error_type)
            assert seen == (status, name), f"{seen} {error.message}"
            assert error.message
            return error
        raise AssertionError(f"accepted: {result}")

    def must_fail(self, status, name, note, method, *args):
        """Checks that a call fails that the server does not support."""
        if IS_OLDER and method not in METHODS:
            return
        try:
            error = self.refused(status, name, method, *args)
            if status == 404:
                assert_equal(error.message, NO_ENDPOINT)
        except Exception as error:
            self.fail(method + self.suffix, note, error)
        else:
            self.ok(f"{method}{self.suffix} must fail: {status} {name} ({note})")

    def until(self, read, accept, timeout_s=60):
        deadline = time.monotonic() + timeout_s
        while True:
            value = read()
            if accept(value):
                return value
            assert time.monotonic() < deadline, f"not within {timeout_s} s; last seen: {value}"
            time.sleep(0.05)


class with_key:
    """Uses another API key inside a `with` block. The SDK has one key for the process."""

    def __init__(self, key):
        self.key = key

    def __enter__(self):
        self.key, resend.api_key = resend.api_key, self.key

    def __exit__(self, *_):
        resend.api_key = self.key


def methods_of(resource, path):
    """Yields the paths of all public methods of `resource`, with inherited ones and nested classes."""
    inherited = {name: value for base in reversed(resource.__mro__) for name, value in vars(base).items()}
    for name, value in inherited.items():
        if name.startswith("_"):
            continue
        if isinstance(value, (classmethod, staticmethod)):
            yield f"{path}.{name}"
        elif inspect.isclass(value) and not hasattr(value, "__total__"):  # A TypedDict is data.
            yield from methods_of(value, f"{path}.{name}")


METHODS = {method for name, resource in RESOURCES.items() for method in methods_of(resource, name)}


def plain(value):
    """Returns a result of the older version as the newest one returns it: objects as dictionaries, lists as pages."""
    if isinstance(value, list):
        return {"data": [plain(row) for row in value]}
    fields = {name.rstrip("_"): field for name, field in vars(value).items()} if value is not None else {}
    if fields.get("records") is not None:
        fields["records"] = plain(fields["records"])["data"]
    return fields


def in_hours(hours):
    instant = datetime.now(timezone.utc) + timedelta(hours=hours)
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant_of(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def assert_equal(seen, expected):
    assert seen == expected, f"{seen!r} is not {expected!r}"


def assert_fields(row, **expected):
    """Asserts fields of a result. The older version drops some fields of the response."""
    known = {name: value for name, value in expected.items() if not IS_OLDER or name in row}
    assert known, f"none of {list(expected)} in {row}"
    assert_equal({name: row[name] for name in known}, known)


def assert_matches(pattern, text):
    assert re.search(pattern, text), f"{text!r} does not match {pattern!r}"
