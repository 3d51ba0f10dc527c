from check import TIMESTAMP, UNKNOWN_ID, UUID, assert_equal, assert_matches


def run(suite):
    one, two, gone, nobody = (address(suite, name) for name in ("one", "two", "gone", "nobody"))
    added = []

    def add():
        row = suite.data("suppressions.add", {"email": one})
        assert_equal(row["object"], "suppression")
        assert_matches(UUID, row["id"])
        assert_equal(suite.data("suppressions.add", {"email": one.upper()})["id"], row["id"])
        missing = suite.refused(422, "missing_required_field", "suppressions.add", {})
        assert_equal(missing.message, "Missing `email` field.")
        suite.refused(422, "validation_error", "suppressions.add", {"email": "not an address"})
        added.append(row["id"])

    suite.check("suppressions.add", "an address; a repeat returns the same id", add)
    if not added:
        return
    entry = added[0]

    def read():
        for key in (entry, one, one.upper()):
            row = suite.data("suppressions.get", key)
            assert_equal(fields(row), ("suppression", entry, one, "manual", None))
            assert_matches(TIMESTAMP, row["created_at"])
        assert_equal(suite.refused(404, "not_found", "suppressions.get", UNKNOWN_ID).message, "Suppression not found")
        suite.refused(404, "not_found", "suppressions.get", nobody)

    def listed():
        other = suite.data("suppressions.add", {"email": two})["id"]
        page = suite.data("suppressions.list", {"limit": 2})
        assert_equal((page["object"], [row["id"] for row in page["data"]]), ("list", [other, entry]))
        assert_equal(suite.data("suppressions.list", {"limit": 1, "after": other})["data"][0]["id"], entry)
        assert_equal(suite.data("suppressions.list", {"limit": 1, "before": entry})["data"][0]["id"], other)
        assert_equal(suite.data("suppressions.list", {"origin": "manual", "limit": 1})["data"][0]["id"], other)
        assert all(row["origin"] == "bounce" for row in suite.data("suppressions.list", {"origin": "bounce"})["data"])
        suite.refused(422, "validation_error", "suppressions.list", {"origin": "whim"})

    def remove():
        for key, email in ((entry, one), (two, two)):
            row = suite.data("suppressions.get", email)["id"]
            assert_equal(suite.data("suppressions.remove", key), {"object": "suppression", "id": row, "deleted": True})
            suite.refused(404, "not_found", "suppressions.get", email)
            suite.refused(404, "not_found", "suppressions.remove", key)

    def opt_out():
        suite.data("contacts.create", {"email": gone, "unsubscribed": True})
        suite.data("contacts.remove", email=gone)
        row = suite.data("suppressions.list", {"origin": "unsubscribe", "limit": 1})["data"][0]
        assert_equal((row["email"], row["origin"]), (gone, "unsubscribe"))
        suite.data("suppressions.remove", gone)

    suite.check("suppressions.get", "by id and by email; an unknown one is 404", read)
    suite.check("suppressions.list", "newest first, limit, cursors and origin", listed)
    suite.check("suppressions.remove", "by id and by email, then 404", remove)
    note = "the opt-out of a deleted contact has the origin unsubscribe"
    suite.check("suppressions.list", note, opt_out)
    batches(suite)


def address(suite, name):
    return f"python-{suite.label}-{name}@suppressed.example.net"


def batches(suite):
    emails = [address(suite, name) for name in ("a", "b", "c")]
    nobody = address(suite, "nobody")
    ids = []

    def add():
        response = suite.data("suppressions.Batch.add", {"emails": [*emails, emails[0].upper()]})
        ids.extend(dict.fromkeys(row["id"] for row in response["data"]))
        assert_equal(ids, [suite.data("suppressions.get", email)["id"] for email in emails])
        suite.refused(422, "validation_error", "suppressions.Batch.add", {"emails": []})
        suite.refused(422, "validation_error", "suppressions.Batch.add", {"emails": ["not an address"]})

    def remove():
        by_email = suite.data("suppressions.Batch.remove", {"emails": [emails[0], nobody]})
        assert_equal(by_email["data"], [{"object": "suppression", "id": ids[0], "deleted": True}])
        by_id = suite.data("suppressions.Batch.remove", {"ids": [ids[1], ids[2], UNKNOWN_ID]})
        assert_equal([row["id"] for row in by_id["data"]], ids[1:])
        for email in emails:
            suite.refused(404, "not_found", "suppressions.get", email)

    suite.check("suppressions.Batch.add", "ids in the order of the request; a repeated address is one row", add)
    suite.check("suppressions.Batch.remove", "by emails, then by ids; unknown ones are left out", remove)


def fields(row):
    return tuple(row[name] for name in ("object", "id", "email", "origin", "source_id"))
