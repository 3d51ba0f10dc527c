"""Webhook endpoints with given secrets and overlaps, and the usage."""

import base64
from datetime import datetime, timezone

from check import TIMESTAMP, UNKNOWN_ID, UUID, assert_equal, assert_matches

# The suite causes no open and no click, so this endpoint gets no delivery.
ENDPOINT = "https://hooks.example.com/millionsend-python"
EVENTS = ["email.opened", "email.clicked"]


def secret_of(size):
    return "whsec_" + base64.b64encode(bytes(range(size))).decode()


def endpoints(suite):
    own = secret_of(32)
    made = []

    def create():
        response = suite.data("Webhooks.create", {"endpoint": ENDPOINT, "events": EVENTS, "signing_secret": own})
        assert_equal((response.object, response.signing_secret), ("webhook", own))
        assert_matches(UUID, response.id)
        for secret in (secret_of(23), secret_of(65), "whsec_", "not a secret", own[:-1]):
            webhook = {"endpoint": ENDPOINT, "events": EVENTS, "signing_secret": secret}
            refusal = suite.refused(422, "validation_error", "Webhooks.create", webhook)
            assert_equal(refusal.message, "signing_secret must be whsec_ followed by base64 of 24-64 bytes")
        made.append(response.id)

    suite.check("Webhooks.create", "a given secret of 24 to 64 bytes", create)
    if not made:
        return
    webhook = made[0]

    def read():
        row = suite.data("Webhooks.get", webhook)
        assert_equal((row.object, row.id, row.endpoint, row.status), ("webhook", webhook, ENDPOINT, "enabled"))
        assert_equal((sorted(row.events), row.signing_secret), (sorted(EVENTS), own))
        assert_matches(TIMESTAMP, row.created_at)
        assert_equal(row.previous_secret_expires_at, None)
        suite.refused(404, "not_found", "Webhooks.get", UNKNOWN_ID)

    def listed():
        other = suite.data("Webhooks.create", {"endpoint": ENDPOINT, "events": EVENTS}).id
        page = suite.data("Webhooks.list", limit=2)
        assert_equal([row.id for row in page.data], [other, webhook])
        assert all("signing_secret" not in row for row in page.data), page
        assert_equal(suite.data("Webhooks.list", limit=1, after=other).data[0].id, webhook)
        assert_equal(suite.data("Webhooks.list", limit=1, before=webhook).data[0].id, other)
        suite.data("Webhooks.remove", other)

    def update():
        # The compatible API does not have this type.
        changes = {"endpoint": f"{ENDPOINT}/moved", "events": ["contact.unsubscribed"], "status": "disabled"}
        assert_equal(suite.data("Webhooks.update", {"webhook_id": webhook, **changes}).id, webhook)
        row = suite.data("Webhooks.get", webhook)
        assert_equal({name: row[name] for name in changes}, changes)

    def rotate():
        for options, hours in ((None, 24), ({"overlap_hours": 72}, 72), ({"overlap_hours": 1}, 1)):
            before = suite.data("Webhooks.get", webhook).signing_secret
            response = suite.data("Webhooks.rotate", webhook, *([options] if options else []))
            assert response.signing_secret != before
            assert_equal((response.object, response.id), ("webhook", webhook))
            row = suite.data("Webhooks.get", webhook)
            assert_equal(row.signing_secret, response.signing_secret)
            assert_equal(row.previous_secret_expires_at, response.previous_secret_expires_at)
            expires = datetime.fromisoformat(response.previous_secret_expires_at.replace("Z", "+00:00"))
            left = (expires - datetime.now(timezone.utc)).total_seconds() / 3600
            assert hours - 0.1 < left <= hours, left
        for hours in (-1, 73):
            suite.refused(422, "validation_error", "Webhooks.rotate", webhook, {"overlap_hours": hours})
        suite.refused(404, "not_found", "Webhooks.rotate", UNKNOWN_ID)

    def drop():
        new = secret_of(64)
        response = suite.data("Webhooks.rotate", webhook, {"overlap_hours": 0, "signing_secret": new})
        assert_equal((response.signing_secret, response.previous_secret_expires_at), (new, None))
        row = suite.data("Webhooks.get", webhook)
        assert_equal((row.signing_secret, row.previous_secret_expires_at), (new, None))

    def remove():
        response = suite.data("Webhooks.remove", webhook)
        assert_equal(response, {"object": "webhook", "id": webhook, "deleted": True})
        suite.refused(404, "not_found", "Webhooks.get", webhook)

    suite.check("Webhooks.get", "every field; an unknown id is 404", read)
    suite.check("Webhooks.list", "newest first without secrets, limit and cursors", listed)
    suite.check("Webhooks.update", "URL, types and status", update)
    suite.check("Webhooks.rotate", "with an overlap of up to three days; other values are 422", rotate)
    suite.check("Webhooks.rotate", "without an overlap, to a given secret", drop)
    suite.check("Webhooks.remove", "removed, then 404", remove)


def usage(suite):
    def counted():
        row = suite.data("Usage.get")
        assert_equal((row.object, row.cloud, row.plan, row.limits, row.period), ("usage", False, None, None, None))
        assert_matches(UUID, row.team.id)
        assert_matches(r"T00:00:00\.000Z$", row.today.resets_at)
        assert isinstance(row.today.emails_sent, int)
        assert_matches(r"^http://127\.0\.0\.1:\d+/dashboard/$", row.app_url)

    suite.check("Usage.get", "a self-hosted instance: no plan, no limits, no period", counted)
