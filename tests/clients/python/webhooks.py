from datetime import datetime, timezone

from check import TIMESTAMP, UNKNOWN_ID, UUID, assert_equal, assert_matches, instant_of
from receiver import Receiver, types_of

SECRET = r"^whsec_[A-Za-z0-9+/]+={0,2}$"
# The suite causes no open and no click, so this endpoint gets no delivery.
ENDPOINT = "https://hooks.example.com/python"
EVENTS = ["email.opened", "email.clicked"]


def run(suite):
    endpoints(suite)
    with Receiver() as receiver:
        deliveries(suite, receiver)
        failures(suite, receiver)


def endpoints(suite):
    made = []

    def create():
        row = suite.data("webhooks.create", {"endpoint": ENDPOINT, "events": EVENTS})
        assert_equal(row["object"], "webhook")
        assert_matches(UUID, row["id"])
        assert_matches(SECRET, row["signing_secret"])
        suite.refused(422, "missing_required_field", "webhooks.create", {"events": EVENTS})
        suite.refused(422, "missing_required_field", "webhooks.create", {"endpoint": ENDPOINT})
        suite.refused(422, "validation_error", "webhooks.create", {"endpoint": ENDPOINT, "events": ["email.imagined"]})
        for endpoint in ("not a url", "ftp://hooks.example.com/"):
            suite.refused(422, "validation_error", "webhooks.create", {"endpoint": endpoint, "events": EVENTS})
        made.append(row)

    suite.check("webhooks.create", "an endpoint with its secret; invalid fields are 422", create)
    if not made:
        return
    webhook, secret = made[0]["id"], made[0]["signing_secret"]
    unsupported = {"endpoint": ENDPOINT, "events": ["domain.created", "email.received"]}
    note = "types that the server does not emit"
    suite.must_fail(422, "validation_error", note, "webhooks.create", unsupported)
    suite.must_fail(422, "validation_error", note, "webhooks.update", {"webhook_id": webhook, **unsupported})

    def read():
        row = suite.data("webhooks.get", webhook)
        assert_matches(TIMESTAMP, row.pop("created_at"))
        assert_equal(sorted(row.pop("events")), sorted(EVENTS))
        expected = {"object": "webhook", "id": webhook, "endpoint": ENDPOINT, "status": "enabled"}
        assert_equal(row, {**expected, "signing_secret": secret, "previous_secret_expires_at": None})
        assert_equal(suite.refused(404, "not_found", "webhooks.get", UNKNOWN_ID).message, "Webhook endpoint not found")

    def listed():
        other = suite.data("webhooks.create", {"endpoint": f"{ENDPOINT}/other", "events": EVENTS})["id"]
        page = suite.data("webhooks.list")
        assert_equal((page["object"], [row["id"] for row in page["data"][:2]]), ("list", [other, webhook]))
        assert "whsec_" not in str(page), page
        assert_equal(suite.data("webhooks.list", {"limit": 1, "after": other})["data"][0]["id"], webhook)
        assert_equal(suite.data("webhooks.list", {"limit": 1, "before": webhook})["data"][0]["id"], other)
        suite.data("webhooks.remove", other)

    def update():
        for changes in ({"endpoint": f"{ENDPOINT}/moved"}, {"events": ["email.clicked"]}, {"status": "disabled"}):
            response = suite.data("webhooks.update", {"webhook_id": webhook, **changes})
            assert_equal(response, {"object": "webhook", "id": webhook})
            row = suite.data("webhooks.get", webhook)
            assert_equal({name: row[name] for name in changes}, changes)
        suite.refused(422, "validation_error", "webhooks.update", {"webhook_id": webhook, "status": "asleep"})
        suite.refused(404, "not_found", "webhooks.update", {"webhook_id": UNKNOWN_ID, "status": "enabled"})

    def rotate():
        response = suite.data("webhooks.rotate_signing_secret", webhook)
        assert_equal((response["object"], response["id"]), ("webhook", webhook))
        assert_matches(SECRET, response["signing_secret"])
        assert response["signing_secret"] != secret
        row = suite.data("webhooks.get", webhook)
        assert_equal(row["signing_secret"], response["signing_secret"])
        left = instant_of(row["previous_secret_expires_at"]) - datetime.now(timezone.utc)
        assert 23.9 < left.total_seconds() / 3600 <= 24, left
        suite.refused(404, "not_found", "webhooks.rotate_signing_secret", UNKNOWN_ID)

    def remove():
        response = suite.data("webhooks.remove", webhook)
        assert_equal(response, {"object": "webhook", "id": webhook, "deleted": True})
        suite.refused(404, "not_found", "webhooks.get", webhook)
        suite.refused(404, "not_found", "webhooks.remove", webhook)

    suite.check("webhooks.get", "every field with the secret; an unknown id is 404", read)
    suite.check("webhooks.list", "newest first without secrets, limit and cursors", listed)
    suite.check("webhooks.update", "URL, types and status, each separately", update)
    suite.check("webhooks.rotate_signing_secret", "a new secret; the previous one signs for another day", rotate)
    suite.check("webhooks.remove", "removed, then 404", remove)


