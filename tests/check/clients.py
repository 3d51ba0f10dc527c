"""Check of docs/CLIENTS.md: the versions of the clients that the suites install."""

import json
import re

from repository import ROOT

SUITES = ROOT / "tests" / "clients"
PAGE = ROOT / "docs" / "CLIENTS.md"
# | `suite` | `package` | version | …
ROW = re.compile(r"(?m)^\| `([a-z][a-z0-9-]*)` \| `([^`]+)` \| ([0-9][^ |]*) \|")


def npm(text):
    """Yields each package of a package-lock.json with its version."""
    for path, package in json.loads(text)["packages"].items():
        if path.startswith("node_modules/") and path.count("node_modules/") == 1:
            yield path.removeprefix("node_modules/"), package["version"]


def python(text):
    """Yields each package of a requirements.txt with its version."""
    yield from re.findall(r"(?m)^([^=\s]+)==(\S+)$", text)


def rust(text):
    """Yields each package of a Cargo.lock with its version."""
    yield from re.findall(r'(?m)^name = "([^"]+)"\nversion = "([^"]+)"$', text)


def go(text):
    """Yields each module that a go.mod requires, or that replaces another one, with its version."""
    replaced = re.findall(r"(?m)^replace \S+ => (\S+) v(\S+)$", text)
    yield from replaced or re.findall(r"(?m)^require (\S+) v(\S+)$", text)


LOCKS = {"package-lock.json": npm, "requirements.txt": python, "Cargo.lock": rust, "go.mod": go}


def installed(files):
    """Returns the packages with their versions for each suite that has a lock file."""
    suites = {}
    for path in files:
        if path.parent.parent == SUITES and path.name in LOCKS:
            suites[path.parent.name] = dict(LOCKS[path.name](path.read_text()))
    return suites


def differences(page, suites):
    """Yields a sentence for each row that differs from the lock file, and for each suite without a row."""
    rows = ROW.findall(page)
    for suite, package, version in rows:
        locked = suites.get(suite, {}).get(package)
        if locked is None:
            yield f"docs/CLIENTS.md lists {package} in the suite {suite}, which does not install it"
        elif locked != version:
            yield f"docs/CLIENTS.md lists {package} {version} in the suite {suite}, which installs {locked}"
    for suite in sorted(suites.keys() - {suite for suite, _, _ in rows}):
        yield f"docs/CLIENTS.md has no row for the suite {suite}"


def versions(files):
    """docs/CLIENTS.md lists each suite of tests/clients with the versions of its lock file."""
    suites = installed(files)
    if not suites:
        yield "no lock file was found in tests/clients"
    yield from differences(PAGE.read_text(), suites)


def self_test(files):
    """The check of docs/CLIENTS.md finds a wrong version, an unknown package and a missing suite."""
    suites = {"node": {"resend": "6.0.0"}, "go": {"example.com/sdk": "1.2.3"}}
    row = "| `node` | `{}` | {} | npm |\n"
    for page, found in (
        (row.format("resend", "6.0.0") + "| `go` | `example.com/sdk` | 1.2.3 | Go |\n", 0),
        (row.format("resend", "5.0.0") + "| `go` | `example.com/sdk` | 1.2.3 | Go |\n", 1),
        (row.format("svix", "1.0.0") + "| `go` | `example.com/sdk` | 1.2.3 | Go |\n", 1),
        (row.format("resend", "6.0.0"), 1),
        ("", 2),
    ):
        if len(list(differences(page, suites))) != found:
            yield f"{found} differences were expected for the page: {page!r}"
    replaced = "require example.com/sdk v1.0.0\n\nreplace example.com/sdk => example.com/older v0.9.0\n"
    if dict(go(replaced)) != {"example.com/older": "0.9.0"}:
        yield "the replacement of a Go module was not read"
