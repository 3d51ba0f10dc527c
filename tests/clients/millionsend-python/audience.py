"""Contacts with erasure, `include` and the preference link; segments with filters; topics, properties, suppressions."""

import urllib.request

import millionsend

from check import TIMESTAMP, UNKNOWN_ID, UUID, assert_equal, assert_matches, until

ERASE_TIMEOUT_S = 15


def properties_and_topics(suite):
    prop, topic = {}, {}

    def define():
        made = suite.data("ContactProperties.create", {"key": "ms_level", "type": "number", "fallback_value": 1})
        assert_equal(
            (made.object, made.key, made.type, made.fallback_value), ("contact_property", "ms_level", "number", "1")
        )
        prop.update(made)

    def change():
        suite.data("ContactProperties.update", {"id": prop["id"], "fallback_value": None})
        assert_equal(suite.data("ContactProperties.get", prop["id"]).fallback_value, None)
        assert_equal(suite.data("ContactProperties.list", limit=1).data[0].id, prop["id"])

    def undefine():
        """The values of a deleted property stay on the contacts and keep the type of their JSON value."""
        contact = suite.data(
            "Contacts.create", {"email": "ms-level@customer.example.net", "properties": {"ms_level": 7}}
        ).id
        assert_equal(suite.data("Contacts.get", contact).properties.ms_level, {"type": "number", "value": 7})
        response = suite.data("ContactProperties.remove", prop["id"])
        assert_equal(response, {"object": "contact_property", "id": prop["id"], "deleted": True})
        assert_equal(suite.data("Contacts.get", contact).properties.ms_level, {"type": "number", "value": 7})
        suite.data("Contacts.remove", contact)

    suite.check("ContactProperties.create", "a number, the whole resource in the response", define)
    suite.check("ContactProperties.update", "None clears the fallback", change)
    suite.check("ContactProperties.remove", "a number stays a number when its property is removed", undefine)

    def create():
        made = suite.data("Topics.create", {"name": "News", "default_subscription": "opt_in", "visibility": "public"})
        topic.update(made)
        assert_equal((made.name, made.description, made.visibility), ("News", None, "public"))

    def update():
        suite.data("Topics.update", topic["id"], {"description": "Once a month"})
        assert_equal(suite.data("Topics.get", topic["id"]).description, "Once a month")
        assert_equal(suite.data("Topics.list").data[0].id, topic["id"])

    def choose():
        contact = suite.data(
            "Contacts.create",
            {"email": "ms-topics@customer.example.net", "topics": [{"id": topic["id"], "subscription": "opt_out"}]},
        ).id
        row = next(row for row in suite.data("Contacts.Topics.list", contact).data if row.id == topic["id"])
        assert_equal((row.subscription, row.explicit, row.visibility), ("opt_out", True, "public"))
        response = suite.data(
            "Contacts.Topics.update", {"id": contact, "topics": [{"id": topic["id"], "subscription": "opt_in"}]}
        )
        assert_equal(response.id, contact)
        changed = next(row for row in response.topics if row.id == topic["id"])
        assert_equal((changed.subscription, changed.explicit), ("opt_in", True))
        suite.data("Contacts.remove", contact)

    def remove():
        assert_equal(suite.data("Topics.remove", topic["id"]), {"object": "topic", "id": topic["id"], "deleted": True})
        suite.refused(404, "not_found", "Topics.get", topic["id"])

    suite.check("Topics.create", "the whole resource in the response", create)
    suite.check("Topics.update", "a description", update)
    suite.check("Contacts.Topics.update", "an explicit choice, the changed rows in the response", choose)
    suite.check("Topics.remove", "removed, then 404", remove)


