import base64
import uuid

from check import (
    IS_OLDER,
    TIMESTAMP,
    UNKNOWN_ID,
    UUID,
    assert_equal,
    assert_fields,
    assert_matches,
    in_hours,
    instant_of,
)

FROM = "Example Sender <sender@example.com>"
TEXT = "hello from the python suite"


def message(subject, **fields):
    return {"from": FROM, "to": "one@example.net", "subject": subject, "text": TEXT, **fields}


def without(field):
    return {key: value for key, value in message("refused").items() if key != field}


def many(name, count):
    return [f"{name}{index}@example.net" for index in range(count)]


def run(suite):
    sending(suite)
    if not IS_OLDER:
        idempotency(suite)
    reading(suite)
    listing(suite)
    attachments(suite)
    scheduling(suite)
    outcomes(suite)
    refusals(suite)
    metrics(suite)
    must_fail(suite)


def sending(suite):
    forms = {
        "text, one recipient as a string": {},
        "html, one recipient in a list": {"to": ["one@example.net"], "html": "<p>hello</p>", "text": None},
        "html and text, several recipients": {
            "to": ["one@example.net", "Two <two@example.net>"],
            "html": "<p>hello</p>",
        },
        "cc, bcc and reply_to as strings": {
            "cc": "cc@example.net",
            "bcc": "bcc@example.net",
            "reply_to": "reply@example.com",
        },
        "cc, bcc and reply_to as lists": {
            "cc": ["a@example.net"],
            "bcc": ["b@example.net"],
            "reply_to": ["r@example.com", "s@example.com"],
        },
        "headers": {"headers": {"X-Entity-Ref-ID": "python-1", "References": "<1@example.com>"}},
        "tags": {"tags": [{"name": "suite", "value": "python"}]},
        "50 recipients": {"to": many("to", 20), "cc": many("cc", 20), "bcc": many("bcc", 10)},
    }
    for note, form in forms.items():

        def body():
            assert_matches(UUID, suite.data("emails.send", message(note, **form))["id"])

        suite.check("emails.send", note, body)


def idempotency(suite):
    key = f"python-{uuid.uuid4()}"

    def same():
        first = suite.data("emails.send", message("idempotency"), {"idempotency_key": key})
        assert_equal(suite.data("emails.send", message("idempotency"), {"idempotency_key": key}), first)

    def changed():
        suite.refused(409, "invalid_idempotent_request", "emails.send", message("changed"), {"idempotency_key": key})

    suite.check("emails.send", "the same idempotency key and payload return the same id", same)
    suite.check("emails.send", "the same idempotency key with another payload is 409", changed)


def reading(suite):
    def fields():
        sent = suite.data(
            "emails.send",
            message(
                "fields",
                to=["one@example.net", "Two <two@example.net>"],
                bcc="bcc@example.net",
                reply_to="reply@example.com",
                html="<p>hello</p>",
                tags=[{"name": "suite", "value": "python"}],
            ),
        )
        email = suite.until(
            lambda: suite.data("emails.get", sent["id"]), lambda read: read["last_event"] == "delivered"
        )
        assert_matches(TIMESTAMP, email["created_at"])
        expected = {
            "object": "email",
            "id": sent["id"],
            "from": FROM,
            "to": ["one@example.net", "Two <two@example.net>"],
            "cc": None,
            "bcc": ["bcc@example.net"],
            "reply_to": ["reply@example.com"],
            "subject": "fields",
            "html": "<p>hello</p>",
            "text": TEXT,
            "scheduled_at": None,
            "tags": [{"name": "suite", "value": "python"}],
        }
        assert_fields(email, **expected)

    def unknown():
        assert_equal(suite.refused(404, "not_found", "emails.get", UNKNOWN_ID).message, "Email not found")
        malformed = suite.refused(422, "validation_error", "emails.get", "not-an-id")
        assert_equal(malformed.message, "The `id` must be a valid UUID.")

    suite.check("emails.get", "every field, and last_event reaches delivered", fields)
    suite.check("emails.get", "an unknown id is 404, a malformed one 422", unknown)


