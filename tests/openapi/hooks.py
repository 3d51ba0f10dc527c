"""Hooks of schemathesis: texts of the formats of this API, exceptions, and counts.

`RINGMAIL_OPENAPI_COUNTS` names the file that the counts are written to at the end.
`RINGMAIL_OPENAPI_KEPT` has the ids that no request may change: the API key and the domain of the run.
"""

import atexit
import collections
import json
import os

import schemathesis
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

import exceptions

STATUSES = collections.Counter()
EXCEPTED = collections.Counter()
KEPT = os.environ.get("RINGMAIL_OPENAPI_KEPT", "").split()
# Broadcasts that are sent at once. Each reaches all contacts of the run, so later ones are scheduled.
BROADCASTS_SENT_MAX = 20
SENT = collections.Counter()
LONG_WAITS = [f"{seconds}s" for seconds in range(2, 61)]

LOCAL_PARTS = st.from_regex(r"[a-z0-9]{1,12}([.+_-][a-z0-9]{1,8})?", fullmatch=True)
DOMAINS = st.one_of(st.just("example.com"), st.from_regex(r"[a-z]{2,12}\.(example|test)", fullmatch=True))
ADDRESSES = st.builds("{}@{}".format, LOCAL_PARTS, DOMAINS)
NAMES = st.from_regex(r"[A-Za-z][A-Za-z ]{0,20}[A-Za-z]", fullmatch=True)

# The formats that the document uses, and that OpenAPI does not define or defines more widely than this API accepts.
FORMATS = {
    "email": ADDRESSES,
    "mailbox": st.one_of(ADDRESSES, st.builds("{} <{}>".format, NAMES, ADDRESSES)),
    "domain": DOMAINS,
    "schedule": st.builds("in {} minutes".format, st.integers(min_value=5, max_value=40_000)),
    "media-type": st.sampled_from(["text/plain", "application/pdf", "image/png", "text/calendar; method=REQUEST"]),
    "number": st.one_of(st.integers().map(str), st.floats(-1e9, 1e9).map("{:.3f}".format)),
    "date-or-time": st.dates().map(str),
    "iri": st.builds("https://{}/{}".format, DOMAINS, st.from_regex(r"[a-z0-9/]{0,20}", fullmatch=True)),
}
for name, strategy in FORMATS.items():
    schemathesis.openapi.format(name, strategy)


@schemathesis.hook
def filter_path_parameters(context, path_parameters):
    """Keeps the API key and the domain of the run."""
    return not any(value in KEPT for value in (path_parameters or {}).values())


@schemathesis.serializer("message/rfc822")
def message(context, value):
    return str(value).encode("utf-8", "replace")


@schemathesis.hook
def before_call(context, case, kwargs):
    """Schedules a broadcast instead of sending it, after `BROADCASTS_SENT_MAX`. The server keeps all mail: it is in
    capture mode. Shortens the wait for a captured message, which lasts at most a minute: a response is to take less than ten
    seconds.
    """
    wait = (case.query or {}).get("wait")
    if case.path == "/captured" and wait in LONG_WAITS:
        case.query["wait"] = "1s"
    if SENT["broadcasts"] >= BROADCASTS_SENT_MAX and sends_broadcast(case):
        case.body["scheduled_at"] = "in 29 days"


@schemathesis.hook
def after_call(context, case, response):
    STATUSES[response.status_code] += 1
    if response.status_code in (200, 201) and sends_broadcast(case):
        SENT["broadcasts"] += 1


def sends_broadcast(case):
    """Returns whether a request with a body sends a broadcast at once."""
    if case.method.upper() != "POST" or not isinstance(case.body, dict) or "scheduled_at" in case.body:
        return False
    return case.path == "/broadcasts/{id}/send" or (case.path == "/broadcasts" and case.body.get("send") is True)


def with_exceptions(check):
    """Returns the check without the exceptions, which are counted."""

    def checked(ctx, response, case):
        try:
            return check(ctx, response, case)
        except AssertionError:
            exception = exceptions.find(check.__name__, case, response)
            if exception is None:
                raise
            EXCEPTED[exception] += 1
            return None

    checked.__name__ = f"{check.__name__}_but_exceptions"
    return checked


schemathesis.check(with_exceptions(positive_data_acceptance))
schemathesis.check(with_exceptions(negative_data_rejection))


@atexit.register
def write_counts():
    path = os.environ.get("RINGMAIL_OPENAPI_COUNTS")
    if path and STATUSES:
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"statuses": STATUSES, "exceptions": EXCEPTED}, file)
