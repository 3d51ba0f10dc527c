"""The request log, without secrets, and the usage."""

import json
import uuid

from check import assert_equal, assert_matches


def run(suite):
    redaction(suite)
    usage(suite)


def redaction(suite):
    def redacted():
        content = f"content-{uuid.uuid4()}"
        message = {"from": "sender@example.com", "to": "one@example.net", "subject": "logs"}
        suite.data("emails.send", {**message, "text": content, "html": content})
        key = suite.data("api_keys.create", {"name": f"Python {suite.label} logged"})
        for endpoint, secret in (("/emails", content), ("/api-keys", key["token"])):

            def logged(endpoint=endpoint):
                rows = suite.data("logs.list")["data"]
                return [row["id"] for row in rows if (row["method"], row["endpoint"]) == ("POST", endpoint)]

            log = suite.data("logs.get", suite.until(logged, bool)[0])
            assert secret not in json.dumps(log), log
        suite.data("api_keys.remove", key["id"])

    suite.check("logs.get", "neither content nor tokens are stored", redacted)


def usage(suite):
    def counted():
        before = suite.data("usage.get")
        message = {"from": "sender@example.com", "to": "one@example.net", "subject": "usage", "text": "hello"}
        suite.data("emails.send", message)
        after = suite.data("usage.get")
        assert_equal([after[name] for name in ("object", "cloud", "plan")], ["usage", False, None])
        for span in ("daily", "monthly"):
            earlier, emails = before["emails"][span], after["emails"][span]
            assert_equal((emails["used"], emails["limit"], emails["received"]), (emails["sent"], None, 0))
            assert_matches(r"T00:00:00\.000Z$", emails["resets_at"])
            # The counts start at 0 if midnight is between the two responses.
            assert emails["sent"] == earlier["sent"] + 1 or emails["resets_at"] != earlier["resets_at"], emails
        for name in ("contacts", "segments", "broadcasts", "ai_credits", "automation_runs", "domains"):
            assert isinstance(after[name]["used"], int), name
        assert isinstance(after["contacts"]["limit"], int)
        assert_equal(after["rate_limit"]["duration"], "1000ms")

    suite.check("usage.get", "every key; an email counts when it is accepted", counted)
