import uuid

from check import IS_OLDER, UUID, assert_equal, assert_matches


def message(subject, **fields):
    return {
        "from": "Example Sender <sender@example.com>",
        "to": ["one@example.net"],
        "subject": subject,
        "text": "hello from the python suite",
        **fields,
    }


def run(suite):
    def two():
        response = suite.data("batch.send", [message("batch one"), message("batch two")])
        assert_equal((len(response["data"]), response.get("errors")), (2, None if IS_OLDER else []))
        for row, subject in zip(response["data"], ("batch one", "batch two")):
            assert_matches(UUID, row["id"])
            email = suite.until(
                lambda: suite.data("emails.get", row["id"]), lambda read: read["last_event"] == "delivered"
            )
            assert_equal(email["subject"], subject)

    def idempotent():
        options = {"idempotency_key": f"python-{uuid.uuid4()}"}
        first = suite.data("batch.send", [message("once"), message("once more")], options)
        assert_equal(suite.data("batch.send", [message("once"), message("once more")], options), first)
        suite.refused(409, "invalid_idempotent_request", "batch.send", [message("changed")], options)

    def strict():
        bad = message("strict", to=["not an address"])
        for options in ((),) if IS_OLDER else ((None,), ({"batch_validation": "strict"},)):
            error = suite.refused(422, "validation_error", "batch.send", [message("strict"), bad], *options)
            assert_matches(r"^emails\.1: ", error.message)

    def permissive():
        bad = message("left out")
        del bad["subject"]
        response = suite.data("batch.send", [bad, message("kept")], {"batch_validation": "permissive"})
        assert_equal((len(response["data"]), [row["index"] for row in response["errors"]]), (1, [0]))
        assert_matches("Missing `subject` field.", response["errors"][0]["message"])

    def bounds():
        suite.refused(422, "validation_error", "batch.send", [])
        suite.refused(422, "validation_error", "batch.send", [message("too many")] * 101)

    suite.check("batch.send", "two emails, ids in order, both delivered", two)
    suite.check("batch.send", "strict: one bad item refuses the batch and names it", strict)
    if not IS_OLDER:  # Version 1 has no options.
        suite.check("batch.send", "the same idempotency key returns the same ids, another payload is 409", idempotent)
        suite.check("batch.send", "permissive: valid items are accepted, others are listed", permissive)
    suite.check("batch.send", "no emails and 101 emails are 422", bounds)
