"""Sends with Django's email classes and with the additions of Anymail."""

import base64
import json
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from anymail.message import AnymailMessage
from django.conf import settings
from django.core.mail import EmailMessage, EmailMultiAlternatives, get_connection, send_mail

from check import UUID, api, assert_equal, assert_fields, assert_matches, email, until

TEXT = "hello from the anymail suite"


def message(subject, **fields):
    return AnymailMessage(subject=subject, body=TEXT, to=["one@example.net"], **fields)


def send(message):
    """Sends one email. Asserts the status that Anymail reports, and returns the id of the email."""
    assert_equal(message.send(), 1)
    status = message.anymail_status
    assert_equal(status.status, {"queued"})
    assert_matches(UUID, status.message_id)
    assert_equal(status.esp_response.json(), {"id": status.message_id})
    return status.message_id


def forms(suite, receiver):
    def plain():
        sent = EmailMessage("plain", TEXT, None, ["one@example.net", "Zoë Łoś <two@example.net>"])
        sent_id = send(sent)
        stored = until(lambda: email(sent_id), lambda read: read["last_event"] == "delivered")
        assert_fields(
            stored,
            **{"from": "Example Sender <sender@example.com>"},
            to=["one@example.net", "Zoë Łoś <two@example.net>"],
            cc=None,
            bcc=None,
            reply_to=None,
            subject="plain",
            text=TEXT,
            html=None,
        )
        statuses = {to: (row.status, row.message_id) for to, row in sent.anymail_status.recipients.items()}
        assert_equal(statuses, {to: ("queued", sent_id) for to in ("one@example.net", "two@example.net")})

    def html():
        sent = EmailMultiAlternatives("html", TEXT, "Grüße <sender@example.com>", ["one@example.net"])
        sent.attach_alternative("<p>hello</p>", "text/html")
        assert_fields(
            email(send(sent)), **{"from": "Grüße <sender@example.com>"}, subject="html", text=TEXT, html="<p>hello</p>"
        )

    def copies():
        sent = message(
            "copies", cc=["cc@example.net"], bcc=["bcc@example.net"], reply_to=["a@example.com", "b@example.com"]
        )
        assert_fields(
            email(send(sent)),
            cc=["cc@example.net"],
            bcc=["bcc@example.net"],
            reply_to=["a@example.com", "b@example.com"],
        )
        assert_equal(set(sent.anymail_status.recipients), {"one@example.net", "cc@example.net", "bcc@example.net"})

    def headers():
        # Anymail takes Reply-To out of the headers, and sends numbers as text.
        sent = message("headers", headers={"X-Order": 42, "Reply-To": "reply@example.com"})
        sent_id = send(sent)
        assert_fields(email(sent_id), reply_to=["reply@example.com"])
        assert_equal(receiver.headers_of(sent_id), {"X-Order": "42"})

    def idn():
        assert_fields(email(send(message("idn", cc=["user@bücher.example"]))), cc=["user@xn--bcher-kva.example"])

    def several():
        messages = [message("first"), message("second")]
        with get_connection() as connection:  # One HTTP session for both.
            assert_equal(connection.send_messages(messages), 2)
        assert_equal([email(sent.anymail_status.message_id)["subject"] for sent in messages], ["first", "second"])
        assert_equal(send_mail("function", TEXT, None, ["one@example.net"], html_message="<p>hello</p>"), 1)

    def sending_only():
        key = api("POST", "/api-keys", {"name": "anymail", "permission": "sending_access"})
        sent = message("key")
        sent.connection = get_connection(api_key=key["token"])
        send(sent)

    suite.check("send", "plain text to two recipients, delivered", plain)
    suite.check("send", "html with text, a name that is not ASCII", html)
    suite.check("send", "cc, bcc, and reply-to", copies)
    suite.check("send", "extra headers", headers)
    suite.check("send", "an internationalized domain", idn)
    suite.check("send", "two messages on one connection, and send_mail", several)
    suite.check("send", "a key with the permission sending_access is enough", sending_only)


