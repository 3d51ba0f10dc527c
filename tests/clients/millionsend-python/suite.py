"""Tests the `millionsend` package for Python, unmodified, against a running server.

It has the batch, erase and rotate calls that the compatible API does not have, the insights of an email, the
deliverability, and other types for the usage. Its other methods for emails, and those for broadcasts,
templates and domains equal those of the official SDK, so this suite does not call them.
"""

import os
import sys

import millionsend

import audience
import batches
import deliverability
import webhooks
from check import Suite

millionsend.api_key = os.environ["RESEND_API_KEY"]
millionsend.base_url = os.environ["RESEND_BASE_URL"]

suite = Suite()
sent_id = deliverability.send()  # The server checks the content while the other parts run.
for part in (audience.properties_and_topics, audience.segments, audience.contacts, audience.suppressions):
    suite.part(part)
for part in (batches.conflicts, batches.repeats, batches.validation, batches.reading, batches.removing):
    suite.part(part)
for part in (webhooks.endpoints, webhooks.usage):
    suite.part(part)
suite.part(deliverability.insights, sent_id)
suite.part(deliverability.account)
sys.exit(not suite.cover())
