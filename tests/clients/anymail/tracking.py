"""Anymail's tracking view as the endpoint of a webhook: its normalized events, and its check of signatures."""

from datetime import datetime, timedelta, timezone

from anymail.signals import EventType, RejectReason
from django.conf import settings

from check import api, assert_equal, assert_matches, until
from sending import message, send


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


def samples(suite, receiver, endpoint):
    """Checks opens and clicks with sample events, because no person reads the emails of the suite."""

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
