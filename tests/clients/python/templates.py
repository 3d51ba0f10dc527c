"""Templates: drafts and published versions, and the emails that are rendered from them."""

from check import TIMESTAMP, UNKNOWN_ID, UUID, assert_equal, assert_matches

FROM = "Example Sender <sender@example.com>"
HTML = "<p>Hello {{{NAME}}}, you have {{{COUNT|no}}} letters</p>"
TEXT = "Hello {{{NAME}}}, you have {{{COUNT|no}}} letters"


def run(suite):
    alias = f"python-{suite.label}-welcome"
    source = {"name": "Python welcome", "alias": alias, "subject": "Welcome {{{NAME}}}", "html": HTML, "text": TEXT}
    template = drafts(suite, source)
    if not template:
        return
    refusals(suite, source)
    publishing(suite, source, template)
    sends(suite, alias)

    def remove():
        removed = suite.data("templates.remove", alias)
        assert_equal(removed, {"object": "template", "id": template, "deleted": True})
        suite.refused(404, "not_found", "templates.remove", template)
        suite.refused(404, "not_found", "templates.get", alias)

    suite.check("templates.remove", "by alias, then 404", remove)


def drafts(suite, source):
    alias, created = source["alias"], {}

    def create():
        created.update(suite.data("templates.create", source))
        assert_equal(created["object"], "template")
        assert_matches(UUID, created["id"])

    def read():
        for key in (created["id"], alias):
            row = suite.data("templates.get", key)
            for name in ("created_at", "updated_at"):
                assert_matches(TIMESTAMP, row[name])
            assert_matches(UUID, row["current_version_id"])
            expected = {
                **source,
                "object": "template",
                "id": created["id"],
                "status": "draft",
                "published_at": None,
                "from": None,
                "reply_to": None,
                "variables": [],
            }
            assert_equal({name: row[name] for name in expected}, expected)
            assert isinstance(row["has_unpublished_versions"], bool), row
        unknown = suite.refused(404, "not_found", "templates.get", UNKNOWN_ID)
        assert_equal(unknown.message, "Template not found")
        suite.refused(404, "not_found", "templates.get", "python-unknown")

    def update():
        other = f"{alias}-2"
        response = suite.data("templates.update", {"id": alias, "name": "Python letter", "alias": other})
        assert_equal(response, {"object": "template", "id": created["id"]})
        suite.refused(404, "not_found", "templates.get", alias)
        suite.data("templates.update", {"id": created["id"], "name": source["name"], "alias": alias})
        row = suite.data("templates.get", alias)
        assert_equal([row[name] for name in ("name", "html", "subject")], [source["name"], HTML, source["subject"]])

    def listed():
        other = suite.data("templates.create", {"name": "Python other", "html": "<p>Other</p>"})["id"]
        page = suite.data("templates.list")
        assert_equal(page["object"], "list")
        rows = [(row["id"], row["name"], row["alias"], row["status"]) for row in page["data"][:2]]
        wanted = [(other, "Python other", None, "draft"), (created["id"], source["name"], alias, "draft")]
        assert_equal(rows, wanted)
        row = page["data"][0]
        assert_matches(TIMESTAMP, row["created_at"])
        assert_matches(TIMESTAMP, row["updated_at"])
        assert_equal(row["published_at"], None)
        newest = suite.data("templates.list", {"limit": 1})
        assert_equal((newest["has_more"], newest["data"][0]["id"]), (True, other))
        assert_equal(suite.data("templates.list", {"limit": 1, "after": other})["data"][0]["id"], created["id"])
        assert_equal(suite.data("templates.list", {"limit": 1, "before": created["id"]})["data"][0]["id"], other)
        suite.data("templates.remove", other)

    suite.check("templates.create", "a draft", create)
    if not created:
        return None
    suite.check("templates.get", "every field, by id and by alias; an unknown one is 404", read)
    suite.check("templates.update", "by alias and by id; a new alias; absent fields stay", update)
    suite.check("templates.list", "newest first, limit and cursors", listed)
    return created["id"]


def refusals(suite, source):
    plain = {name: value for name, value in source.items() if name != "alias"}

    def taken():
        suite.refused(409, "validation_error", "templates.create", source)
        other = suite.data("templates.create", plain)["id"]
        suite.refused(409, "validation_error", "templates.update", {"id": other, "alias": source["alias"]})
        suite.data("templates.remove", other)

    def missing():
        unnamed = suite.refused(422, "missing_required_field", "templates.create", {"html": "<p>a</p>"})
        assert_equal(unnamed.message, "Missing `name` field.")
        empty = suite.refused(422, "missing_required_field", "templates.create", {"name": "Python"})
        assert_equal(empty.message, "Missing `html` field.")

    def tolerated():
        fields = {"from": None, "reply_to": None, "variables": []}
        suite.data("templates.remove", suite.data("templates.create", {**plain, **fields})["id"])

    suite.check("templates.create", "an alias that is taken is 409", taken)
    suite.check("templates.create", "no name and no html are 422", missing)
    suite.check("templates.create", "null and empty `from`, `reply_to` and `variables`", tolerated)
    variables = [{"key": "NAME", "type": "string", "fallback_value": "you"}]
    for field, value in {"from": FROM, "reply_to": "reply@example.com", "variables": variables}.items():
        note = f"a template does not store {field}"
        suite.must_fail(422, "validation_error", note, "templates.create", {**plain, field: value})
        update = {"id": source["alias"], field: value}
        suite.must_fail(422, "validation_error", note, "templates.update", update)


