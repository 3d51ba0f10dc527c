from check import IS_OLDER, TIMESTAMP, UNKNOWN_ID, UUID, assert_equal, assert_fields, assert_matches


def run(suite):
    if IS_OLDER:
        segments(suite, "audiences")
        return
    for resource in ("segments", "audiences"):  # Two names of the same resource; `audiences` has no update.
        segments(suite, resource)
    filtered(suite)


def segments(suite, resource):
    name = f"Python {suite.label} {resource}"
    created = {}

    def create():
        created.update(suite.data(f"{resource}.create", {"name": name}))
        assert_fields(created, object="segment", name=name)
        assert_matches(UUID, created["id"])
        missing = suite.refused(422, "missing_required_field", f"{resource}.create", {})
        assert_equal(missing.message, "Missing `name` field.")

    suite.check(f"{resource}.create", "a segment without a filter", create)
    if not created:
        return
    segment = created["id"]

    def listed():
        other = suite.data(f"{resource}.create", {"name": "Python other"})["id"]
        page = suite.data(f"{resource}.list")
        assert_equal([row["id"] for row in page["data"][:2]], [other, segment])
        assert_matches(TIMESTAMP, page["data"][0]["created_at"])
        if not IS_OLDER:
            assert_equal(page["object"], "list")
            pages(other)
        suite.data(f"{resource}.remove", other)

    def pages(other):
        newest = suite.data(f"{resource}.list", {"limit": 1})
        assert_equal((newest["has_more"], newest["data"][0]["id"]), (True, other))
        assert_equal(suite.data(f"{resource}.list", {"limit": 1, "after": other})["data"][0]["id"], segment)
        assert_equal(suite.data(f"{resource}.list", {"limit": 1, "before": segment})["data"][0]["id"], other)

    def read():
        row = suite.data(f"{resource}.get", segment)
        assert_fields(row, object="segment", id=segment, name=name, contact_count=0)
        suite.refused(404, "not_found", f"{resource}.get", UNKNOWN_ID)

    def update():
        response = suite.data("segments.update", segment, {"name": f"{name} again"})
        assert_equal((response["object"], response["id"]), ("segment", segment))
        assert_equal(suite.data("segments.get", segment)["name"], f"{name} again")
        suite.refused(404, "not_found", "segments.update", UNKNOWN_ID, {"name": name})

    def remove():
        assert_fields(suite.data(f"{resource}.remove", segment), object="segment", id=segment, deleted=True)
        suite.refused(404, "not_found", f"{resource}.get", segment)

    suite.check(f"{resource}.list", "newest first, limit and cursors", listed)
    suite.check(f"{resource}.get", "with its count; an unknown id is 404", read)
    if resource == "segments":
        suite.check("segments.update", "renamed", update)
    if not IS_OLDER:
        members(suite, resource, segment)
    suite.check(f"{resource}.remove", "removed, then 404", remove)


def members(suite, resource, segment):
    """Checks explicit membership with each form of the calls."""
    first, second = (f"python-{suite.label}-{resource}-{name}@members.example.net" for name in ("first", "second"))
    contact = suite.data("contacts.create", {"email": first})["id"]
    suite.data("contacts.create", {"email": second})

    def emails(**arguments):
        return [row["email"] for row in suite.data("contacts.list", **arguments)["data"]]

    def add():
        for key in ({"contact_id": contact}, {"email": second}, {"email": second}):
            assert_equal(suite.data("contacts.Segments.add", {"segment_id": segment, **key})["id"], segment)
        assert_equal(suite.data("segments.get", segment)["contact_count"], 2)
        for key in ({"segment_id": UNKNOWN_ID, "email": first}, {"segment_id": segment, "contact_id": UNKNOWN_ID}):
            suite.refused(404, "not_found", "contacts.Segments.add", key)

    def listed():
        for key in ({"segment_id": segment}, {"audience_id": segment}):
            assert_equal(emails(**key), [second, first])
            page = suite.data("contacts.list", params={"limit": 1}, **key)
            assert_equal((page["object"], page["has_more"], page["data"][0]["email"]), ("list", True, second))
            assert_equal(emails(params={"limit": 1, "after": page["data"][0]["id"]}, **key), [first])
            assert_equal(emails(params={"limit": 1, "before": contact}, **key), [second])
        suite.refused(404, "not_found", "contacts.list", segment_id=UNKNOWN_ID)

    def joined():
        for key in ({"contact_id": contact}, {"email": first}):
            page = suite.data("contacts.Segments.list", key, {"limit": 1})
            assert_equal((page["object"], page["has_more"]), ("list", False))
            assert_equal([row["id"] for row in page["data"]], [segment])
        suite.refused(404, "not_found", "contacts.Segments.list", {"contact_id": UNKNOWN_ID})

    def remove():
        for key in ({"contact_id": contact}, {"email": second}):
            response = suite.data("contacts.Segments.remove", {"segment_id": segment, **key})
            assert_equal((response["id"], response["deleted"]), (segment, True))
        assert_equal(emails(segment_id=segment), [])
        assert_equal(suite.data("contacts.get", id=contact)["email"], first)

    suite.check("contacts.Segments.add", "by id and by email; a repeat has no effect; unknown ids are 404", add)
    suite.check("contacts.list", "the members of a segment, newest first, limit and cursors", listed)
    suite.check("contacts.Segments.list", "the segments of a contact, by id and by email", joined)
    suite.check("contacts.Segments.remove", "by id and by email; the contact stays", remove)
    for email in (first, second):
        suite.data("contacts.remove", email=email)


def filtered(suite):
    """Checks a filter. The SDK sends the fields of a segment unchanged, also those that it does not know."""

    def create():
        host = f"python-{suite.label}.example.net"
        segment = {
            "name": "Python filtered",
            "filter": {"match": "any", "conditions": [{"field": "email", "op": "ends_with", "value": f"@{host}"}]},
        }
        made = suite.data("segments.create", segment)["id"]
        suite.data("contacts.create", {"email": f"one@{host}"})
        row = suite.data("segments.get", made)
        assert_equal((row["filter"], row["contact_count"]), (segment["filter"], 1))
        suite.data("contacts.remove", email=f"one@{host}")
        suite.data("segments.remove", made)

    suite.check("segments.create", "with a filter that selects the contacts", create)