def attachments(suite):
    def stored():
        content = bytes([0, 1, 2, 253, 254, 255])
        sent = message("attachments")
        sent.attach("bytes.bin", content, "application/octet-stream")
        sent.attach("Übersicht.txt", "Zoë\n", "text/plain")
        sent.attach(None, b"%PDF-1.4", "application/pdf")
        sent_id = send(sent)
        rows = {row["filename"]: row for row in email(sent_id)["attachments"]}
        expected = {
            "bytes.bin": ("application/octet-stream", content),
            "Übersicht.txt": ("text/plain", "Zoë\n".encode()),
            "attachment.pdf": ("application/pdf", b"%PDF-1.4"),
        }
        assert_equal(set(rows), set(expected))
        for name, (kind, content) in expected.items():
            row = api("GET", f"/emails/{sent_id}/attachments/{rows[name]['id']}")
            seen = (row["content_type"].split(";")[0], base64.b64decode(row["content"]))
            assert_equal(seen, (kind, content))

    suite.check("attachments", "bytes, text, and one without a name", stored)


def tags_and_metadata(suite, receiver):
    def as_headers():
        # Anymail does not use the tags of the API, because their characters are limited.
        sent = message("tags", tags=["Début", "two words"], metadata={"order": 42, "name": "Zoë"})
        headers = receiver.headers_of(send(sent))
        assert_equal(json.loads(headers["X-Tags"]), ["Début", "two words"])
        assert_equal(json.loads(headers["X-Metadata"]), {"order": 42, "name": "Zoë"})

    def esp_extra():
        sent = message("extra", esp_extra={"tags": [{"name": "suite", "value": "anymail"}]})
        assert_fields(email(send(sent)), tags=[{"name": "suite", "value": "anymail"}])

    suite.check("tags, metadata", "in the headers X-Tags and X-Metadata", as_headers)
    suite.check("esp_extra", "tags of the API", esp_extra)


def scheduling(suite):
    soon = datetime.now(timezone.utc) + timedelta(hours=1)

    def scheduled(send_at, expected):
        stored = email(send(message("later", send_at=send_at)))
        assert_equal(stored["last_event"], "scheduled")
        seen = datetime.fromisoformat(stored["scheduled_at"].replace("Z", "+00:00"))
        assert abs(seen - expected) < timedelta(seconds=2), (seen, expected)

    local = soon.astimezone(timezone(timedelta(hours=-5)))
    in_settings = soon.astimezone(ZoneInfo(settings.TIME_ZONE)).replace(tzinfo=None)
    suite.check("send_at", "a datetime with a zone", scheduled, local, soon)
    suite.check("send_at", "a datetime without a zone, in the zone of the settings", scheduled, in_settings, soon)
    suite.check("send_at", "seconds since 1970", scheduled, soon.timestamp(), soon)
    suite.check("send_at", "English, which Anymail sends unchanged", scheduled, "in 1 hour", soon)


def batches(suite, receiver):
    recipients = ["Alice <alice@example.net>", "bob@example.net"]

    def batch(**fields):
        """Sends a batch, and returns the ids of its emails."""
        sent = AnymailMessage(subject="batch", body=TEXT, to=recipients, **fields)
        assert_equal(sent.send(), 1)
        status = sent.anymail_status
        assert_equal(status.status, {"queued"})
        ids = [status.recipients[to].message_id for to in ("alice@example.net", "bob@example.net")]
        # A recipient of copies has no id of its own.
        assert_equal(status.message_id, set(ids) | ({None} if "cc" in fields else set()))
        return ids

    def separate():
        stored = [email(sent_id) for sent_id in batch(merge_data={}, cc=["cc@example.net"])]
        assert_equal([row["to"] for row in stored], [[to] for to in recipients])
        assert_equal([row["cc"] for row in stored], [["cc@example.net"]] * 2)

    def merged():
        ids = batch(
            metadata={"order": 1, "batch": True},
            merge_metadata={"alice@example.net": {"order": 2}},
            merge_headers={"bob@example.net": {"X-Customer": "bob"}},
            headers={"X-Customer": "everyone"},
        )
        alice, bob = (receiver.headers_of(sent_id) for sent_id in ids)
        assert_equal(json.loads(alice["X-Metadata"]), {"order": 2, "batch": True})
        assert_equal(json.loads(bob["X-Metadata"]), {"order": 1, "batch": True})
        assert_equal([alice["X-Customer"], bob["X-Customer"]], ["everyone", "bob"])

    suite.check("batch", "an empty merge_data: one email for each recipient, each with the cc", separate)
    suite.check("batch", "merge_metadata and merge_headers", merged)