def message(alias, variables=None, **fields):
    template = {"id": alias} if variables is None else {"id": alias, "variables": variables}
    return {"from": FROM, "to": "one@example.net", "template": template, **fields}


def rendered(suite, *arguments, **fields):
    """Sends an email with a template, and returns it."""
    return suite.data("emails.get", suite.data("emails.send", message(*arguments, **fields))["id"])


def publishing(suite, source, template):
    alias, ada = source["alias"], {"NAME": "Ada"}

    def unpublished():
        suite.refused(422, "validation_error", "emails.send", message(alias, ada))

    def publish():
        assert_equal(suite.data("templates.publish", alias), {"object": "template", "id": template})
        row = suite.data("templates.get", template)
        assert_matches(TIMESTAMP, row["published_at"])
        assert_equal((row["status"], row["has_unpublished_versions"]), ("published", False))
        suite.data("templates.update", {"id": template, "html": "<p>Dear {{{NAME}}}</p>"})
        row = suite.data("templates.get", template)
        assert_equal((row["status"], row["has_unpublished_versions"]), ("published", True))
        assert_matches("Hello Ada, you have no letters", rendered(suite, alias, ada)["html"])
        suite.data("templates.publish", template)
        assert_matches("Dear Ada", rendered(suite, alias, ada)["html"])
        suite.data("templates.update", {"id": template, "html": HTML})
        suite.data("templates.publish", template)
        suite.refused(404, "not_found", "templates.publish", UNKNOWN_ID)

    def duplicate():
        copy = suite.data("templates.duplicate", alias)
        assert_equal(copy["object"], "template")
        row = suite.data("templates.get", copy["id"])
        names = ("alias", "status", "html", "text", "subject")
        assert_equal([row[name] for name in names], [None, "draft", HTML, TEXT, source["subject"]])
        suite.data("templates.remove", copy["id"])
        suite.refused(404, "not_found", "templates.duplicate", UNKNOWN_ID)

    suite.check("emails.send", "a template that is not published is 422", unpublished)
    suite.check("templates.publish", "by alias and by id; a change needs another one", publish)
    suite.check("templates.duplicate", "a draft without the alias", duplicate)


def sends(suite, alias):
    name = "<b>Ada & Co</b>"

    def escaped():
        email = rendered(suite, alias, {"NAME": name, "COUNT": 3})
        assert_matches("Hello &lt;b&gt;Ada &amp; Co&lt;/b&gt;, you have 3 letters", email["html"])
        assert_matches("Hello <b>Ada & Co</b>, you have 3 letters", email["text"])
        assert_equal(email["subject"], f"Welcome {name}")
        subject = rendered(suite, alias, {"NAME": "Ada\r\nBcc: b@example.net"})["subject"]
        assert not set(subject) & set("\r\n"), subject
        assert_equal(rendered(suite, alias, {"NAME": "Ada"}, subject="Own subject")["subject"], "Own subject")

    def refused():
        missing = suite.refused(422, "validation_error", "emails.send", message(alias))
        assert_matches("NAME", missing.message)
        for field in ("html", "text"):
            both = message(alias, {"NAME": "Ada"}, **{field: "Hello"})
            suite.refused(422, "validation_error", "emails.send", both)
        for unknown in (UNKNOWN_ID, "python-unknown"):
            error = suite.refused(404, "not_found", "emails.send", message(unknown))
            assert_equal(error.message, "Template not found")

    def batch():
        rows = suite.data("batch.send", [message(alias, {"NAME": name}) for name in ("Ada", "Bob")])["data"]
        texts = [suite.data("emails.get", row["id"])["text"] for row in rows]
        assert_matches("Hello Ada,", texts[0])
        assert_matches("Hello Bob,", texts[1])
        items = [message(alias, {"NAME": "Ada"}), message(alias)]
        assert_matches(r"^emails\.1: .*NAME", suite.refused(422, "validation_error", "batch.send", items).message)

    suite.check("emails.send", "a template: escaped in html, raw in text, on one line in the subject", escaped)
    suite.check("emails.send", "a template with a missing value, beside a body, or unknown is refused", refused)
    suite.check("batch.send", "templates with different values; a missing one names the item", batch)
