from check import IS_OLDER, TIMESTAMP, UNKNOWN_ID, UUID, assert_equal, assert_fields, assert_matches


def run(suite):
    if IS_OLDER:
        audience = suite.data("audiences.create", {"name": "Python contacts"})["id"]
        in_audience(suite, audience)
        suite.data("audiences.remove", audience)
        return
    keys = [f"python_{suite.label}_{name}" for name in ("city", "age")]
    properties = [
        suite.data("contact_properties.create", {"key": key, "type": kind})["id"]
        for key, kind in zip(keys, ("string", "number"))
    ]
    segment = suite.data("segments.create", {"name": "Python contacts"})["id"]
    topic = suite.data("topics.create", {"name": "Python contacts", "default_subscription": "opt_out"})["id"]
    try:
        creating(suite, keys, segment, topic)
        reading(suite)
        updating(suite, keys)
        removing(suite)
        in_audience(suite, segment)
        must_fail(suite)
    finally:
        suite.data("segments.remove", segment)
        suite.data("topics.remove", topic)
        for property_id in properties:
            suite.data("contact_properties.remove", property_id)


def address(suite, name):
    return f"python-{suite.label}-{name}@customer.example.net"


def creating(suite, keys, segment, topic):
    city, age = keys
    email = address(suite, "created")

    def create():
        made = suite.data(
            "contacts.create",
            {
                "email": email,
                "first_name": "Ada",
                "last_name": "Lovelace",
                "unsubscribed": False,
                "properties": {city: "London", age: 36},
                "segments": [{"id": segment}],
                "topics": [{"id": topic, "subscription": "opt_in"}],
            },
        )
        assert_equal(made["object"], "contact")
        assert_matches(UUID, made["id"])
        row = suite.data("contacts.get", id=made["id"])
        assert_equal(fields(row), ("contact", made["id"], email, "Ada", "Lovelace", False))
        assert_matches(TIMESTAMP, row["created_at"])
        typed = {city: {"type": "string", "value": "London"}, age: {"type": "number", "value": 36}}
        assert_equal(row["properties"], typed)
        joined = suite.data("contacts.Segments.list", {"contact_id": made["id"]})["data"]
        assert_equal([row["id"] for row in joined], [segment])

    def again():
        first = suite.data("contacts.get", email=email)
        second = suite.data("contacts.create", {"email": email.upper(), "first_name": "Grace"})
        assert_equal(second["id"], first["id"])
        row = suite.data("contacts.get", id=first["id"])
        assert_equal((row["email"], row["first_name"], row["last_name"]), (email, "Grace", "Lovelace"))
        suite.data("contacts.remove", id=first["id"])

    def refused():
        missing = suite.refused(422, "missing_required_field", "contacts.create", {"first_name": "Ada"})
        assert_equal(missing.message, "Missing `email` field.")
        suite.refused(422, "validation_error", "contacts.create", {"email": "not an address"})
        for bad in ({"email": f"Ada <{email}>"}, {"email": email, "properties": {age: "old"}}):
            suite.refused(422, "validation_error", "contacts.create", bad)
        for foreign in ({"segments": [{"id": UNKNOWN_ID}]}, {"topics": [{"id": UNKNOWN_ID, "subscription": "opt_in"}]}):
            suite.refused(404, "not_found", "contacts.create", {"email": email, **foreign})
        suite.refused(404, "not_found", "contacts.get", email=email)

    suite.check("contacts.create", "every field", create)
    suite.check("contacts.create", "an email that exists updates that contact and returns its id", again)
    suite.check("contacts.create", "no email and bad fields are 422, foreign ids 404", refused)


def reading(suite):
    emails = [address(suite, name) for name in ("first", "second", "third")]
    ids = [suite.data("contacts.create", {"email": email})["id"] for email in emails]

    def read():
        for key in ({"id": ids[0]}, {"email": emails[0]}, {"email": emails[0].upper()}):
            row = suite.data("contacts.get", **key)
            assert_equal(fields(row), ("contact", ids[0], emails[0], None, None, False))
            assert_equal(row["properties"], {})
        for key in ({"id": UNKNOWN_ID}, {"email": address(suite, "nobody")}):
            assert_equal(suite.refused(404, "not_found", "contacts.get", **key).message, "Contact not found")
        suite.refused(422, "validation_error", "contacts.get", id="not-an-id")

    def listed():
        page = suite.data("contacts.list", params={"limit": 2})
        assert_equal((page["object"], page["has_more"]), ("list", True))
        assert_equal([row["id"] for row in page["data"]], [ids[2], ids[1]])
        assert all("properties" not in row and "topics" not in row for row in page["data"]), page["data"]
        assert_equal(suite.data("contacts.list", params={"limit": 1, "after": ids[1]})["data"][0]["id"], ids[0])
        assert_equal(suite.data("contacts.list", params={"limit": 1, "before": ids[1]})["data"][0]["id"], ids[2])
        assert_equal(suite.data("contacts.list")["data"][0]["id"], ids[2])
        suite.refused(422, "validation_error", "contacts.list", params={"after": UNKNOWN_ID})

    suite.check("contacts.get", "by id and by email; an unknown one is 404", read)
    suite.check("contacts.list", "newest first, limit and cursors, the basic shape", listed)
    for contact in ids:
        suite.data("contacts.remove", id=contact)


