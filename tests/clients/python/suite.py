"""Tests the official Python SDK, unmodified, against a running server: the newest major version, and the one before it.

The SDK reads the key and the URL from RESEND_API_KEY and RESEND_API_URL.
"""

import importlib
import sys

import resend

from check import IS_OLDER, METHODS, NAME, Suite

OLDER_PARTS = ("emails", "batch", "domains", "api_keys", "segments", "contacts")
PARTS = (
    *OLDER_PARTS,
    "contact_properties",
    "topics",
    "suppressions",
    "broadcasts",
    "tracking",
    "templates",
    "webhooks",
    "verifiers",
    "logs",
    "instance",
)

if not IS_OLDER:
    assert resend.default_async_http_client is not None, "httpx is missing: the asyncio methods need it"
for suffix in ("",) if IS_OLDER else ("", "_async"):
    suite = Suite(suffix)
    for part in OLDER_PARTS if IS_OLDER else PARTS:
        suite.part(importlib.import_module(part))

for method in sorted(METHODS - Suite.called):
    Suite.fail(method, "coverage", "no check calls this method of the SDK")

print(f"client {NAME}: called {len(METHODS & Suite.called)} of {len(METHODS)} methods")
print(f"client {NAME}: {Suite.passed} passed, {Suite.failed} failed")
sys.exit(Suite.failed > 0)
