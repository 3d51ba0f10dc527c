"""The batch calls of contacts: conflicts, strict and permissive validation, order and counts."""

from check import UNKNOWN_ID, assert_equal, assert_matches


def address(name):
    return f"ms-{name}@batch.example.net"


def conflicts(suite):
    """Checks batches with an email that an existing contact has."""
    known, new = address("known"), address("new")

    def reset():
        suite.data("Contacts.Batch.remove", {"emails": [known, new]})
        made = suite.data(
            "Contacts.create", {"email": known, "first_name": "Ada", "properties": {"team": "red", "floor": "3"}}
        )
        return made.id

    def error():
        reset()
        for options in ({}, {"on_conflict": "error"}):
            items = [{"email": new}, {"email": known.upper()}]
            refusal = suite.refused(409, "validation_error", "Contacts.Batch.create", items, **options)
            assert_matches(r"^contacts\.1: ", refusal.message)
        suite.refused(404, "not_found", "Contacts.get", email=new)

    def skip():
        contact = reset()
        items = [{"email": known, "first_name": "Grace"}, {"email": new, "first_name": "Grace"}]
        response = suite.data("Contacts.Batch.create", items, on_conflict="skip")
        assert_equal(
            [(row.object, row.index, row.status) for row in response.data],
            [("contact", 0, "skipped"), ("contact", 1, "created")],
        )
        assert_equal((response.data[0].id, response.counts), (contact, counts(created=1, skipped=1)))
        assert_equal(suite.data("Contacts.get", contact).first_name, "Ada")
        assert_equal(suite.data("Contacts.get", response.data[1].id).first_name, "Grace")

    def upsert():
        contact = reset()
        segment = suite.data("Segments.create", {"name": "Batch upsert"}).id
        topic = suite.data("Topics.create", {"name": "Batch upsert", "default_subscription": "opt_out"}).id
        item = {
            "email": known,
            "last_name": "Lovelace",
            "properties": {"team": "blue"},
            "segments": [{"id": segment}],
            "topics": [{"id": topic, "subscription": "opt_in"}],
        }
        response = suite.data("Contacts.Batch.create", [item, {"email": new}], on_conflict="upsert")
        assert_equal([row.status for row in response.data], ["updated", "created"])
        assert_equal((response.data[0].id, response.counts), (contact, counts(created=1, updated=1)))
        read = suite.data("Contacts.get", contact)
        assert_equal((read.first_name, read.last_name), ("Ada", "Lovelace"))
        values = {key: value.value for key, value in read.properties.items()}
        assert_equal(values, {"team": "blue", "floor": "3"})
        members = suite.data("Contacts.list", segment_id=segment, include=["topics"]).data
        assert_equal([row.id for row in members], [contact])
        choice = next(row for row in members[0].topics if row.id == topic)
        assert_equal((choice.subscription, choice.explicit), ("opt_in", True))
        suite.data("Segments.remove", segment)
        suite.data("Topics.remove", topic)

    def resubscribe():
        contact = reset()
        suite.data("Contacts.update", {"id": contact, "unsubscribed": True})
        suite.data("Contacts.Batch.create", [{"email": known, "unsubscribed": False}], on_conflict="upsert")
        assert_equal(suite.data("Contacts.get", contact).unsubscribed, True)
        suite.data("Contacts.update", {"id": contact, "unsubscribed": False})
        suite.data("Contacts.Batch.create", [{"email": known, "unsubscribed": True}], on_conflict="upsert")
        assert_equal(suite.data("Contacts.get", contact).unsubscribed, True)

    suite.check("Contacts.Batch.create", "an existing email is 409 with its index, and no contact is stored", error)
    suite.check("Contacts.Batch.create", "skip does not change the contact and returns its id", skip)
    suite.check("Contacts.Batch.create", "upsert merges names, properties, segments and topics", upsert)
    suite.check("Contacts.Batch.create", "a batch can opt out but not opt in again", resubscribe)
    suite.data("Contacts.Batch.remove", {"emails": [known, new]})