def listing(suite):
    def pages():
        third, second, first = reversed(
            [suite.data("emails.send", message(name))["id"] for name in ("first", "second", "third")]
        )
        page = suite.data("emails.list", {"limit": 2})
        assert_equal((page["object"], page["has_more"]), ("list", True))
        assert_equal([row["id"] for row in page["data"]], [third, second])
        older = suite.data("emails.list", {"limit": 1, "after": second})
        assert_equal([row["id"] for row in older["data"]], [first])
        newer = suite.data("emails.list", {"limit": 1, "before": second})
        assert_equal([row["id"] for row in newer["data"]], [third])

    def bounds():
        assert len(suite.data("emails.list")["data"]) <= 20
        for bad in ({"limit": 0}, {"limit": 101}, {"after": UNKNOWN_ID}):
            suite.refused(422, "validation_error", "emails.list", bad)

    suite.check("emails.list", "newest first, limit, after and before", pages)
    suite.check("emails.list", "at most 20 rows by default; a bad limit or cursor is 422", bounds)


def attachments(suite):
    content = bytes([0, 1, 2, 253, 254, 255])
    encoded = base64.b64encode(content).decode()
    for note, form in {
        "base64": encoded,
        "base64 with line breaks": base64.encodebytes(content * 40).decode(),
        "a list of integers": list(content),
    }.items():

        def round_trip():
            sent = suite.data(
                "emails.send", message("attachment", attachments=[{"filename": "bytes.bin", "content": form}])
            )
            (row,) = suite.data("emails.Attachments.list", sent["id"], {"limit": 1})["data"]
            expected = content if form != base64.encodebytes(content * 40).decode() else content * 40
            assert_equal(
                (row["filename"], row["size"], row["content_disposition"]), ("bytes.bin", len(expected), "attachment")
            )
            assert_equal((row["download_url"], row["expires_at"]), (None, None))
            one = suite.data("emails.Attachments.get", sent["id"], row["id"])
            assert_equal((one["object"], one["id"]), ("attachment", row["id"]))
            assert_equal(base64.b64decode(one["content"], validate=True), expected)

        def accepted():
            attachment = {"filename": "bytes.bin", "content": form, "content_type": "application/octet-stream"}
            assert_matches(UUID, suite.data("emails.send", message("attachment", attachments=[attachment]))["id"])

        if IS_OLDER:
            suite.check("emails.send", f"an attachment, its content as {note}", accepted)
        suite.check("emails.Attachments.get", f"content sent as {note}", round_trip)

    def empty():
        sent = suite.data("emails.send", message("none"))
        page = suite.data("emails.Attachments.list", sent["id"])
        assert_equal(page, {"object": "list", "has_more": False, "data": []})
        suite.refused(404, "not_found", "emails.Attachments.get", sent["id"], UNKNOWN_ID)

    suite.check("emails.Attachments.list", "an email without attachments; an unknown one is 404", empty)


def scheduling(suite):
    def reschedule():
        first, second = in_hours(1), in_hours(2)
        email_id = suite.data("emails.send", message("later", scheduled_at=first))["id"]
        read = suite.data("emails.get", email_id)
        assert_equal((read["last_event"], instant_of(read["scheduled_at"])), ("scheduled", instant_of(first)))
        response = suite.data("emails.update", {"id": email_id, "scheduled_at": second})
        assert_equal(response, {"object": "email", "id": email_id})
        assert_equal(instant_of(suite.data("emails.get", email_id)["scheduled_at"]), instant_of(second))

    def cancel():
        email_id = suite.data("emails.send", message("later", scheduled_at="tomorrow at 9am"))["id"]
        scheduled_at = instant_of(suite.data("emails.get", email_id)["scheduled_at"])
        assert_equal((scheduled_at.hour, scheduled_at.minute), (9, 0))
        assert_equal(suite.data("emails.cancel", email_id), {"object": "email", "id": email_id})
        assert_equal(suite.data("emails.get", email_id)["last_event"], "canceled")
        suite.refused(422, "validation_error", "emails.cancel", email_id)
        suite.refused(422, "validation_error", "emails.update", {"id": email_id, "scheduled_at": in_hours(1)})

    suite.check("emails.update", "scheduled by ISO 8601, then rescheduled", reschedule)
    suite.check("emails.cancel", "scheduled in English, then canceled once", cancel)


