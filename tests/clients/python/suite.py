"""Tests the official Python SDK, unmodified, against a running server.

The SDK reads the key and the URL from RESEND_API_KEY and RESEND_API_URL.
"""

import sys

import resend

import api_keys
import batch
import contact_properties
import contacts
import domains
import emails
import instance
import logs
import segments
import suppressions
import topics
import verifiers
import webhooks
from check import RESOURCES, Suite, methods_of

assert resend.default_async_http_client is not None, "httpx is missing: the asyncio methods need it"

PARTS = (
    emails,
    batch,
    domains,
    api_keys,
    contact_properties,
    topics,
    segments,
    contacts,
    suppressions,
    webhooks,
    verifiers,
    logs,
    instance,
)

for suffix in ("", "_async"):
    suite = Suite(suffix)
    for part in PARTS:
        suite.part(part)

methods = {method for name, resource in RESOURCES.items() for method in methods_of(resource, name)}
for method in sorted(methods - Suite.called):
    Suite.fail(method, "coverage", "no check calls this method of the SDK")

print(f"client python: called {len(methods & Suite.called)} of {len(methods)} methods")
print(f"client python: {Suite.passed} passed, {Suite.failed} failed")
sys.exit(Suite.failed > 0)
