"""Verification of DKIM signatures with dkimpy and the keys that the server publishes for a domain."""

import functools
import re

import dkim

SIGNATURE = re.compile(rb"(?im)^DKIM-Signature:[^\r\n]*(?:\r\n[ \t][^\r\n]*)*")
SIGNED_ALWAYS = {b"from", b"to", b"subject", b"date", b"message-id", b"mime-version", b"content-type"}


def published_keys(server, domain):
    """Returns the TXT value of each DKIM record by its full name, from `GET /domains/{id}`."""
    rows = server.api.ok("GET", "/domains")["data"]
    domain_id = next(row["id"] for row in rows if row["name"] == domain)
    keys = {}
    for record in server.api.ok("GET", f"/domains/{domain_id}")["records"]:
        if record["record"] == "DKIM":
            # The name in the response can be relative to the zone. Its first label is the selector.
            selector = record["name"].split("._domainkey", 1)[0]
            keys[f"{selector}._domainkey.{domain}."] = record["value"]
    return keys


def verified_algorithms(content, keys):
    """Returns the algorithms (`a=`) of all signatures of a message. Asserts that all of them verify.

    The signatures are the first headers, RSA before Ed25519. RFC 8463 §3 requires no order, but old
    verifiers check only the first signature.
    """
    found = SIGNATURE.findall(content)
    assert found, "the message has no DKIM-Signature"
    algorithms = []
    for index, header in enumerate(found):
        tags = dict(
            pair.strip().split(b"=", 1) for pair in re.sub(rb"\s+", b"", header.split(b":", 1)[1]).split(b";") if pair
        )
        checker = dkim.DKIM(content)
        assert checker.verify(idx=index, dnsfunc=functools.partial(lookup, keys)), (
            f"dkimpy does not verify the signature {header!r}"
        )
        signed = {name.lower() for name in tags[b"h"].split(b":")}
        assert SIGNED_ALWAYS <= signed, f"not signed: {SIGNED_ALWAYS - signed}"
        assert b"l" not in tags, "a body length (`l=`) allows text to be added below the signed part"
        algorithms.append(tags[b"a"].decode())
    return algorithms


def lookup(keys, name, timeout=5):
    """Returns a published key. Replaces the DNS lookup of dkimpy."""
    return keys.get(name.decode() if isinstance(name, bytes) else name)


def check_both_signatures(content, keys):
    algorithms = verified_algorithms(content, keys)
    assert algorithms == ["rsa-sha256", "ed25519-sha256"], f"signed with {algorithms}"
