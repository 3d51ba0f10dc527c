"""Broadcasts: drafts, sends to the members of a segment, and their recipients."""

from check import TIMESTAMP, UNKNOWN_ID, UUID, assert_equal, assert_matches, in_hours, with_key

FROM = "Example Sender <sender@example.com>"
ONLY_WAITING = "Only queued or scheduled broadcasts can be canceled"
HTML = '<p>Hello {{{FIRST_NAME|there}}}, <a href="{{{UNSUBSCRIBE_URL}}}">unsubscribe</a></p>'


def run(suite):
    segment = audience(suite)
    draft = {
        "name": "Python news",
        "segment_id": segment,
        "from": FROM,
        "subject": "News for {{{FIRST_NAME|you}}}",
        "html": HTML,
    }
    drafts(suite, draft)
    refusals(suite, draft)
    sending(suite, draft)
    canceling(suite, draft)
    references(suite, draft)


def address(suite, name):
    return f"python-{suite.label}-{name}@broadcast.example.net"


def bounced(suite):
    return f"bounced+python-{suite.label}@ringmail.test"


def audience(suite):
    """Creates a segment with three contacts who receive a broadcast, and one who does not. Returns its id."""
    segment = suite.data("segments.create", {"name": "Python broadcasts"})["id"]
    for person in (
        {"email": address(suite, "ada"), "first_name": "Ada <3"},
        {"email": address(suite, "bob")},
        {"email": bounced(suite), "first_name": "Bounce"},
        {"email": address(suite, "gone"), "unsubscribed": True},
    ):
        suite.data("contacts.create", {**person, "segments": [{"id": segment}]})
    return segment


def drafts(suite, draft):
    segment, created = draft["segment_id"], {}

    def create():
        fields = {"reply_to": "reply@example.com", "preview_text": "Preview", "topic_id": None}
        created.update(suite.data("broadcasts.create", {**draft, **fields}))
        assert_matches(UUID, created["id"])
        expected = {"object": "broadcast", "id": created["id"], "finishes_at": None, "estimated": True}
        assert_equal(created, expected)

    suite.check("broadcasts.create", "a draft, without an estimate", create)
    if not created:
        return
    broadcast = created["id"]

    def read():
        row = suite.data("broadcasts.get", broadcast)
        assert_matches(TIMESTAMP, row.pop("created_at"))
        assert_equal(
            row,
            {
                "object": "broadcast",
                "id": broadcast,
                "name": "Python news",
                "segment_id": segment,
                "audience_id": segment,
                "topic_id": None,
                "status": "draft",
                "scheduled_at": None,
                "sent_at": None,
                "sent_count": 0,
                "finishes_at": None,
                "from": FROM,
                "subject": draft["subject"],
                "reply_to": ["reply@example.com"],
                "preview_text": "Preview",
                "html": HTML,
                "text": None,
            },
        )
        unknown = suite.refused(404, "not_found", "broadcasts.get", UNKNOWN_ID)
        assert_equal(unknown.message, "Broadcast not found")

    def update():
        changes = {"name": "Python letters", "subject": "Letters", "text": "Hello", "audience_id": segment}
        response = suite.data("broadcasts.update", {"broadcast_id": broadcast, **changes})
        assert_equal(response["id"], broadcast)
        row = suite.data("broadcasts.get", broadcast)
        seen = [row[name] for name in ("name", "subject", "text", "html", "preview_text", "segment_id")]
        assert_equal(seen, ["Python letters", "Letters", "Hello", HTML, "Preview", segment])
        suite.refused(404, "not_found", "broadcasts.update", {"broadcast_id": UNKNOWN_ID, "name": "Python"})

    def listed():
        other = suite.data("broadcasts.create", draft)["id"]
        page = suite.data("broadcasts.list")
        assert_equal(page["object"], "list")
        rows = [(row["id"], row["name"], row["status"]) for row in page["data"][:2]]
        assert_equal(rows, [(other, "Python news", "draft"), (broadcast, "Python letters", "draft")])
        row = page["data"][0]
        assert_matches(TIMESTAMP, row["created_at"])
        names = ("audience_id", "segment_id", "scheduled_at", "sent_at", "topic_id")
        assert_equal([row[name] for name in names], [segment, segment, None, None, None])
        newest = suite.data("broadcasts.list", {"limit": 1})
        assert_equal((newest["has_more"], newest["data"][0]["id"]), (True, other))
        assert_equal(suite.data("broadcasts.list", {"limit": 1, "after": other})["data"][0]["id"], broadcast)
        assert_equal(suite.data("broadcasts.list", {"limit": 1, "before": broadcast})["data"][0]["id"], other)
        suite.data("broadcasts.remove", other)

    def duplicate():
        copy = suite.data("broadcasts.duplicate", broadcast)
        assert_equal(copy["object"], "broadcast")
        rows = [suite.data("broadcasts.get", one) for one in (broadcast, copy["id"])]
        names = ("from", "subject", "reply_to", "preview_text", "html", "text", "segment_id", "topic_id", "status")
        source, read = ([row[name] for name in names] for row in rows)
        assert_equal(read, source)
        assert_equal(rows[1]["name"], "Python letters (copy)")
        suite.data("broadcasts.remove", copy["id"])
        suite.refused(404, "not_found", "broadcasts.duplicate", UNKNOWN_ID)

    def remove():
        removed = suite.data("broadcasts.remove", broadcast)
        assert_equal(removed, {"object": "broadcast", "id": broadcast, "deleted": True})
        suite.refused(404, "not_found", "broadcasts.get", broadcast)

    suite.check("broadcasts.get", "every field; an unknown id is 404", read)
    suite.check("broadcasts.update", "absent fields stay", update)
    suite.check("broadcasts.list", "newest first, limit and cursors", listed)
    suite.check("broadcasts.duplicate", "a draft with the same content and another name", duplicate)
    suite.check("broadcasts.remove", "a draft, then 404", remove)


