from check import TIMESTAMP, UNKNOWN_ID, UUID, assert_equal, assert_matches


def run(suite):
    prefix = f"python_{suite.label}"
    made = []

    def create():
        for name, kind, fallback, read in (("plan", "string", "free", "free"), ("seats", "number", 5, "5")):
            key = f"{prefix}_{name}"
            row = suite.data("contact_properties.create", {"key": key, "type": kind, "fallback_value": fallback})
            assert_equal(fields(row), ("contact_property", key, kind, read))
            assert_matches(UUID, row["id"])
            assert_matches(TIMESTAMP, row["created_at"])
            made.append(row["id"])

    suite.check("contact_properties.create", "a string and a number, with a fallback", create)
    if len(made) < 2:
        return
    text, number = made

    def refused():
        again = {"key": f"{prefix}_plan", "type": "string"}
        suite.refused(409, "validation_error", "contact_properties.create", again)
        missing = suite.refused(422, "missing_required_field", "contact_properties.create", {"type": "string"})
        assert_equal(missing.message, "Missing `key` field.")
        for bad in ({"type": "date"}, {"type": "number", "fallback_value": "many"}):
            suite.refused(422, "validation_error", "contact_properties.create", {"key": f"{prefix}_kind", **bad})

    def listed():
        page = suite.data("contact_properties.list", {"limit": 2})
        assert_equal((page["object"], [row["id"] for row in page["data"]]), ("list", [number, text]))
        assert_equal(suite.data("contact_properties.list", {"limit": 1, "after": number})["data"][0]["id"], text)
        assert_equal(suite.data("contact_properties.list", {"limit": 1, "before": text})["data"][0]["id"], number)
        assert len(suite.data("contact_properties.list")["data"]) >= 2

    def read():
        row = suite.data("contact_properties.get", text)
        assert_equal((row["id"], *fields(row)), (text, "contact_property", f"{prefix}_plan", "string", "free"))
        missing = suite.refused(404, "not_found", "contact_properties.get", UNKNOWN_ID)
        assert_equal(missing.message, "Contact property not found")

    def update():
        for fallback, stored in ((7.5, "7.5"), (None, None)):
            response = suite.data("contact_properties.update", {"id": number, "fallback_value": fallback})
            assert_equal((response["object"], response["id"]), ("contact_property", number))
            assert_equal(suite.data("contact_properties.get", number)["fallback_value"], stored)
        wrong = {"id": number, "fallback_value": "many"}
        suite.refused(422, "validation_error", "contact_properties.update", wrong)

    def remove():
        for property_id in made:
            response = suite.data("contact_properties.remove", property_id)
            assert_equal(response, {"object": "contact_property", "id": property_id, "deleted": True})
            suite.refused(404, "not_found", "contact_properties.get", property_id)

    suite.check("contact_properties.create", "a key that exists is 409; no key and a bad value are 422", refused)
    suite.check("contact_properties.list", "newest first, limit and cursors", listed)
    suite.check("contact_properties.get", "every field; an unknown id is 404", read)
    suite.check("contact_properties.update", "another fallback, then none", update)
    suite.check("contact_properties.remove", "removed, then 404", remove)


def fields(row):
    return tuple(row[name] for name in ("object", "key", "type", "fallback_value"))