def updating(suite, keys):
    city, age = keys
    email = address(suite, "changing")
    contact = suite.data(
        "contacts.create",
        {"email": email, "first_name": "Ada", "last_name": "Lovelace", "properties": {city: "London", age: 36}},
    )["id"]

    def update():
        response = suite.data("contacts.update", {"id": contact, "first_name": "Grace"})
        assert_equal((response["object"], response["id"], response["last_name"]), ("contact", contact, "Lovelace"))
        suite.data("contacts.update", {"email": email, "last_name": "Hopper"})
        row = suite.data("contacts.get", id=contact)
        assert_equal(fields(row), ("contact", contact, email, "Grace", "Hopper", False))
        suite.refused(404, "not_found", "contacts.update", {"id": UNKNOWN_ID, "first_name": "Ada"})

    def merge():
        suite.data("contacts.update", {"id": contact, "properties": {age: 37.5}})
        merged = {city: {"type": "string", "value": "London"}, age: {"type": "number", "value": 37.5}}
        assert_equal(suite.data("contacts.get", id=contact)["properties"], merged)
        cleared = {"id": contact, "first_name": None, "last_name": None, "properties": {city: None}}
        suite.data("contacts.update", cleared)
        row = suite.data("contacts.get", id=contact)
        assert_equal((row["first_name"], row["last_name"], list(row["properties"])), (None, None, [age]))
        suite.refused(422, "validation_error", "contacts.update", {"id": contact, "properties": {age: "old"}})

    def unsubscribe():
        for unsubscribed in (True, False):
            suite.data("contacts.update", {"email": email, "unsubscribed": unsubscribed})
            assert_equal(suite.data("contacts.get", email=email)["unsubscribed"], unsubscribed)

    suite.check("contacts.update", "by id and by email; other fields stay unchanged", update)
    suite.check("contacts.update", "properties merge key by key; None clears a name and a property", merge)
    suite.check("contacts.update", "unsubscribed, then subscribed again", unsubscribe)
    suite.data("contacts.remove", id=contact)


def removing(suite):
    email = address(suite, "removed")

    def remove():
        for key in ("id", "email"):
            contact = suite.data("contacts.create", {"email": email})["id"]
            named = {"id": contact} if key == "id" else {"email": email}
            response = suite.data("contacts.remove", **named)
            assert_equal((response["object"], response["contact"], response["deleted"]), ("contact", contact, True))
            suite.refused(404, "not_found", "contacts.get", id=contact)
            suite.refused(404, "not_found", "contacts.remove", **named)

    suite.check("contacts.remove", "by id and by email, then 404", remove)


def in_audience(suite, audience):
    """Checks the paths below `/audiences/{id}/contacts`. The SDK uses them if `audience_id` is given."""
    email = address(suite, "audience")

    def whole():
        contact = suite.data("contacts.create", {"audience_id": audience, "email": email, "first_name": "Ada"})["id"]
        read = {"id": contact, "audience_id": audience} if IS_OLDER else {"id": contact}
        assert_equal([row["id"] for row in suite.data("contacts.list", audience_id=audience)["data"]], [contact])
        # Version 1 has contacts only below an audience, and reads and changes them by id.
        for key in ({"id": contact},) if IS_OLDER else ({"id": contact}, {"email": email}):
            assert_equal(suite.data("contacts.get", audience_id=audience, **key)["id"], contact)
            suite.data("contacts.update", {"audience_id": audience, "last_name": str(list(key)), **key})
            assert_equal(suite.data("contacts.get", **read)["last_name"], str(list(key)))
        suite.data("contacts.update", {"audience_id": audience, "id": contact, "unsubscribed": True})
        assert_fields(suite.data("contacts.get", **read), email=email, first_name="Ada", unsubscribed=True)
        suite.refused(404, "not_found", "contacts.get", audience_id=UNKNOWN_ID, id=contact)
        response = suite.data("contacts.remove", audience_id=audience, email=email)
        assert_fields(response, object="contact", deleted=True)
        suite.refused(404, "not_found", "contacts.get", **read)

    suite.check("contacts.create", "into an audience, read, changed and removed there", whole)


def must_fail(suite):
    csv = {"file": b"email\none@example.net\n", "column_map": {"email": "email"}, "on_conflict": "skip"}
    for method, *args in (
        ("contacts.Imports.create", csv),
        ("contacts.Imports.list",),
        ("contacts.Imports.list", {"status": "completed", "limit": 1}),
        ("contacts.Imports.get", UNKNOWN_ID),
    ):
        suite.must_fail(404, "not_found", "no CSV import", method, *args)


def fields(row):
    return tuple(row[name] for name in ("object", "id", "email", "first_name", "last_name", "unsubscribed"))