def repeats(suite):
    """Checks batches that contain an email twice."""
    email = address("repeated")
    items = [
        {"email": email, "first_name": "Ada", "properties": {"team": "red"}},
        {"email": email.upper(), "first_name": "Grace", "last_name": "Hopper", "properties": {"floor": "3"}},
    ]

    def delete():
        suite.data("Contacts.Batch.remove", {"emails": [email]})

    def error():
        refusal = suite.refused(422, "validation_error", "Contacts.Batch.create", items)
        assert_matches(r"^contacts\.1: ", refusal.message)
        suite.refused(404, "not_found", "Contacts.get", email=email)

    def skip():
        response = suite.data("Contacts.Batch.create", items, on_conflict="skip")
        assert_equal([row.status for row in response.data], ["created", "skipped"])
        assert_equal((response.data[0].id, response.counts), (response.data[1].id, counts(created=1, skipped=1)))
        assert_equal(suite.data("Contacts.get", email=email).first_name, "Ada")
        delete()

    def upsert():
        response = suite.data("Contacts.Batch.create", items, on_conflict="upsert")
        assert_equal(response.data[0].id, response.data[1].id)
        assert_equal((response.data[0].status, sum(response.counts.values())), ("created", 2))
        read = suite.data("Contacts.get", email=email)
        assert_equal((read.email, read.first_name, read.last_name), (email, "Grace", "Hopper"))
        assert_equal(sorted(read.properties), ["floor", "team"])
        delete()

    suite.check("Contacts.Batch.create", "the second occurrence of an email is refused", error)
    suite.check("Contacts.Batch.create", "skip uses the first occurrence of an email", skip)
    suite.check("Contacts.Batch.create", "upsert stores one contact with the names of the last occurrence", upsert)


def validation(suite):
    good, also_good = address("good"), address("also-good")
    items = [
        {"email": good},
        {"email": "not an address"},
        {"first_name": "Ada"},
        {"email": address("foreign"), "segments": [{"id": UNKNOWN_ID}]},
        {"email": also_good},
    ]

    def strict():
        for options in ({}, {"batch_validation": "strict"}):
            refusal = suite.refused(422, "validation_error", "Contacts.Batch.create", items[:2], **options)
            assert_matches(r"^contacts\.1: ", refusal.message)
        missing = suite.refused(422, "missing_required_field", "Contacts.Batch.create", [items[0], items[2]])
        assert_equal(missing.message, "contacts.1: Missing `email` field.")
        foreign = suite.refused(404, "not_found", "Contacts.Batch.create", [items[0], items[3]])
        assert_matches(r"^contacts\.1: ", foreign.message)
        suite.refused(404, "not_found", "Contacts.get", email=good)

    def permissive():
        response = suite.data("Contacts.Batch.create", items, batch_validation="permissive")
        assert_equal([(row.index, row.status) for row in response.data], [(0, "created"), (4, "created")])
        assert_equal(response.counts, counts(created=2, failed=3))
        assert_equal([row.index for row in response.errors], [1, 2, 3])
        assert all(row.message for row in response.errors), response.errors
        suite.data("Contacts.Batch.remove", {"emails": [good, also_good]})

    def bounds():
        suite.refused(422, "validation_error", "Contacts.Batch.create", [])
        suite.refused(422, "validation_error", "Contacts.Batch.create", [{"email": good}] * 1001)
        suite.refused(422, "validation_error", "Contacts.Batch.create", [{"email": good}], on_conflict="whim")
        suite.refused(422, "validation_error", "Contacts.Batch.create", [{"email": good}], batch_validation="whim")
        emails = [address(f"bulk{number}") for number in range(1000)]
        made = suite.data("Contacts.Batch.create", [{"email": email} for email in emails])
        assert_equal((len(made.data), made.counts, made.errors), (1000, counts(created=1000), []))
        assert_equal([row.index for row in made.data], list(range(1000)))
        read = suite.data("Contacts.Batch.get", [{"email": email} for email in emails])
        assert_equal([row.email for row in read.data], emails)
        assert_equal(len(suite.data("Contacts.Batch.remove", {"emails": emails}).data), 1000)

    suite.check("Contacts.Batch.create", "strict: one bad item refuses the batch and names it", strict)
    suite.check("Contacts.Batch.create", "permissive: valid items are stored, others are listed", permissive)
    suite.check("Contacts.Batch.create", "1,000 contacts; no entry, 1,001 and unknown options are 422", bounds)