def segments(suite):
    suite.data("ContactProperties.create", {"key": "ms_age", "type": "number"})
    people = {
        "ada": {"first_name": "Ada", "properties": {"ms_team": "Blue 50%", "ms_age": 36}},
        "grace": {"first_name": "Grace", "last_name": "Hopper", "properties": {"ms_team": "blue", "ms_age": 9}},
        "anon": {"unsubscribed": True, "properties": {"ms_age": 100}},
    }
    host = "filter.example.net"
    items = [{"email": f"{name}@{host}", **fields} for name, fields in people.items()]
    ids = [row.id for row in suite.data("Contacts.Batch.create", items).data]
    here = {"field": "email", "op": "ends_with", "value": f"@{host}"}

    def condition(field, op, value=None):
        return {"field": field, "op": op, "value": value}

    cases = [
        ("equals", [condition("first_name", "equals", "Ada")], ["ada"]),
        ("equals is case-sensitive", [condition("property:ms_team", "equals", "Blue")], []),
        ("not_equals matches a missing value", [condition("first_name", "not_equals", "Ada")], ["anon", "grace"]),
        ("contains is literal", [condition("property:ms_team", "contains", "0%")], ["ada"]),
        ("starts_with", [condition("email", "starts_with", "gr")], ["grace"]),
        ("is_set", [condition("last_name", "is_set")], ["grace"]),
        ("is_not_set", [condition("last_name", "is_not_set")], ["anon", "ada"]),
        ("is_true", [condition("unsubscribed", "is_true")], ["anon"]),
        ("is_false", [condition("unsubscribed", "is_false")], ["grace", "ada"]),
        ("after", [condition("created_at", "after", "2020-01-01T00:00:00Z")], ["anon", "grace", "ada"]),
        ("before", [condition("created_at", "before", "2020-01-01")], []),
        ("a number equals its text", [condition("property:ms_age", "equals", "36")], ["ada"]),
        ("greater_than compares numbers", [condition("property:ms_age", "greater_than", "10")], ["anon", "ada"]),
        ("less_than compares numbers", [condition("property:ms_age", "less_than", "36.5")], ["grace", "ada"]),
        (
            "both conditions must match",
            [condition("property:ms_age", "greater_than", "10"), condition("unsubscribed", "is_false")],
            ["ada"],
        ),
        ("only the condition for the host", [], ["anon", "grace", "ada"]),
    ]

    def members(segment):
        rows = suite.data("Contacts.list", segment_id=segment).data
        assert_equal(suite.data("Segments.get", segment).contact_count, len(rows))
        return [row.email.split("@")[0] for row in rows]

    segment = suite.data("Segments.create", {"name": "Filtered", "filter": {"match": "all", "conditions": [here]}}).id
    for note, conditions, expected in cases:

        def matches():
            chosen = {"match": "all", "conditions": [here, *conditions]}
            response = suite.data("Segments.update", segment, {"filter": chosen})
            assert_equal((response.object, shape(response.filter)), ("segment", shape(chosen)))
            assert_equal(members(segment), expected)

        suite.check("Segments.update", f"a filter: {note}", matches)

    def alternatives():
        either = [
            condition("first_name", "equals", "Ada"),
            condition("first_name", "equals", "Grace"),
            condition("property:ms_team", "equals", "nobody"),
        ]
        suite.data("Segments.update", segment, {"filter": {"match": "any", "conditions": either}})
        rows = [row.email for row in suite.data("Contacts.list", segment_id=segment).data if row.email.endswith(host)]
        assert_equal(rows, [f"grace@{host}", f"ada@{host}"])

    def explicit_members():
        suite.data(
            "Segments.update",
            segment,
            {"filter": {"match": "all", "conditions": [here, condition("first_name", "equals", "Ada")]}},
        )
        suite.data("Contacts.Segments.add", {"contact_id": ids[2], "segment_id": segment})
        suite.data("Contacts.Segments.add", {"email": f"ada@{host}", "segment_id": segment})
        assert_equal(members(segment), ["anon", "ada"])
        response = suite.data("Contacts.Segments.remove", {"contact_id": ids[2], "segment_id": segment})
        assert_equal(response.deleted, True)
        assert_equal(members(segment), ["ada"])

    def cleared():
        suite.data("Segments.update", segment, {"filter": None})
        assert_equal(suite.data("Segments.get", segment).filter, None)
        assert_equal(members(segment), ["ada"])
        suite.data("Segments.update", segment, {"name": "Explicit"})
        assert_equal(suite.data("Segments.list", limit=1).data[0].name, "Explicit")

    def refused():
        for bad in (
            condition("shoe_size", "equals", "44"),
            condition("property:", "equals", "x"),
            condition("email", "greater_than", "3"),
            condition("email", "resembles", "x"),
            condition("email", "equals"),
            condition("created_at", "after", "soon"),
            condition("unsubscribed", "equals", "true"),
        ):
            chosen = {"match": "all", "conditions": [bad]}
            suite.refused(422, "validation_error", "Segments.create", {"name": "Bad", "filter": chosen})
        unmatched = {"match": "most", "conditions": []}
        suite.refused(422, "validation_error", "Segments.update", segment, {"filter": unmatched})

    def remove():
        assert_equal(suite.data("Segments.remove", segment), {"object": "segment", "id": segment, "deleted": True})
        suite.refused(404, "not_found", "Segments.get", segment)

    suite.check("Segments.update", "any: one matching condition is enough", alternatives)
    suite.check("Contacts.Segments.add", "explicit members and matches of the filter, each once", explicit_members)
    suite.check("Segments.update", "without a filter, the explicit members remain", cleared)
    suite.check("Segments.create", "a bad field, operator, value or match is 422", refused)
    suite.check("Segments.remove", "removed, then 404", remove)
    suite.data("Contacts.Batch.remove", {"ids": ids})
    suite.data(
        "ContactProperties.remove",
        next(row.id for row in suite.data("ContactProperties.list").data if row.key == "ms_age"),
    )


def shape(chosen):
    """Returns a filter with each condition as a tuple. A missing value equals a null value."""
    return chosen["match"], [(row["field"], row["op"], row.get("value")) for row in chosen["conditions"]]


