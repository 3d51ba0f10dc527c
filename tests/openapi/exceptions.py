"""Exceptions: valid requests that the server rejects, and invalid requests that it accepts, each with its reason.

A rejection of a valid request depends on stored data, on the settings, or on several fields at once, which the schema
of one field cannot express. The server accepts an invalid request if official clients send it, or if its mode asks for
the errors in the response.
"""

import dataclasses
import re
from collections.abc import Callable

POSITIVE = "positive_data_acceptance"
NEGATIVE = "negative_data_rejection"


@dataclasses.dataclass(frozen=True)
class NamedException:
    name: str
    check: str
    # Pattern of the message of the response.
    message: str = ""
    # Pattern of the method and path of the operation.
    operation: str = ""
    # Condition of a value in the query or the body, or of one inside it.
    value: Callable = None
    # Condition of a parameter of the path.
    parameter: Callable = None
    # Condition of the response.
    response: Callable = None

    def matches(self, check, operation, response, sent, parameters):
        return (
            check == self.check
            and re.search(self.message, response.get("message", "")) is not None
            and re.search(self.operation, operation) is not None
            and (self.value is None or any(self.value(name, value) for name, value in values(sent)))
            and (self.parameter is None or any(self.parameter(value) for value in parameters))
            and (self.response is None or self.response(response))
        )


def values(sent, name=None):
    """Yields every value in a query or a body with the name of its field."""
    yield name, sent
    if isinstance(sent, dict):
        for field, value in sent.items():
            yield from values(value, field)
    elif isinstance(sent, list):
        for item in sent:
            yield from values(item, name)


def positive(name, message, operation="", parameter=None):
    return NamedException(name, POSITIVE, message, operation, parameter=parameter)


def negative(name, operation, value=None, response=None):
    return NamedException(name, NEGATIVE, operation=operation, value=value, response=response)


def is_php_list(name, value):
    is_list = isinstance(value, dict) and all(key.lstrip("+").isdigit() for key in value)
    return name in ("to", "cc", "bcc", "reply_to") and is_list


def is_cleared(name, value):
    return name in CLEARED and value == ""


def is_empty_php_map(name, value):
    return name in MAPS and value == []


IDS = ("audience_id", "segment_id")
# The fields of templates and drafts that an empty text clears.
CLEARED = ("alias", "subject", "name", "html", "text", "preview_text")
# The fields that hold a map.
MAPS = ("headers", "properties", "variables")
METRICS = r"^GET /emails/metrics"
# The parameters of metrics with a list. An empty item counts as absent.
METRIC_LISTS = ("metrics", "dimensions", "domain_id", "email_id", "broadcast_id")
GUARD_ADVICE = "use a host that the Internet can reach"
EXCEPTIONS = [
    # Stored data.
    positive("a cursor is an item of the list", r"^Invalid cursor\."),
    positive("a status that permits no change", r"is not scheduled: its status is"),
    positive("a disabled endpoint", r"^The webhook endpoint is disabled"),
    positive("an endpoint without the type", r"^The webhook endpoint is not subscribed to"),
    positive("a payload that retention deleted", r"^The payload of this event has been deleted"),
    positive("suppressed recipients", r"^(emails\.\d+: )?All recipients are suppressed$"),
    positive("a limit of rows of a team", r"^A team has at most \d+ "),
    positive("the type of a contact property", r"the property is a number|is a number"),
    positive("the address of a contact", r"^Invalid `email` field: the address of a contact does not change"),
    positive(
        "a template without a published version", r"^(emails\.\d+: )?Invalid `template` field: the template is not",
    ),
    positive("a variable without a value", r"^(emails\.\d+: )?Invalid `template` field: the variable"),
    positive("a template without a subject", r"^(emails\.\d+: )?Missing `subject` field\. The template has no subject"),
    positive("a draft without content", r"`html`|content", r"^POST /broadcasts"),
    positive("an absent id in a response before", r"must be a valid UUID", parameter=lambda it: it in (None, "None")),
    # Settings.
    positive("a region of the settings", r"^Invalid `region` field: this server offers"),
    positive("tracking without a public URL", r"^Tracking cannot be enabled"),
    positive("a link without a public URL", r"recipients cannot open http"),
    positive("a customer URL that the address guard rejects", rf"^Invalid `endpoint` field: .*; {GUARD_ADVICE}\.$"),
    positive("a customer URL whose host is no domain", r"^Invalid `endpoint` field: the URL's host is not accepted"),
    # The clock.
    positive("a time from now to 30 days ahead", r"`scheduled_at` field: the time|`scheduled_at` field: .*30 days"),
    # Several fields at once.
    positive("two cursors", r"^Use either `after` or `before`, not both at once\."),
    positive("a wait with a cursor", r"^Use `wait` without `after`: the messages after an item are older\."),
    positive("two names of one parameter", r"^Use either `segment_id` or `audience_id`: they name different"),
    positive("content beside a template", r"^(emails\.\d+: )?Invalid `template` field: (it takes the place|give either)"),
    # Times and the names of time zones are texts, and some dimensions need or exclude others.
    positive("a time of metrics", r"^The `(start_date|end_date|timezone)` |^The range (from|has more)", METRICS),
    positive("dimensions of metrics", r"^The `email` dimension ", METRICS),
    positive("a time without `send`", r"`scheduled_at`.*`send|`send`.*`scheduled_at`", r"^POST /broadcasts$"),
    positive("a bounce type without bounces", r"`bounce_type`", r"/recipients$"),
    positive("the number of all recipients", r"together hold \d+ recipients"),
    positive("a tag or header given twice", r"is given twice|is used twice|duplicate"),
    positive("properties that differ only in letter case", r"duplicate property"),
    positive("the unsubscribe pair", r"^(emails\.\d+: )?Invalid `headers` field: List-Unsubscribe"),
    positive("the value of a header", r"^(emails\.\d+: )?Invalid `headers` field: the value of"),
    positive("the labels of a domain", r"^Invalid `tracking_subdomain` field: it is the label of the return path"),
    positive("a fallback of the type of its property", r"^Invalid `fallback_value` field"),
    positive("an address repeated in a batch", r"repeats|is repeated|appears twice"),
    # The mode of the request: the response lists the invalid items.
    negative("an invalid item of a permissive batch", r"^POST /\w+/batch$", response=lambda it: bool(it.get("errors"))),
    # Forms that official clients send.
    negative("a list that PHP encodes as an object", r"^POST /emails", is_php_list),
    negative("an empty map that PHP encodes as a list", r"^(POST|PATCH) ", is_empty_php_map),
    negative("an absent id as an empty text", r"/contacts", lambda name, value: name in IDS and value == ""),
    negative(
        "no time as an empty text", r"^POST /broadcasts", lambda name, value: name == "scheduled_at" and value == "",
    ),
    negative(
        "an absent subject as an empty text", r"^POST /emails", lambda name, value: name == "subject" and value == "",
    ),
    negative("a field that an empty text clears", r"/(templates|broadcasts)", is_cleared),
    negative("an empty list of metrics", METRICS, lambda name, value: name in METRIC_LISTS and not value),
]


def find(check, case, response):
    """Returns the name of the exception that applies to a finding; `None` if no exception applies."""
    operation = f"{case.method.upper()} {case.path}"
    try:
        decoded = response.json()
    except ValueError:
        decoded = {}
    parameters = list((case.path_parameters or {}).values())
    sent = [case.query if isinstance(case.query, dict) else {}, case.body]
    for exception in EXCEPTIONS:
        if exception.matches(check, operation, decoded, sent, parameters):
            return exception.name
    return None