def outcomes(suite):
    for to, event in (
        ("delivered@resend.dev", "delivered"),
        ("bounced@resend.dev", "bounced"),
        ("complained@ringmail.test", "complained"),
    ):

        def simulated():
            email_id = suite.data("emails.send", message(event, to=to))["id"]
            suite.until(lambda: suite.data("emails.get", email_id), lambda email: email["last_event"] == event)

        suite.check("emails.send", f"{to} becomes {event}", simulated)

    def suppressed():
        error = suite.refused(
            422, "all_recipients_suppressed", "emails.send", message("suppressed", to="suppressed@resend.dev")
        )
        assert_equal(error.message, "All recipients are suppressed")

    suite.check("emails.send", "suppressed@resend.dev as the only recipient is refused", suppressed)


def refusals(suite):
    for note, status, name, pattern, params in (
        ("from is not an address", 422, "validation_error", "`from`", message("refused", **{"from": "not an address"})),
        ("to is not an address", 422, "validation_error", "`to`", message("refused", to=["one@example.net", "nobody"])),
        (
            "an unverified domain",
            403,
            "validation_error",
            "The example.org domain is not verified.",
            message("refused", **{"from": "sender@example.org"}),
        ),
        ("51 recipients", 422, "validation_error", "50", message("refused", to=many("to", 51))),
        ("no from", 422, "missing_required_field", "Missing `from` field.", without("from")),
        ("no to", 422, "missing_required_field", "Missing `to` field.", without("to")),
        ("no subject", 422, "missing_required_field", "Missing `subject` field.", without("subject")),
        ("a field that does not exist", 422, "validation_error", "colour", message("refused", colour="blue")),
    ):

        def refused():
            assert_matches(pattern, suite.refused(status, name, "emails.send", params).message)

        suite.check("emails.send", f"{note} is {status} {name}", refused)


def metrics(suite):
    def counted():
        report = suite.data("emails.metrics", {"metrics": ["sent", "delivered"], "dimensions": ["period"]})
        assert report["object"] == "metrics" and report["totals"]["sent"] > 0
        assert sum(row["sent"] for row in report["data"]) == report["totals"]["sent"]

    suite.check("emails.metrics", "the outcomes of this day are counted", counted)


def must_fail(suite):
    email_id = suite.data("emails.send", message("must fail"))["id"]
    remote = message("must fail", attachments=[{"filename": "a.txt", "path": "https://example.com/a.txt"}])
    inline = message("must fail", attachments=[{"filename": "a.png", "content": [1, 2, 3], "content_id": "logo"}])
    for row in (
        (404, "not_found", "no shared links", "emails.share", email_id, {"expires_in": "10m"}),
        (404, "not_found", "no inbound mail", "emails.Receiving.list"),
        (404, "not_found", "no inbound mail", "emails.Receiving.get", UNKNOWN_ID),
        (404, "not_found", "no inbound mail", "emails.Receiving.Attachments.list", UNKNOWN_ID),
        (404, "not_found", "no inbound mail", "emails.Receiving.Attachments.get", UNKNOWN_ID, UNKNOWN_ID),
        (422, "validation_error", "a remote attachment is never fetched", "emails.send", remote),
        (422, "validation_error", "inline images", "emails.send", inline),
    ):
        suite.must_fail(*row)