def contacts(suite):
    email = "ms-contact@customer.example.net"

    def create():
        made = suite.data("Contacts.create", {"email": email, "first_name": "Ada", "properties": {"team": "red"}})
        assert_equal(made.object, "contact")
        assert_matches(UUID, made.id)

    def update():
        suite.data(
            "Contacts.update",
            {"email": email, "first_name": None, "last_name": "Lovelace", "properties": {"floor": "3"}},
        )
        read = suite.data("Contacts.get", email=email)
        assert_equal((read.first_name, read.last_name, sorted(read.properties)), (None, "Lovelace", ["floor", "team"]))
        assert_matches(TIMESTAMP, read.created_at)

    def include():
        plain = suite.data("Contacts.list", limit=1).data[0]
        assert_equal(plain.email, email)
        assert "properties" not in plain and "topics" not in plain, plain
        topic = suite.data("Topics.create", {"name": "Include", "default_subscription": "opt_out"}).id
        row = suite.data("Contacts.list", limit=1, include=["properties", "topics"]).data[0]
        assert_equal(row.properties.team, {"type": "string", "value": "red"})
        choice = next(row for row in row.topics if row.id == topic)
        assert_equal(
            (choice.name, choice.subscription, choice.explicit, choice.visibility),
            ("Include", "opt_out", False, "private"),
        )
        row = suite.data("Contacts.list", limit=1, include=["properties"]).data[0]
        assert "topics" not in row, row
        suite.refused(422, "validation_error", "Contacts.list", include=["everything"])
        suite.data("Topics.remove", topic)

    def preferences():
        contact = suite.data("Contacts.get", email=email).id
        for key in ({"id": contact}, {"email": email}):
            link = suite.data("Contacts.preferences_link", **key)
            assert_equal((link.object, link.contact), ("preferences_link", contact))
            with open_url(link.url) as page:
                assert_equal((page.status, page.headers.get_content_type()), (200, "text/html"))
        suite.refused(404, "not_found", "Contacts.preferences_link", UNKNOWN_ID)

    def erase():
        sent = millionsend.Emails.send(
            {"from": "sender@example.com", "to": [email, "one@example.net"], "subject": "erase", "text": "hello"}
        )
        contact = suite.data("Contacts.get", email=email).id
        response = suite.data("Contacts.remove", email=email, erase=True)
        assert_equal((response.object, response.contact, response.deleted), ("contact", contact, True))
        suite.refused(404, "not_found", "Contacts.get", contact)
        recipients = lambda: millionsend.Emails.get(sent.id).to  # noqa: E731
        until(recipients, lambda to: to == ["[erased]", "one@example.net"], ERASE_TIMEOUT_S)

    def remove():
        contact = suite.data("Contacts.create", {"email": email}).id
        response = suite.data("Contacts.remove", contact)
        assert_equal((response.object, response.contact, response.deleted), ("contact", contact, True))
        suite.refused(404, "not_found", "Contacts.remove", contact, erase=True)

    suite.check("Contacts.create", "a contact", create)
    suite.check("Contacts.update", "None clears, properties merge", update)
    suite.check("Contacts.list", "include adds properties and topics", include)
    suite.check("Contacts.preferences_link", "a link to a page, by id and by email", preferences)
    suite.check("Contacts.remove", "erase also removes the address from the emails", erase)
    suite.check("Contacts.remove", "removed, then 404", remove)


def open_url(url):
    return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=10)


def suppressions(suite):
    one, two = "ms-one@suppressed.example.net", "ms-two@suppressed.example.net"

    def add():
        for method in ("Suppressions.add", "Suppressions.create"):
            row = suite.data(method, {"email": one})
            assert_equal((row.object, suite.data("Suppressions.get", one).id), ("suppression", row.id))
        assert_equal(suite.data("Suppressions.list", limit=1, origin="manual").data[0].email, one)

    def remove():
        entry = suite.data("Suppressions.get", one).id
        assert_equal(suite.data("Suppressions.remove", one), {"object": "suppression", "id": entry, "deleted": True})
        suite.refused(404, "not_found", "Suppressions.get", entry)

    def batch():
        added = suite.data("Suppressions.Batch.add", {"emails": [one, two, one.upper()]})
        ids = list(dict.fromkeys(row.id for row in added.data))
        assert_equal(len(ids), 2)
        removed = suite.data("Suppressions.Batch.remove", {"ids": [ids[1]]})
        assert_equal(removed.data, [{"object": "suppression", "id": ids[1], "deleted": True}])
        removed = suite.data("Suppressions.Batch.remove", {"emails": [one, two]})
        assert_equal([row.id for row in removed.data], [ids[0]])

    def untouched():
        """A batch of contacts does not change the suppression list."""
        suite.data("Suppressions.add", {"email": one})
        suite.data("Contacts.Batch.create", [{"email": one}])
        assert_equal(suite.data("Suppressions.get", one).origin, "manual")
        suite.data("Contacts.remove", email=one)
        suite.data("Suppressions.remove", one)

    suite.check("Suppressions.add", "once, with the origin manual", add)
    suite.check("Suppressions.remove", "by email, then 404", remove)
    suite.check("Suppressions.Batch.add", "ids in order, removed by ids and by emails", batch)
    suite.check("Contacts.Batch.create", "suppressed addresses stay suppressed", untouched)