def deliveries(suite, receiver):
    types = ["contact.created", "contact.deleted"]
    webhook = suite.data("webhooks.create", {"endpoint": receiver.url("/events"), "events": types})["id"]
    email = f"python-{suite.label}-webhooks@customer.example.net"
    suite.data("contacts.create", {"email": email, "first_name": "Zoë"})
    suite.data("contacts.remove", email=email)
    rows = []
    received = []

    def listed():
        received.extend(receiver.until("/events", lambda deliveries: types_of(deliveries) == set(types)))

        def succeeded(page):
            return all(row["status"] == "success" for row in page["data"])

        page = suite.until(lambda: suite.data("webhooks.list_events", webhook), succeeded)
        assert_equal((page["object"], page["has_more"]), ("list", False))
        assert_equal([row["type"] for row in page["data"]], ["contact.deleted", "contact.created"])
        assert_matches(TIMESTAMP, page["data"][0]["created_at"])
        ids = [row["id"] for row in page["data"]]
        assert_equal(set(ids), {delivery.id for delivery in received})
        first = suite.data("webhooks.list_events", webhook, {"limit": 1})
        assert_equal((first["has_more"], first["data"][0]["id"]), (True, ids[0]))
        second = suite.data("webhooks.list_events", webhook, {"limit": 1, "after": ids[0]})
        assert_equal((second["has_more"], second["data"][0]["id"]), (False, ids[1]))
        suite.refused(404, "not_found", "webhooks.list_events", UNKNOWN_ID)
        rows.extend(ids)

    suite.check("webhooks.list_events", "the deliveries, newest first, limit and after", listed)
    if not rows:
        return
    event = rows[1]

    def read():
        row = suite.data("webhooks.get_event", webhook, event)
        assert_matches(TIMESTAMP, row.pop("created_at"))
        delivered = next(delivery.event for delivery in received if delivery.id == event)
        expected = {"object": "webhook_event", "id": event, "type": "contact.created", "status": "success"}
        assert_equal(row, {**expected, "next_attempt_at": None, "payload": delivered})
        suite.refused(404, "not_found", "webhooks.get_event", webhook, UNKNOWN_ID)

    def replay():
        response = suite.data("webhooks.replay_event", webhook, event)
        assert_equal(response, {"object": "webhook_event", "id": event})

        def copies(deliveries):
            return [delivery.body for delivery in deliveries if delivery.id == event]

        again = receiver.until("/events", lambda deliveries: len(copies(deliveries)) == 2)
        assert_equal(len(set(copies(again))), 1)
        suite.refused(404, "not_found", "webhooks.replay_event", webhook, UNKNOWN_ID)

    def attempts():
        read = lambda: suite.data("webhooks.list_event_attempts", webhook, event)  # noqa: E731
        page = suite.until(read, lambda page: len(page["data"]) == 2)
        assert_equal([(row["http_status_code"], row["response"]) for row in page["data"]], [(200, "received")] * 2)
        newest, oldest = page["data"]
        assert newest["sent_at"] >= oldest["sent_at"]
        assert_matches(TIMESTAMP, newest["sent_at"])
        first = suite.data("webhooks.list_event_attempts", webhook, event, {"limit": 1})
        assert_equal((first["has_more"], first["data"][0]["id"]), (True, newest["id"]))
        second = suite.data("webhooks.list_event_attempts", webhook, event, {"limit": 1, "after": newest["id"]})
        assert_equal((second["has_more"], second["data"][0]["id"]), (False, oldest["id"]))

    suite.check("webhooks.get_event", "one event with the delivered body", read)
    suite.check("webhooks.replay_event", "delivered again under the same id", replay)
    note = "the attempts with their responses, newest first, limit and after"
    suite.check("webhooks.list_event_attempts", note, attempts)
    suite.data("webhooks.remove", webhook)


def failures(suite, receiver):
    """Checks an endpoint that responds with an error, and one that does not respond."""
    receiver.responses["/broken"] = (500, "out of order")
    with Receiver() as closed:
        nowhere = closed.url("/nowhere")
    for endpoint, status, response in ((receiver.url("/broken"), 500, r"^out of order$"), (nowhere, 0, r".")):

        def retried():
            webhook = suite.data("webhooks.create", {"endpoint": endpoint, "events": ["suppression.added"]})["id"]
            email = f"python-{suite.label}-webhooks-{status}@suppressed.example.net"
            suite.data("suppressions.add", {"email": email})
            events = suite.until(lambda: suite.data("webhooks.list_events", webhook)["data"], bool)
            event = events[0]["id"]
            attempts = suite.until(lambda: suite.data("webhooks.list_event_attempts", webhook, event)["data"], bool)
            assert_equal(attempts[-1]["http_status_code"], status)
            assert_matches(response, attempts[-1]["response"])
            row = suite.data("webhooks.get_event", webhook, event)
            assert row["status"] in ("pending", "attempting"), row
            suite.data("webhooks.remove", webhook)
            suite.data("suppressions.remove", email)

        suite.check("webhooks.list_event_attempts", f"a response of {status} is shown and retried", retried)
