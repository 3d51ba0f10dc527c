"""Verifies delivered events with each library that customers use."""

import base64
import hashlib
import hmac
import re
import time
from importlib.metadata import version

import resend
import standardwebhooks
import svix.webhooks

from check import NAME, Suite, assert_equal, assert_matches, in_hours
from receiver import Delivery, Receiver, types_of

FAILING = "python.failing.example"  # The suite deletes this domain, which fails its pending email.

# All types of events that the suite can cause.
TYPES = (
    "email.scheduled email.sent email.delivered email.delivery_delayed email.bounced email.complained email.failed "
    "contact.created contact.updated contact.deleted contact.unsubscribed contact.resubscribed contact.topic_opt_in "
    "contact.topic_opt_out suppression.added suppression.removed"
).split()


def run(suite):
    # No verifier is asynchronous, and the domain can be deleted only once.
    if not suite.suffix:
        with Receiver() as receiver:
            matrix = Matrix(suite)
            verification(suite, receiver, matrix)
            matrix.print()


def verification(suite, receiver, matrix):
    made = suite.data("webhooks.create", {"endpoint": receiver.url("/verified"), "events": TYPES})
    webhook, first = made["id"], made["signing_secret"]
    cause_events(suite)
    deliveries = receiver.until("/verified", lambda seen: types_of(seen) == set(TYPES))

    def headers():
        for delivery in deliveries:
            for name in ("id", "timestamp", "signature"):
                assert_equal(delivery.headers[f"svix-{name}"], delivery.headers[f"webhook-{name}"])
            assert_matches(r"^v1,[A-Za-z0-9+/]{43}=$", delivery.headers["webhook-signature"])
            assert_equal(sorted(delivery.event), ["created_at", "data", "type"])

    suite.check("webhooks.create", "both sets of headers are equal; the body has three fields", headers)

    def every_type(verify):
        for delivery in deliveries:
            verify(delivery, first)

    matrix.column(f"{len(TYPES)} types", every_type)

    def latest(name):
        seen = len(receiver.at("/verified"))
        email = f"python-verify-{name}@suppressed.example.net"
        suite.data("suppressions.add", {"email": email})
        is_it = lambda delivery: delivery.event["data"]["email"] == email  # noqa: E731
        receiver.until("/verified", lambda all: any(is_it(delivery) for delivery in all[seen:]))
        suite.data("suppressions.remove", email)
        return next(delivery for delivery in receiver.at("/verified")[seen:] if is_it(delivery))

    second = suite.data("webhooks.rotate_signing_secret", webhook)["signing_secret"]
    both = latest("overlap")
    matrix.column("old secret in the overlap", lambda verify: verify(both, first))
    matrix.column("new secret in the overlap", lambda verify: verify(both, second))

    def two_signatures():
        signed = [signature(secret, both.headers["svix-timestamp"], both) for secret in (second, first)]
        assert_equal(both.headers["svix-signature"], " ".join(signed))

    suite.check("webhooks.rotate_signing_secret", "two signatures, the new one first", two_signatures)

    # The method of the SDK has no parameters.
    rotate = resend.request.Request(path=f"/webhooks/{webhook}/rotate", params={"overlap_hours": 0}, verb="post")
    dropped = rotate.perform_with_content()
    assert_equal(dropped["previous_secret_expires_at"], None)
    third = dropped["signing_secret"]
    last = latest("dropped")
    matrix.column("new secret after it", lambda verify: verify(last, third))
    matrix.column("no old secret after it", lambda verify: refused(verify, "signature", last, second, first))

    def altered(verify):
        for body in (last.body + " ", last.body.replace("python-verify", "else-verify")):
            refused(verify, "signature", Delivery(last.path, last.headers, body), third)

    def stale(verify):
        verify(resigned(last, third, 0), third)
        for seconds in (-600, 600):
            refused(verify, "timestamp", resigned(last, third, seconds), third)

    matrix.column("no altered body", altered)
    wrong = "whsec_" + base64.b64encode(bytes(24)).decode()
    matrix.column("no wrong secret", lambda verify: refused(verify, "signature", last, wrong))
    matrix.column("no stale timestamp", stale)
    suite.data("webhooks.remove", webhook)


