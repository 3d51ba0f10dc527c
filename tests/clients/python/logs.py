from check import TIMESTAMP, UNKNOWN_ID, assert_equal, assert_matches


def run(suite):
    name = f"Python {suite.label} logged"
    topic = suite.data("topics.create", {"name": name, "default_subscription": "opt_in"})["id"]
    entries = []

    def listed():
        page = suite.data("logs.list", {"limit": 1})
        assert_equal((page["object"], page["has_more"]), ("list", True))
        entry = page["data"][0]
        assert_equal((entry["method"], entry["endpoint"], entry["response_status"]), ("POST", "/topics", 201))
        assert_matches(TIMESTAMP, entry["created_at"])
        assert_equal(entry["user_agent"].startswith("resend-python"), True)
        older = suite.data("logs.list", {"limit": 1, "after": entry["id"]})["data"][0]["id"]
        assert_equal(suite.data("logs.list", {"limit": 1, "before": older})["data"][0]["id"], entry["id"])
        entries.append(entry["id"])

    def read():
        entry = suite.data("logs.get", entries[0])
        assert_equal((entry["object"], entry["endpoint"]), ("log", "/topics"))
        assert_equal((entry["request_body"]["name"], entry["response_body"]["id"]), (name, topic))
        assert_equal(suite.refused(404, "not_found", "logs.get", UNKNOWN_ID).message, "Log not found")

    suite.check("logs.list", "newest first, every field, limit and cursors", listed)
    suite.check("logs.get", "with both bodies; an unknown id is 404", read)
    suite.data("topics.remove", topic)
