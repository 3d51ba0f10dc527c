"""What the instance tells about itself: the log of requests, and usage."""

import json
import uuid

from check import TIMESTAMP, UNKNOWN_ID, UUID, assert_equal, assert_matches


def run(suite):
    logs(suite)
    usage(suite)


def logs(suite):
    name = f"Python {suite.label} logs"
    topic = suite.data("topics.create", {"name": name, "default_subscription": "opt_in"})["id"]
    suite.refused(422, "validation_error", "topics.create", {"name": name, "default_subscription": "maybe"})
    found = []

    def row(method, endpoint, status):
        """Waits for the row of a request, which is written after its answer."""

        def newest(page):
            wanted = (method, endpoint, status)
            rows = [log for log in page["data"] if (log["method"], log["endpoint"], log["response_status"]) == wanted]
            return rows[:1]

        return newest(suite.until(lambda: suite.data("logs.list", {"limit": 100}), newest))[0]

    def listed():
        log = row("POST", "/topics", 201)
        assert_matches(UUID, log["id"])
        assert_matches(TIMESTAMP, log["created_at"])
        assert_matches("^resend-python:", log["user_agent"])
        fields = ["created_at", "endpoint", "id", "method", "response_status", "user_agent"]
        assert_equal(sorted(log), fields)
        row("POST", "/topics", 422)
        page = suite.data("logs.list", {"limit": 3})
        assert_equal((page["object"], page["has_more"], len(page["data"])), ("list", True, 3))
        first, second = (log["id"] for log in page["data"][:2])
        assert_equal(suite.data("logs.list", {"limit": 1, "after": first})["data"][0]["id"], second)
        assert_equal(suite.data("logs.list", {"limit": 100, "before": second})["data"][-1]["id"], first)
        found.append(log)

    suite.check("logs.list", "newest first without bodies, limit and cursors", listed)
    if not found:
        return

    def read():
        log = suite.data("logs.get", found[0]["id"])
        assert_equal((log.pop("request_body")["name"], log.pop("response_body")["id"]), (name, topic))
        assert_equal(log, {"object": "log", **found[0]})
        suite.refused(404, "not_found", "logs.get", UNKNOWN_ID)

    def redacted():
        content = f"content-{uuid.uuid4()}"
        message = {"from": "sender@example.com", "to": "one@example.net", "subject": "logs"}
        suite.data("emails.send", {**message, "text": content, "html": content})
        key = suite.data("api_keys.create", {"name": name})
        for endpoint, status, secret in (("/emails", 200, content), ("/api-keys", 201, key["token"])):
            log = suite.data("logs.get", row("POST", endpoint, status)["id"])
            assert secret not in json.dumps(log), log
        suite.data("api_keys.remove", key["id"])

    suite.check("logs.get", "with what was asked and answered; an unknown id is 404", read)
    suite.check("logs.get", "neither content nor tokens are kept", redacted)
    suite.data("topics.remove", topic)


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
            # A midnight between the two answers begins anew.
            assert emails["sent"] == earlier["sent"] + 1 or emails["resets_at"] != earlier["resets_at"], emails
        for name in ("contacts", "segments", "broadcasts", "ai_credits", "automation_runs", "domains"):
            assert isinstance(after[name]["used"], int), name
        assert isinstance(after["contacts"]["limit"], int)
        assert_equal(after["rate_limit"]["duration"], "1000ms")

    suite.check("usage.get", "every key; an email counts when it is accepted", counted)
