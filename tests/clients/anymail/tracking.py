"""Anymail's tracking view as the endpoint of a webhook: its normalized events, and its check of signatures."""

import contextlib
import re
from datetime import datetime, timedelta, timezone

import requests
from anymail.signals import EventType, RejectReason
from django.conf import settings

from check import api, assert_equal, assert_fields, assert_matches, email, until
from sending import message, send

DESTINATION = "https://shop.example.com/order?number=42&item=1"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def events(suite, receiver):
    def normalized(to, expected):
        """Sends to a simulated recipient, and returns the last of the expected events."""
        sent = message(to, tags=["suite", "Début"], metadata={"order": 42})
        sent.to = [f"Zoë <{to}>"]
        started = datetime.now(timezone.utc)
        sent_id = send(sent)
        seen = until(lambda: receiver.of(sent_id), lambda events: types_of(events) >= set(expected))
        assert_equal(sorted(event.event_type for event in seen), sorted(expected))
        assert_equal(len({event.event_id for event in seen}), len(seen))
        for event in seen:
            assert_matches("^msg_", event.event_id)
            assert_equal((event.recipient, event.tags, event.metadata), (to, ["suite", "Début"], {"order": 42}))
            assert timedelta(seconds=-1) < event.timestamp - started < timedelta(minutes=1), event.timestamp
        return next(event for event in seen if event.event_type == expected[-1])

    sent, delivered = EventType.SENT, EventType.DELIVERED
    for to, *expected in (
        ("one@example.net", sent, delivered),
        ("delayed@resend.dev", sent, EventType.DEFERRED),
        ("complained@resend.dev", sent, delivered, EventType.COMPLAINED),
    ):
        suite.check("tracking", f"{to}: {', '.join(expected)}", normalized, to, expected)

    def bounced():
        event = normalized("bounced@resend.dev", [sent, EventType.BOUNCED])
        assert_equal(event.description, event.esp_event["data"]["bounce"]["message"])
        assert_equal(event.reject_reason, RejectReason.BOUNCED)

    def unknown():
        sent_id = send(message("later", send_at="in 1 hour"))
        (event,) = until(lambda: receiver.of(sent_id), bool)
        assert_equal((event.event_type, event.esp_event["type"]), (EventType.UNKNOWN, "email.scheduled"))

    suite.check("tracking", "bounced@resend.dev: sent, bounced, with its reason", bounced)
    suite.check("tracking", "a type that Anymail does not know is unknown", unknown)
    suite.check("tracking", "the view accepted every request", lambda: assert_equal(set(receiver.statuses), {200}))


def hits(suite, receiver):
    """Requests the pixel and the link of a captured message as a browser does, with tracking of the domain."""

    def opened_and_clicked():
        reader = "reader@example.net"
        sent = message("tracked", tags=["suite"], metadata={"order": 42})
        sent.to = [f"Zoë <{reader}>"]
        sent.attach_alternative(f'<p><a href="{DESTINATION.replace("&", "&amp;")}">Your order</a></p>', "text/html")
        with tracked("example.com"):
            sent_id = send(sent)
            pixel, link = tracked_urls(reader)
        event_after(sent_id, EventType.DELIVERED)

        image = hit(pixel)
        assert_equal((image.status_code, image.headers["Content-Type"]), (200, "image/gif"))
        opened = event_after(sent_id, EventType.OPENED)
        assert_fields(opened.esp_event["data"]["open"], ipAddress="127.0.0.1", userAgent=BROWSER)

        redirect = hit(link)
        assert_equal((redirect.status_code, redirect.headers["Location"]), (302, DESTINATION))
        clicked = event_after(sent_id, EventType.CLICKED)
        assert_equal((clicked.click_url, clicked.user_agent), (DESTINATION, BROWSER))

        for event in (opened, clicked):
            assert_equal((event.recipient, event.tags, event.metadata), (reader, ["suite"], {"order": 42}))
        assert_equal(email(sent_id)["last_event"], "clicked")
        types = sorted(event.event_type for event in receiver.of(sent_id))
        expected = (EventType.SENT, EventType.DELIVERED, EventType.OPENED, EventType.CLICKED)
        assert_equal(types, sorted(expected))

    def event_after(sent_id, kind):
        """Waits for an event of an email, and returns it."""
        seen = until(lambda: receiver.of(sent_id), lambda events: kind in types_of(events))
        return next(event for event in seen if event.event_type == kind)

    suite.check("tracking", "a pixel and a link of a message are opened, then clicked", opened_and_clicked)


@contextlib.contextmanager
def tracked(name):
    """Switches tracking of a domain on for a block."""
    domain = next(row["id"] for row in api("GET", "/domains")["data"] if row["name"] == name)
    api("PATCH", f"/domains/{domain}", {"open_tracking": True, "click_tracking": True})
    try:
        yield
    finally:
        api("PATCH", f"/domains/{domain}", {"open_tracking": False, "click_tracking": False})


def tracked_urls(recipient):
    """Returns the URLs of the pixel and of the link in the message that a recipient has received."""
    (row,) = api("GET", f"/captured?to={recipient}&wait=30s")["data"]
    html = api("GET", f"/captured/{row['id']}")["html"]
    return (re.search(rf'"(http[^"]+/t/{kind}/[^"]+)"', html)[1] for kind in "oc")


def hit(url):
    """Requests a URL as a browser without cookies, and follows no redirect."""
    return requests.get(url, headers={"User-Agent": BROWSER}, allow_redirects=False, timeout=60)


def samples(suite, receiver, endpoint):
    """Requests samples of events from the API: Anymail reads them as it reads the events of emails."""

    def sample(kind, expected):
        sent = api("POST", f"/webhooks/{endpoint.id}/test", {"type": kind})
        event = until(lambda: [event for event in receiver.events if event.event_id == f"msg_{sent['id']}"], bool)[0]
        assert_equal(event.event_type, expected)
        assert event.message_id and event.recipient and event.timestamp, vars(event)
        return event

    def clicked():
        event = sample("email.clicked", EventType.CLICKED)
        click = event.esp_event["data"]["click"]
        assert_equal((event.click_url, event.user_agent), (click["link"], click["userAgent"]))

    suite.check("tracking", "a sample of email.opened is opened", sample, "email.opened", EventType.OPENED)
    suite.check("tracking", "a sample of email.clicked is clicked, with its link and its user agent", clicked)


def signatures(suite, receiver, endpoint):
    def other_secret():
        settings.ANYMAIL["RESEND_SIGNING_SECRET"] = "whsec_" + "A" * 32
        sent_id = send(message("refused"))
        until(lambda: 400 in receiver.statuses, bool)
        attempts = until(endpoint.oldest_attempts, bool)
        assert_equal((attempts[0]["http_status_code"], receiver.of(sent_id)), (400, []))

    def rotated():
        settings.ANYMAIL["RESEND_SIGNING_SECRET"] = endpoint.secret
        rotated = api("POST", f"/webhooks/{endpoint.id}/rotate", {})
        for secret in (endpoint.secret, rotated["signing_secret"]):
            settings.ANYMAIL["RESEND_SIGNING_SECRET"] = secret
            sent_id = send(message("overlap"))
            until(lambda: types_of(receiver.of(sent_id)), lambda types: types == {EventType.SENT, EventType.DELIVERED})

    suite.check("tracking", "a request that is signed with another secret is refused, and stays pending", other_secret)
    suite.check("tracking", "after a rotation, both secrets are valid", rotated)


def types_of(events):
    return {event.event_type for event in events}