def cause_events(suite):
    """Causes an event of each type."""
    message = {
        "from": "sender@example.com",
        "to": "one@example.net",
        "subject": "Zoë’s “order” ✓ </script>",
        "text": "hello",
        "tags": [{"name": "suite", "value": "python"}],
    }
    for name in ("delivered", "bounced", "complained", "delayed"):
        suite.data("emails.send", {**message, "to": f"{name}@resend.dev"})
    waiting = suite.data("emails.send", {**message, "scheduled_at": in_hours(1)})
    suite.data("emails.cancel", waiting["id"])
    domains = suite.data("domains.list", {"limit": 100})["data"]
    failing = next(row["id"] for row in domains if row["name"] == FAILING)
    suite.data("emails.send", {**message, "from": f"sender@{FAILING}", "scheduled_at": in_hours(1 / 3600)})
    suite.data("domains.remove", failing)

    topic = suite.data("topics.create", {"name": "Python webhooks", "default_subscription": "opt_in"})["id"]
    email = "python-verify@customer.example.net"
    suite.data("contacts.create", {"email": email, "first_name": "Zoë"})
    for choice in ("opt_out", "opt_in"):
        topics = [{"id": topic, "subscription": choice}]
        suite.data("contacts.Topics.update", {"email": email, "topics": topics})
    for unsubscribed in (True, False):
        suite.data("contacts.update", {"email": email, "unsubscribed": unsubscribed})
    suite.data("contacts.remove", email=email)
    suite.data("topics.remove", topic)
    suite.data("suppressions.add", {"email": email})
    suite.data("suppressions.remove", email)


class Matrix:
    """Table of the results: a row for each library, a column for each property."""

    def __init__(self, suite):
        self.suite = suite
        self.columns = []
        self.rows = {name: [] for name in LIBRARIES}

    def column(self, note, body):
        self.columns.append(note)
        for name, verify in LIBRARIES.items():
            failed = Suite.failed
            self.suite.check("webhooks.verify", f"{name}: {note}", lambda verify=verify: body(verify))
            self.rows[name].append("yes" if Suite.failed == failed else "NO")

    def print(self):
        for name, cells in (("verifier", self.columns), *self.rows.items()):
            print(f"client {NAME}: matrix | {' | '.join((name, *cells))} |", flush=True)


def only(delivery, family):
    return {name: value for name, value in delivery.headers.items() if name.startswith(family)}


def with_standardwebhooks(delivery, secret):
    response = standardwebhooks.Webhook(secret).verify(delivery.body, only(delivery, "webhook-"))
    assert_equal(response, delivery.event)


def with_svix(delivery, secret):
    svix.webhooks.Webhook(secret).verify(delivery.body, only(delivery, "svix-"))


def with_resend(delivery, secret):
    Suite.called.add("webhooks.verify")
    headers = {name: delivery.headers[f"svix-{name}"] for name in ("id", "timestamp", "signature")}
    options = {"payload": delivery.body, "headers": headers, "webhook_secret": secret}
    assert_equal(resend.Webhooks.verify(options), delivery.event)


LIBRARIES = {
    f"standardwebhooks {version('standardwebhooks')}": with_standardwebhooks,
    f"svix {version('svix')}": with_svix,
    "resend Webhooks.verify": with_resend,
}


def refused(verify, about, delivery, *secrets):
    for secret in secrets:
        try:
            verify(delivery, secret)
        except Exception as error:
            assert re.search(about, str(error), re.IGNORECASE), f"refused for another reason: {error!r}"
        else:
            raise AssertionError("accepted")


def signature(secret, timestamp, delivery):
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{delivery.headers['svix-id']}.{timestamp}.{delivery.body}"
    return "v1," + base64.b64encode(hmac.new(key, content.encode(), hashlib.sha256).digest()).decode()


def resigned(delivery, secret, seconds):
    """Returns the delivery with a timestamp `seconds` from now and a matching signature."""
    timestamp = str(int(time.time()) + seconds)
    signed = {"timestamp": timestamp, "signature": signature(secret, timestamp, delivery)}
    families = ("svix", "webhook")
    changed = {f"{family}-{name}": value for family in families for name, value in signed.items()}
    return Delivery(delivery.path, {**delivery.headers, **changed}, delivery.body)
