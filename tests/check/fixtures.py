"""Check of tests/fixtures/html: the emails of the folder and their index."""

import csv
import re

from repository import ROOT

FOLDER = ROOT / "tests" / "fixtures" / "html"
# Fewest emails whose pictures with and without tracking are compared.
EMAILS_MIN = 200
# Renderers whose emails are among them.
RENDERERS = ("mjml", "@react-email/components")
# A package of npm with its version, at the end of the origin.
PACKAGE = re.compile(r"(?:^|, )(@?[^@,\s]+)@\d[^\s,]*$")


def differences(index, names):
    """Yields a sentence for each difference of the index from the names of the files, and for each incomplete row."""
    rows = list(csv.DictReader(index.splitlines()))
    listed = [row["file"] for row in rows]
    for name in sorted({name for name in listed if listed.count(name) > 1}):
        yield f"index.csv lists {name} more than once"
    for name in sorted(set(listed) - set(names)):
        yield f"index.csv lists {name}, which does not exist"
    for name in sorted(set(names) - set(listed)):
        yield f"index.csv does not list {name}"
    packages = set()
    for row in rows:
        package = PACKAGE.search(row["origin"])
        if package and row["licence"]:
            packages.add(package[1])
        elif row["origin"] != "constructed" or not row["file"].startswith("constructed-"):
            yield f"{row['file']} is not constructed, and has no package with a licence"
    for name in RENDERERS:
        if name not in packages:
            yield f"no email comes from {name}"
    if len(names) < EMAILS_MIN:
        yield f"{len(names)} emails are fewer than {EMAILS_MIN}"


def emails(files):
    """tests/fixtures/html has 200 emails or more, and index.csv has the origin and the licence of each one."""
    names = [path.name for path in files if path.parent == FOLDER and path.suffix == ".html"]
    yield from differences((FOLDER / "index.csv").read_text(), names)


def self_test(files):
    """The check of tests/fixtures/html finds a missing file, a missing row, a missing origin and too few emails."""
    correct = [
        *((f"mjml-{number}.html", "own template, mjml@5.4.1", "MIT") for number in range(EMAILS_MIN)),
        ("react-a.html", "own template, @react-email/components@1.0.12", "MIT"),
        ("constructed-a.html", "constructed", ""),
    ]
    names = [name for name, _, _ in correct]

    def changed(*row):
        return [row if name == row[0] else (name, *rest) for name, *rest in correct]

    for rows, files_found, part in (
        (correct, names, None),
        (correct, names[1:], "mjml-0.html, which does not exist"),
        (correct[1:], names, "does not list mjml-0.html"),
        ([*correct, correct[0]], names, "mjml-0.html more than once"),
        (changed("mjml-0.html", "", "MIT"), names, "mjml-0.html is not constructed"),
        (changed("mjml-0.html", "constructed", ""), names, "mjml-0.html is not constructed"),
        (changed("mjml-0.html", "mjml@5.4.1", ""), names, "mjml-0.html is not constructed"),
        (changed("react-a.html", "mjml@5.4.1", "MIT"), names, "comes from @react-email/components"),
        (correct[3:], names[3:], f"{EMAILS_MIN - 1} emails are fewer"),
    ):
        lines = ['{},"{}",{}'.format(*row) for row in rows]
        findings = list(differences("\n".join(["file,origin,licence", *lines]), files_found))
        if len(findings) != (part is not None) or not all(part in finding for finding in findings):
            yield f"expected {part!r}, found {findings}"