def reading(suite):
    emails = [address("first"), address("second")]
    items = [{"email": emails[0], "properties": {"team": "red"}}, {"email": emails[1], "first_name": "Ada"}]
    first, second = (row.id for row in suite.data("Contacts.Batch.create", items).data)
    topic = suite.data("Topics.create", {"name": "Batch get", "default_subscription": "opt_in"}).id

    def order():
        requested = [{"email": emails[1].upper()}, UNKNOWN_ID, first, {"email": address("nobody")}]
        response = suite.data("Contacts.Batch.get", requested)
        assert_equal((response.object, [row.id for row in response.data]), ("list", [second, first]))
        assert all(
            row.object == "contact" and "properties" not in row and "topics" not in row for row in response.data
        ), response.data
        assert_equal(response.missing, [{"index": 1, "id": UNKNOWN_ID}, {"index": 3, "email": address("nobody")}])

    def include():
        response = suite.data("Contacts.Batch.get", [first, second], include=["properties", "topics"])
        assert_equal(response.data[0].properties, {"team": {"type": "string", "value": "red"}})
        assert_equal(response.data[1].properties, {})
        choice = next(row for row in response.data[1].topics if row.id == topic)
        assert_equal((choice.subscription, choice.explicit, choice.visibility), ("opt_in", False, "private"))
        only = suite.data("Contacts.Batch.get", [first], include=["topics"]).data[0]
        assert "topics" in only and "properties" not in only, only

    def bounds():
        suite.refused(422, "validation_error", "Contacts.Batch.get", [])
        suite.refused(422, "validation_error", "Contacts.Batch.get", [UNKNOWN_ID] * 1001)
        suite.refused(422, "validation_error", "Contacts.Batch.get", [{}])
        suite.refused(422, "validation_error", "Contacts.Batch.get", [{"id": first, "email": emails[0]}])
        suite.refused(422, "validation_error", "Contacts.Batch.get", [first], include=["everything"])

    suite.check("Contacts.Batch.get", "in the order of the request, unknown contacts under missing", order)
    suite.check("Contacts.Batch.get", "include adds properties and topics", include)
    suite.check("Contacts.Batch.get", "no entry, 1,001, an empty one and one with two keys are 422", bounds)
    suite.data("Contacts.Batch.remove", {"ids": [first, second]})
    suite.data("Topics.remove", topic)


def removing(suite):
    emails = [address("one"), address("two"), address("three")]

    def make():
        return [row.id for row in suite.data("Contacts.Batch.create", [{"email": email} for email in emails]).data]

    def remove():
        ids = make()
        by_email = suite.data("Contacts.Batch.remove", {"emails": [emails[0].upper(), address("nobody")]})
        assert_equal(by_email.data, [{"object": "contact", "contact": ids[0], "deleted": True}])
        by_id = suite.data("Contacts.Batch.remove", {"ids": [ids[1], ids[2], UNKNOWN_ID]})
        assert_equal([row.contact for row in by_id.data], ids[1:])
        assert_equal(len(suite.data("Contacts.Batch.get", ids).missing), 3)

    def erase():
        ids = make()
        response = suite.data("Contacts.Batch.remove", {"ids": ids}, erase=True)
        assert_equal([row.deleted for row in response.data], [True, True, True])
        suite.refused(404, "not_found", "Contacts.get", email=emails[0])

    def bounds():
        suite.refused(422, "validation_error", "Contacts.Batch.remove", {"ids": []})
        suite.refused(422, "validation_error", "Contacts.Batch.remove", {"ids": [UNKNOWN_ID] * 1001})
        suite.refused(422, "validation_error", "Contacts.Batch.remove", {})

    suite.check("Contacts.Batch.remove", "by emails, then by ids; the response lists the deleted contacts", remove)
    suite.check("Contacts.Batch.remove", "erased", erase)
    suite.check("Contacts.Batch.remove", "no entry, 1,001 entries and no list are 422", bounds)


def counts(**given):
    return {"created": 0, "updated": 0, "skipped": 0, "failed": 0, **given}
