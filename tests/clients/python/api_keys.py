from check import IS_OLDER, METHODS, TIMESTAMP, UNKNOWN_ID, UUID, assert_equal, assert_matches, in_hours, with_key

MESSAGE = {
    "from": "sender@example.com",
    "to": "one@example.net",
    "subject": "keys",
    "text": "hello from the python suite",
}


def run(suite):
    full_access(suite)
    sending_only(suite)
    refusals(suite)


def full_access(suite):
    created = {}

    def create():
        created.update(suite.data("api_keys.create", {"name": "python full", "permission": "full_access"}))
        assert_matches(UUID, created["id"])
        assert_matches(r"^rm_[A-Za-z0-9_-]{32}$", created["token"])
        with with_key(created["token"]):
            suite.data("domains.list")

    suite.check("api_keys.create", "a full-access key works", create)
    if not created:
        return
    key_id = created["id"]

    def listed():
        other = suite.data("api_keys.create", {"name": "python other"})["id"]
        page = suite.data("api_keys.list")
        assert_equal([row["id"] for row in page["data"][:2]], [other, key_id])
        for row in page["data"]:
            assert_matches(TIMESTAMP, row["created_at"])
            assert row.get("token") is None
            assert IS_OLDER or "last_used_at" in row
        if not IS_OLDER:
            pages(other)
        suite.data("api_keys.remove", other)

    def pages(other):
        assert_equal(suite.data("api_keys.list", {"limit": 1})["has_more"], True)
        assert_equal(suite.data("api_keys.list", {"limit": 1, "after": other})["data"][0]["id"], key_id)
        assert_equal(suite.data("api_keys.list", {"limit": 1, "before": key_id})["data"][0]["id"], other)

    def update():
        response = suite.data("api_keys.update", {"id": key_id, "name": "python renamed"})
        assert_equal(response, {"object": "api_key", "id": key_id})
        names = {row["id"]: row["name"] for row in suite.data("api_keys.list")["data"]}
        assert_equal(names[key_id], "python renamed")

    def remove():
        removed = {} if IS_OLDER else {"object": "api_key", "id": key_id, "deleted": True}
        assert_equal(suite.data("api_keys.remove", key_id), removed)
        with with_key(created["token"]):
            suite.refused(403, "invalid_api_key", "domains.list")
        assert_equal(suite.refused(404, "not_found", "api_keys.remove", key_id).message, "API key not found")

    suite.check("api_keys.list", "newest first, no token, limit and cursors", listed)
    suite.check("api_keys.update", "renamed", update)
    suite.check("api_keys.remove", "the key stops working", remove)


def sending_only(suite):
    def sends_and_reads_nothing():
        created = suite.data("api_keys.create", {"name": "python sending", "permission": "sending_access"})
        with with_key(created["token"]):
            sent = suite.data("emails.send", MESSAGE)
            suite.data("batch.send", [MESSAGE])
            later = suite.data("emails.send", {**MESSAGE, "scheduled_at": in_hours(1)})
            if not IS_OLDER:
                suite.data("emails.update", {"id": later["id"], "scheduled_at": in_hours(2)})
                suite.data("emails.cancel", later["id"])
            for method, *args in (
                ("emails.list",),
                ("emails.get", sent["id"]),
                ("emails.Attachments.list", sent["id"]),
                ("domains.list",),
                ("api_keys.create", {"name": "escalated"}),
            ):
                if not IS_OLDER or method in METHODS:
                    suite.refused(403, "restricted_api_key", method, *args)
        suite.data("api_keys.remove", created["id"])

    def one_domain():
        name = f"keys-{suite.label}.example.org"
        home = next(row for row in suite.data("domains.list")["data"] if row["name"] == "example.com")
        away = suite.data("domains.create", {"name": name})
        for domain, works in ((home, True), (away, False)):
            key = suite.data(
                "api_keys.create", {"name": "python scoped", "permission": "sending_access", "domain_id": domain["id"]}
            )
            with with_key(key["token"]):
                if works:
                    suite.data("emails.send", MESSAGE)
                else:
                    suite.refused(403, "restricted_api_key", "emails.send", MESSAGE)
            suite.data("api_keys.remove", key["id"])
        suite.data("domains.remove", away["id"])

    suite.check(
        "api_keys.create", "a sending-only key sends, reschedules and cancels, but cannot read", sends_and_reads_nothing
    )
    suite.check("api_keys.create", "a key of one domain sends from that domain only", one_domain)


def refusals(suite):
    def created():
        assert_equal(
            suite.refused(422, "missing_required_field", "api_keys.create", {}).message, "Missing `name` field."
        )
        suite.refused(422, "validation_error", "api_keys.create", {"name": "python", "permission": "everything"})
        suite.refused(404, "not_found", "api_keys.create", {"name": "python", "domain_id": UNKNOWN_ID})

    def unknown_key():
        with with_key("rm_" + "A" * 32):
            suite.refused(403, "invalid_api_key", "emails.send", MESSAGE)

    suite.check("api_keys.create", "no name, an unknown permission and an unknown domain are refused", created)
    suite.check("emails.send", "an unknown key is 403 invalid_api_key", unknown_key)