def refusals(suite, draft):
    def without(name):
        return {key: value for key, value in draft.items() if key != name}

    for note, status, error, params in (
        ("no sender", 422, "missing_required_field", without("from")),
        ("no subject", 422, "missing_required_field", without("subject")),
        ("an unknown segment", 404, "not_found", {**draft, "segment_id": UNKNOWN_ID}),
        ("an unknown topic", 404, "not_found", {**draft, "topic_id": UNKNOWN_ID}),
        ("a schedule without `send`", 422, "validation_error", {**draft, "scheduled_at": in_hours(1)}),
    ):

        def refused(status=status, error=error, params=params):
            suite.refused(status, error, "broadcasts.create", params)

        suite.check("broadcasts.create", f"{note} is {status} {error}", refused)

    def empty():
        broadcast = suite.data("broadcasts.create", without("html"))["id"]
        suite.refused(422, "validation_error", "broadcasts.send", {"broadcast_id": broadcast})
        assert_equal(suite.data("broadcasts.get", broadcast)["status"], "draft")
        suite.data("broadcasts.remove", broadcast)
        suite.refused(404, "not_found", "broadcasts.send", {"broadcast_id": UNKNOWN_ID})

    def unverified():
        broadcast = suite.data("broadcasts.create", {**draft, "from": "sender@unverified.example"})["id"]
        suite.refused(403, "validation_error", "broadcasts.send", {"broadcast_id": broadcast})
        assert_equal(suite.data("broadcasts.get", broadcast)["status"], "draft")
        suite.data("broadcasts.remove", broadcast)

    def limited():
        key = suite.data("api_keys.create", {"name": "Python sending", "permission": "sending_access"})
        with with_key(key["token"]):
            suite.refused(403, "restricted_api_key", "broadcasts.create", draft)
            suite.refused(403, "restricted_api_key", "broadcasts.list")
        suite.data("api_keys.remove", key["id"])

    suite.check("broadcasts.send", "a draft without content is 422", empty)
    suite.check("broadcasts.send", "an unverified sender is 403, and the draft stays", unverified)
    suite.check("broadcasts.create", "a key for sending alone is refused", limited)


def sending(suite, draft):
    used = suite.data("usage.get")["broadcasts"]["used"]
    text = "Hello {{{FIRST_NAME|there}}} {{{RESEND_UNSUBSCRIBE_URL}}}"
    broadcast = suite.data("broadcasts.create", {**draft, "text": text})["id"]

    def read():
        return suite.data("broadcasts.get", broadcast)

    def send():
        sent = suite.data("broadcasts.send", {"broadcast_id": broadcast})
        assert_matches(TIMESTAMP, sent["finishes_at"])
        assert_equal((sent["id"], sent["estimated"], "warning" in sent), (broadcast, True, False))
        row = suite.until(read, lambda row: row["status"] == "sent")
        assert_equal(row["sent_count"], 3)
        assert_matches(TIMESTAMP, row["sent_at"])
        assert_equal(suite.data("usage.get")["broadcasts"]["used"], used + 1)

    def emails():
        # The SDK sends each parameter of a list unchanged, also those that it does not know.
        def listed():
            return suite.data("emails.list", {"broadcast_id": broadcast})["data"]

        def attempted(rows):
            return len(rows) == 3 and all(row["last_event"] != "queued" for row in rows)

        rows = suite.until(listed, attempted)
        ada = next(row for row in rows if row["to"] == [address(suite, "ada")])
        assert_equal(ada["subject"], "News for Ada <3")
        email = suite.data("emails.get", ada["id"])
        # The link works without a sign-in, so that only the recipient gets it.
        assert_matches(r'Hello Ada &lt;3, <a href="\{\{\{UNSUBSCRIBE_URL\}\}\}">', email["html"])
        assert_matches(r"Hello Ada <3 \{\{\{\w*UNSUBSCRIBE_URL\}\}\}", email["text"])
        others = [row["id"] for row in suite.data("emails.list", {"limit": 100})["data"]]
        assert ada["id"] not in others, "the list of emails has a recipient of a broadcast"

    def only_drafts():
        for method in ("broadcasts.send", "broadcasts.update"):
            suite.refused(403, "validation_error", method, {"broadcast_id": broadcast})
        suite.refused(403, "validation_error", "broadcasts.remove", broadcast)

    suite.check("broadcasts.send", "to the members who are subscribed", send)
    suite.check("broadcasts.send", "each recipient has an email with its merge fields", emails)
    suite.check("broadcasts.send", "only a draft can be sent, changed and removed", only_drafts)
    recipients(suite, broadcast)


