"""Tests django-anymail, unmodified: its Resend backend sends to a running server, and its tracking view
receives the webhooks of that server.
"""

import os
import sys

import django
from django.conf import settings

settings.configure(
    SECRET_KEY="only for this test",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF="receiver",
    INSTALLED_APPS=["anymail"],
    USE_TZ=True,
    TIME_ZONE="Europe/Berlin",
    DEFAULT_FROM_EMAIL="Example Sender <sender@example.com>",
    EMAIL_BACKEND="anymail.backends.resend.EmailBackend",
    ANYMAIL={
        "RESEND_API_KEY": os.environ["RESEND_API_KEY"],
        "RESEND_API_URL": os.environ["RESEND_API_URL"],
    },
    # The view refuses requests on purpose. Django would log each of them.
    LOGGING={"version": 1, "loggers": {"django": {"level": "CRITICAL"}}},
)
django.setup()

import refusals  # noqa: E402
import sending  # noqa: E402
import tracking  # noqa: E402
from check import Suite  # noqa: E402
from receiver import Endpoint, Receiver  # noqa: E402

suite = Suite()
with Receiver() as receiver, Endpoint(receiver.url) as endpoint:
    for part, *arguments in (
        (sending.forms, receiver),
        (sending.attachments,),
        (sending.tags_and_metadata, receiver),
        (sending.scheduling,),
        (sending.batches, receiver),
        (refusals.by_the_server,),
        (refusals.by_anymail,),
        (tracking.events, receiver),
        (tracking.hits, receiver),
        (tracking.samples, receiver, endpoint),
        (tracking.signatures, receiver, endpoint),
    ):
        suite.part(part, *arguments)
sys.exit(not suite.finish())
