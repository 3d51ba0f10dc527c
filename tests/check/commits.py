"""The check of commit messages, with its self-test."""

import dataclasses
import re

from repository import LeftOut, git, succeeds

# The rules apply to the commits after this one.
BASE = "a682eabf3f1520c3589c8b6f263bbe21b61c9fb2"
SUBJECT_CHARS_MAX = 72
SUBJECT = re.compile(r"(?P<area>[a-z0-9][a-z0-9 ,/_.-]*): (?P<text>\S.*)")
# A change of formatting or of a typo needs no explanation.
NEEDS_NO_BODY = re.compile(r"(?:fix a typo|format)\b")


@dataclasses.dataclass(frozen=True)
class Commit:
    id: str
    parents: tuple
    subject: str
    body: str


def commits_after(base):
    """Returns the commits after `base` up to HEAD, oldest first."""
    log = git("log", "--reverse", "--format=%h%x00%p%x00%s%x00%b%x1e", f"{base}..HEAD")
    entries = (entry.strip("\n").split("\0") for entry in log.split("\x1e") if entry.strip())
    return [Commit(commit, tuple(parents.split()), subject, body) for commit, parents, subject, body in entries]


def in_commit(commit):
    """Yields one sentence for each rule that a commit breaks."""
    if len(commit.parents) > 1:
        yield f"{commit.id} is a merge commit: rebase instead"
        return
    if len(commit.subject) > SUBJECT_CHARS_MAX:
        yield f"{commit.id} has a subject of {len(commit.subject)} characters, more than {SUBJECT_CHARS_MAX}"
    if commit.subject.endswith("."):
        yield f"{commit.id} has a full stop at the end of its subject"
    subject = SUBJECT.fullmatch(commit.subject)
    if not subject:
        yield f"{commit.id} has the subject {commit.subject!r} instead of `area: text`"
    if not commit.body.strip() and not (subject and NEEDS_NO_BODY.match(subject["text"])):
        yield f"{commit.id} has no body that says why"


def commits(files):
    """Commits after the base are no merges, and have a subject `area: text` and a body."""
    if git("rev-parse", "--is-shallow-repository").strip() == "true":
        raise LeftOut("the clone is shallow")
    if not succeeds("merge-base", "--is-ancestor", BASE, "HEAD"):
        raise LeftOut(f"{BASE[:7]} is not an ancestor of HEAD")
    for commit in commits_after(BASE):
        yield from in_commit(commit)


# Subject, body, number of parents, and a part of each expected finding.
CASES = [
    ("webhooks: read only the subscription index", "The row was read too.", 1, []),
    ("webhooks, live: read only the index", "Why.", 1, []),
    ("api keys: cache the hashes", "Why.", 1, []),
    ("docs: fix a typo", "", 1, []),
    ("benches: format the tables", "", 1, []),
    ("docs: reformat", "", 1, ["no body"]),
    ("benches: formats are read from a file", "", 1, ["no body"]),
    ("webhooks: read only the index", "", 1, ["no body"]),
    ("webhooks: read only the index", " \n\n", 1, ["no body"]),
    ("webhooks: read only the index.", "Why.", 1, ["full stop"]),
    ("Read only the index", "Why.", 1, ["instead of `area: text`"]),
    ("webhooks:read only the index", "Why.", 1, ["instead of `area: text`"]),
    ("webhooks: ", "Why.", 1, ["instead of `area: text`"]),
    ("fix a typo", "", 1, ["instead of `area: text`", "no body"]),
    ("webhooks: " + "x" * 62, "Why.", 1, []),
    ("webhooks: " + "x" * 63, "Why.", 1, ["73 characters"]),
    ("Merge branch 'main'", "", 2, ["merge commit"]),
]


def self_test(files):
    """The check of commits finds each broken rule, and nothing in a correct commit."""
    for subject, body, parents, expected in CASES:
        findings = list(in_commit(Commit("0000000", ("1111111",) * parents, subject, body)))
        if len(findings) != len(expected) or not all(any(part in one for one in findings) for part in expected):
            yield f"{subject!r}: expected {expected}, found {findings}"
