from check import TIMESTAMP, UNKNOWN_ID, UUID, assert_equal, assert_matches


def run(suite):
    news_name, offers_name = f"Python {suite.label} news", f"Python {suite.label} offers"
    made = []

    def create():
        for topic in (
            {"name": news_name, "default_subscription": "opt_in", "description": "What is new", "visibility": "public"},
            {"name": offers_name, "default_subscription": "opt_out"},
        ):
            row = suite.data("topics.create", topic)
            assert_matches(UUID, row["id"])
            made.append(row["id"])

    suite.check("topics.create", "opt in and public, opt out and private", create)
    if len(made) < 2:
        return
    news, offers = made

    def refused():
        unnamed = suite.refused(422, "missing_required_field", "topics.create", {"default_subscription": "opt_in"})
        assert_equal(unnamed.message, "Missing `name` field.")
        undecided = suite.refused(422, "missing_required_field", "topics.create", {"name": "Python"})
        assert_equal(undecided.message, "Missing `default_subscription` field.")
        unknown = {"name": "Python", "default_subscription": "maybe"}
        suite.refused(422, "validation_error", "topics.create", unknown)

    def listed():
        page = suite.data("topics.list")
        assert_equal(page["object"], "list")
        assert_equal(
            [fields(row) for row in page["data"][:2]],
            [
                (offers, offers_name, None, "opt_out", "private"),
                (news, news_name, "What is new", "opt_in", "public"),
            ],
        )
        assert_matches(TIMESTAMP, page["data"][0]["created_at"])
        newest = suite.data("topics.list", {"limit": 1})
        assert_equal((newest["has_more"], newest["data"][0]["id"]), (True, offers))
        assert_equal(suite.data("topics.list", {"limit": 1, "after": offers})["data"][0]["id"], news)
        assert_equal(suite.data("topics.list", {"limit": 1, "before": news})["data"][0]["id"], offers)

    def read():
        assert_equal(fields(suite.data("topics.get", news)), (news, news_name, "What is new", "opt_in", "public"))
        assert_equal(suite.refused(404, "not_found", "topics.get", UNKNOWN_ID).message, "Topic not found")

    def update():
        changes = {"name": f"{news_name} monthly", "description": "Once a month", "visibility": "private"}
        assert_equal(suite.data("topics.update", news, changes)["id"], news)
        row = suite.data("topics.get", news)
        assert_equal(fields(row), (news, f"{news_name} monthly", "Once a month", "opt_in", "private"))
        suite.refused(422, "validation_error", "topics.update", news, {"default_subscription": "opt_out"})
        suite.refused(404, "not_found", "topics.update", UNKNOWN_ID, {"name": "Python"})

    def remove():
        for topic in made:
            assert_equal(suite.data("topics.remove", topic), {"object": "topic", "id": topic, "deleted": True})
            suite.refused(404, "not_found", "topics.get", topic)

    suite.check("topics.create", "no name, no default and an unknown default are 422", refused)
    suite.check("topics.list", "newest first, every field, limit and cursors", listed)
    suite.check("topics.get", "every field; an unknown id is 404", read)
    suite.check("topics.update", "name, description and visibility; the default stays", update)
    choices(suite, news, offers)
    suite.check("topics.remove", "removed, then 404", remove)


def choices(suite, news, offers):
    """Checks the topic choices of one contact by its id and by its email."""
    email = f"python-{suite.label}-topics@customer.example.net"
    opted_in = [{"id": offers, "subscription": "opt_in"}]
    contact = suite.data("contacts.create", {"email": email, "topics": opted_in})["id"]

    def rows(**key):
        page = suite.data("contacts.Topics.list", **key)
        assert_equal((page["object"], page["has_more"]), ("list", False))
        seen = {row["id"]: (row["subscription"], row["explicit"]) for row in page["data"]}
        return seen[news], seen[offers]

    def listed():
        for key in ({"contact_id": contact}, {"email": email}):
            assert_equal(rows(**key), (("opt_in", False), ("opt_in", True)))
        suite.refused(404, "not_found", "contacts.Topics.list", UNKNOWN_ID)

    def update():
        opt_out = [{"id": news, "subscription": "opt_out"}]
        assert_equal(suite.data("contacts.Topics.update", {"id": contact, "topics": opt_out})["id"], contact)
        assert_equal(rows(contact_id=contact), (("opt_out", True), ("opt_in", True)))
        both = [{"id": news, "subscription": "opt_in"}, {"id": offers, "subscription": "opt_out"}]
        suite.data("contacts.Topics.update", {"email": email, "topics": both})
        assert_equal(rows(email=email), (("opt_in", True), ("opt_out", True)))
        foreign = [{"id": UNKNOWN_ID, "subscription": "opt_in"}]
        suite.refused(404, "not_found", "contacts.Topics.update", {"id": contact, "topics": foreign})

    suite.check("contacts.Topics.list", "the default without a choice, by id and by email", listed)
    suite.check("contacts.Topics.update", "by id and by email; an unknown topic is 404", update)
    suite.data("contacts.remove", id=contact)


def fields(row):
    return tuple(row[name] for name in ("id", "name", "description", "default_subscription", "visibility"))
