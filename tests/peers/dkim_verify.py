#!/usr/bin/env python3
"""Verifies every DKIM signature of a message with dkimpy.

    dkim_verify.py RECORDS < message.eml
    dkim_verify.py RECORDS message.eml ...

RECORDS is a JSON object that maps the name of each TXT record to its text, or @FILE for a file with
such an object. The script does not use the network: a name that is not in RECORDS does not exist.

Prints one line per signature: pass or fail, the algorithm, the domain, the selector, and the file
name if one is given. The exit status is 0 if each message has a signature and all signatures pass, 2
if dkimpy or PyNaCl, which it needs for Ed25519, is missing, and 1 otherwise.
"""

import json
import sys

try:
    import dkim
    import nacl.signing  # noqa: F401  dkimpy needs it for Ed25519, and would fail only at the first signature
except ImportError as error:
    print(f"dkim_verify.py: {error}; pip install dkimpy pynacl", file=sys.stderr)
    sys.exit(2)


def read_records(argument):
    if argument.startswith("@"):
        with open(argument[1:], encoding="utf-8") as file:
            records = json.load(file)
    else:
        records = json.loads(argument)
    return {name.rstrip(".").lower(): text for name, text in records.items()}


def verify(message, records, label):
    """Prints the result of each signature. Returns whether there is a signature and all pass."""

    def txt(name, timeout=5):
        name = name.decode("ascii") if isinstance(name, bytes) else name
        text = records.get(name.rstrip(".").lower())
        return None if text is None else text.encode("ascii")

    signatures = [
        value for name, value in dkim.rfc822_parse(message)[0] if name.lower() == b"dkim-signature"
    ]
    verdicts = []
    for index, value in enumerate(signatures):
        tags = dkim.util.parse_tag_value(value)
        try:
            passed = dkim.DKIM(message).verify(idx=index, dnsfunc=txt)
        except dkim.DKIMException as error:
            print(f"dkim_verify.py: {error}", file=sys.stderr)
            passed = False
        verdicts.append(passed)
        words = ["pass" if passed else "fail"]
        words += [tags.get(tag, b"?").decode("ascii") for tag in (b"a", b"d", b"s")]
        print(*words, *([label] if label else []))
    if not verdicts:
        print("fail", "no signature", *([label] if label else []))
    return bool(verdicts) and all(verdicts)


def main(arguments):
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    records = read_records(arguments[0])
    if len(arguments) == 1:
        return 0 if verify(sys.stdin.buffer.read(), records, "") else 1
    passed = True
    for path in arguments[1:]:
        with open(path, "rb") as file:
            passed = verify(file.read(), records, path) and passed
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
