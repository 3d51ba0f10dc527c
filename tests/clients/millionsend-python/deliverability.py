"""The insights of an email, and the deliverability of the team."""

import contextlib

import millionsend

from check import TIMESTAMP, UNKNOWN_ID, assert_equal, assert_matches, until

FIELDS = {
    "object",
    "score",
    "band",
    "content_score",
    "outcome_score",
    "complaint_rate",
    "hard_bounce_rate",
    "emails_sent",
    "scored_recipients",
    "window_days",
    "insufficient_outcome_data",
    "guardrail_status",
    "score_version",
}


def send():
    """Sends an email that fails a check of its content, and returns its id. The server checks it some seconds later."""
    html = '<p><a href="https://bit.ly/x">Read more</a></p>'
    return millionsend.Emails.send(
        {"from": "sender@example.com", "to": ["one@example.net"], "subject": "insights", "html": html}
    ).id


def insights(suite, sent_id):
    def read():
        """Returns the insights; `None` before the checks have run."""
        with contextlib.suppress(millionsend.NotFoundError):
            return suite.data("Emails.get_insights", sent_id)

    def of_an_email():
        row = until(read, bool)
        assert_equal((row.object, row.email_id, row.score_version), ("email_insights", sent_id, 1))
        assert_matches(TIMESTAMP, row.created_at)
        checks = {check.id: check for check in row.checks}
        shorteners = checks["no_shorteners"]
        assert_equal((shorteners.severity, shorteners.weight, shorteners.status), ("major", 1.25, "fail"))
        assert_equal(shorteners.detail.hosts, ["bit.ly"])
        assert_equal(checks["insecure_links"].status, "pass")
        failing = sum(check.weight for check in row.checks if check.status == "fail")
        assert abs(row.score - (10 - failing)) <= 0.05, (row.score, failing)
        suite.refused(404, "not_found", "Emails.get_insights", UNKNOWN_ID)

    suite.check("Emails.get_insights", "a failing check with its facts; an unknown id is 404", of_an_email)


def account(suite):
    """Checks the deliverability after the insights of an email: the worker stores both at once."""

    def of_the_team():
        row = suite.data("Deliverability.get")
        assert_equal(set(row), FIELDS)
        assert_equal((row.object, row.window_days, row.score_version), ("deliverability", 30, 1))
        assert_equal((row.guardrail_status, row.complaint_rate, row.hard_bounce_rate), ("ok", 0, 0))
        assert 1 <= row.scored_recipients <= row.emails_sent, row
        # Fewer than 100 recipients are too few for a score of the outcome.
        assert_equal((row.insufficient_outcome_data, row.outcome_score), (True, None))
        assert 5 <= row.content_score < 10, row
        assert_equal(row.score, row.content_score)
        assert row.band in ("excellent", "good", "needs_attention"), row.band

    suite.check("Deliverability.get", "all fields, with the score of the content alone", of_the_team)
