"""Errors: those of the server in Anymail's exceptions, and those that Anymail raises before a request."""

from anymail.exceptions import AnymailAPIError, AnymailUnsupportedFeature
from django.core.mail import get_connection

from check import assert_equal, assert_matches
from sending import TEXT, message, send


def refused(sent, status, name, pattern):
    """Asserts the error of an email that the server refuses."""
    try:
        sent.send()
    except AnymailAPIError as error:
        body = error.response.json()
        seen = (error.status_code, body["statusCode"], body["name"], error.esp_name)
        assert_equal(seen, (status, status, name, "Resend"))
        assert_matches(pattern, body["message"])
        assert_matches(pattern, str(error))  # The text that a customer finds in the log.
        assert_equal(sent.anymail_status.status, None)
        return
    raise AssertionError(f"accepted: {sent.anymail_status.message_id}")


def by_the_server(suite):
    inline = message("inline")
    inline.attach_inline_image(b"\x89PNG\r\n\x1a\n", "logo.png", "png")
    batch = message("batch", merge_metadata={"one@example.net": {"order": 1}})
    batch.from_email = "sender@example.org"
    other_key = message("key")
    other_key.connection = get_connection(api_key="rm_" + "A" * 32)
    suppressed = message("suppressed")
    suppressed.to = ["suppressed@resend.dev"]
    unverified = message("domain", from_email="sender@example.org")
    for note, sent, *expected in (
        ("an unverified domain", unverified, 403, "validation_error", "The example.org domain is not verified"),
        ("an unverified domain in a batch", batch, 403, "validation_error", r"emails\.0: The example\.org domain"),
        ("an unknown key", other_key, 403, "invalid_api_key", "."),
        ("only suppressed recipients", suppressed, 422, "all_recipients_suppressed", "All recipients are suppressed"),
        ("an inline image", inline, 422, "validation_error", "content_id"),
        (
            "a header outside the allowlist",
            message("header", headers={"List-Id": "<list.example.com>"}),
            422,
            "validation_error",
            "List-Id",
        ),
        (
            "a field of esp_extra that does not exist",
            message("extra", esp_extra={"colour": "blue"}),
            422,
            "validation_error",
            "colour",
        ),
    ):
        suite.check("AnymailAPIError", f"{note} is {expected[0]} {expected[1]}", refused, sent, *expected)

    def silent():
        quiet = message("domain", from_email="sender@example.org")
        assert_equal(quiet.send(fail_silently=True), 0)

    suite.check("AnymailAPIError", "fail_silently returns 0", silent)


def by_anymail(suite):
    def unsupported(fields):
        try:
            message("unsupported", **fields).send()
        except AnymailUnsupportedFeature:
            return
        raise AssertionError("accepted")

    for fields in (
        {"template_id": "welcome"},
        {"merge_data": {"one@example.net": {"name": "Zoë"}}},
        {"track_clicks": True},
        {"envelope_sender": "bounces@example.com"},
    ):
        suite.check(
            "AnymailUnsupportedFeature", f"{next(iter(fields))} is refused before a request", unsupported, fields
        )

    def ignored():
        quiet = message("ignored", track_clicks=True)
        quiet.connection = get_connection(ignore_unsupported_features=True)
        send(quiet)
        assert quiet.body == TEXT

    suite.check("AnymailUnsupportedFeature", "IGNORE_UNSUPPORTED_FEATURES sends without the feature", ignored)