def recipients(suite, broadcast):
    def rows(kind, **params):
        return suite.data("broadcasts.recipients", broadcast, {"type": kind, **params})

    def listed():
        sent = rows("sent")
        assert_equal((sent["object"], sent["has_more"], len(sent["data"])), ("list", False, 3))
        for row in sent["data"]:
            assert_matches(UUID, row["contact_id"])
        page = suite.until(lambda: rows("bounced", bounce_type="permanent"), lambda page: page["data"])
        (row,) = page["data"]
        assert_equal((row["email"], row["bounce_type"]), (bounced(suite), "permanent"))
        assert_equal(rows("bounced", bounce_type="transient")["data"], [])
        delivered = suite.until(lambda: rows("delivered")["data"], lambda data: len(data) == 2)
        assert_equal([row["email"] for row in rows("delivered", email="-ada@")["data"]], [address(suite, "ada")])
        one, two = (row["id"] for row in delivered)
        first = rows("delivered", limit=1)
        assert_equal((first["has_more"], first["data"][0]["id"]), (True, one))
        assert_equal([row["id"] for row in rows("delivered", after=one)["data"]], [two])
        assert_equal([row["id"] for row in rows("delivered", before=two)["data"]], [one])
        for kind in ("opened", "clicked", "complained", "unsubscribed", "suppressed"):
            assert_equal(rows(kind)["data"], [])
        suite.refused(422, "validation_error", "broadcasts.recipients", broadcast, {"type": "read"})
        suite.refused(404, "not_found", "broadcasts.recipients", UNKNOWN_ID, {"type": "sent"})

    def links():
        for arguments in ((), ({"limit": 1},)):
            page = suite.data("broadcasts.clicked_links", broadcast, *arguments)
            assert_equal(page, {"object": "list", "has_more": False, "data": []})
        suite.refused(404, "not_found", "broadcasts.clicked_links", UNKNOWN_ID)

    suite.check("broadcasts.recipients", "each type, an address, limit and cursors", listed)
    suite.check("broadcasts.clicked_links", "empty without tracking; an unknown id is 404", links)


def canceling(suite, draft):
    def cancel():
        for scheduled_at in (in_hours(2), "in 2 hours"):
            broadcast = suite.data("broadcasts.create", draft)["id"]
            suite.data("broadcasts.send", {"broadcast_id": broadcast, "scheduled_at": scheduled_at})
            row = suite.data("broadcasts.get", broadcast)
            assert_equal((row["status"], row["sent_at"]), ("scheduled", None))
            assert in_hours(1.9) < row["scheduled_at"] < in_hours(2.1), row
            canceled = suite.data("broadcasts.cancel", broadcast)
            assert_equal(canceled, {"object": "broadcast", "id": broadcast, "canceled_remaining": 3})
            assert_equal(suite.data("broadcasts.get", broadcast)["status"], "canceled")
            again = suite.refused(403, "validation_error", "broadcasts.cancel", broadcast)
            assert_equal(again.message, ONLY_WAITING)
        suite.refused(404, "not_found", "broadcasts.cancel", UNKNOWN_ID)

    def at_once():
        now = suite.data("broadcasts.create", {**draft, "send": True})
        assert_matches(TIMESTAMP, now["finishes_at"])
        suite.until(lambda: suite.data("broadcasts.get", now["id"]), lambda row: row["status"] == "sent")
        later = suite.data("broadcasts.create", {**draft, "send": True, "scheduled_at": "in 3 hours"})["id"]
        assert_equal(suite.data("broadcasts.get", later)["status"], "scheduled")
        assert_equal(suite.data("broadcasts.cancel", later)["canceled_remaining"], 3)

    suite.check("broadcasts.cancel", "a scheduled one, with the number of emails that are not sent", cancel)
    suite.check("broadcasts.create", "sent at once, and sent later", at_once)


def references(suite, draft):
    def used():
        topic = suite.data("topics.create", {"name": "Python broadcasts", "default_subscription": "opt_in"})["id"]
        segment = suite.data("segments.create", {"name": "Python referenced"})["id"]
        params = {**draft, "segment_id": segment, "topic_id": topic}
        broadcast = suite.data("broadcasts.create", params)["id"]
        assert_equal(suite.data("broadcasts.get", broadcast)["topic_id"], topic)
        suite.refused(409, "validation_error", "segments.remove", segment)
        suite.refused(409, "validation_error", "topics.remove", topic)
        suite.data("broadcasts.update", {"broadcast_id": broadcast, "topic_id": None})
        assert_equal(suite.data("broadcasts.get", broadcast)["topic_id"], None)
        suite.data("topics.remove", topic)
        suite.data("broadcasts.remove", broadcast)
        suite.data("segments.remove", segment)

    suite.check("broadcasts.update", "a segment and a topic that a draft uses stay", used)
