"""The wording check: phrases of words.txt in comments, documents, messages and names.

`words: allow` on a line permits the phrases of that line.
"""

import dataclasses
import pathlib
import re

import prose
from repository import relative

WORDS = pathlib.Path(__file__).resolve().parent / "words.txt"
ALLOW = "words: allow"
SECTIONS = ("anywhere", "sentence", "doc", "name")
# Languages that the repository contains. The check fails if it reads no file of one of them.
EXPECTED_LANGUAGES = ("rust", "markdown", "python", "shell", "javascript", "go")
# A longer name is a sentence, such as the name of a test. A single word has its ordinary meaning there.
NAME_WORDS_MAX = 4
TEST_CODE = re.compile(r"^(?:tests|benches|fuzz)/|/tests/|tests\.rs$")


@dataclasses.dataclass(frozen=True)
class Rule:
    """One line of words.txt with its samples."""

    section: str
    pattern: re.Pattern
    replacement: str
    found: tuple
    clean: tuple


@dataclasses.dataclass(frozen=True)
class Finding:
    """A phrase on the lines from `first_line` to `last_line` that a rule rejects."""

    first_line: int
    last_line: int
    phrase: str
    rule: Rule


def read_rules(text):
    """Returns the rules of a text in the format of words.txt. A malformed line raises `ValueError`."""
    rules, section = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("["):
            section = line.strip("[]")
            if section not in SECTIONS:
                raise ValueError(f"words.txt:{number}: no section {line}")
        elif line.startswith(("+ ", "- ")) and rules:
            samples = rules[-1][2 if line[0] == "+" else 3]
            samples.append(line[2:])
        else:
            pattern, tab, replacement = line.partition("\t")
            if not tab or section is None:
                raise ValueError(f"words.txt:{number}: expected a pattern, a tab and the replacement in a section")
            rules.append((section, pattern, [], [], replacement))
    return [
        Rule(section, compiled(section, pattern), replacement, tuple(found), tuple(clean))
        for section, pattern, found, clean, replacement in rules
    ]


def compiled(section, pattern):
    """Returns the expression for the text that a section applies to."""
    if section == "anywhere":
        return re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)
    if section == "sentence":
        return re.compile(rf"(?:^|(?<=[.:!?] ))(?:{pattern})\b")
    if section == "doc":
        return re.compile(rf"^(?:{pattern})\b")
    return re.compile(rf"^(?:{pattern})$", re.IGNORECASE)


RULES = read_rules(WORDS.read_text(encoding="utf-8"))


def in_passage(passage, rules=RULES):
    """Yields the findings of one passage. Of two phrases that overlap, the first rule wins."""
    text, line_of = passage.text()
    taken = []
    for rule in rules:
        if rule.section == "name" or (rule.section == "doc" and passage.kind != "doc"):
            continue
        for match in rule.pattern.finditer(text):
            first, last = match.start(), match.end() - 1
            if rule.section == "anywhere":
                if any(first <= other[1] and other[0] <= last for other in taken):
                    continue
                taken.append((first, last))
            yield Finding(line_of(first), line_of(last), match[0].strip(), rule)


def in_name(number, name, rules=RULES):
    """Yields the findings of one declared name. The rules apply to its words, joined with spaces."""
    parts = prose.PART.findall(name)
    for rule in rules:
        if rule.section == "anywhere":
            matches = [match[0].strip() for match in rule.pattern.finditer(" ".join(parts))]
        elif rule.section == "name" and len(parts) <= NAME_WORDS_MAX:
            matches = [part for part in parts if rule.pattern.match(part)]
        else:
            continue
        for match in matches:
            yield Finding(number, number, f"{match} in the name {name}", rule)


def in_source(language, source, is_test_code=False):
    """Returns the findings of one file, ordered by line. Messages of test code are not checked."""
    findings = []
    for passage in prose.passages(language, source):
        if not (passage.kind == "message" and is_test_code):
            findings += in_passage(passage)
    for number, name in prose.declared_names(language, source):
        findings += in_name(number, name)
    lines = source.split("\n")
    return sorted(
        (one for one in findings if not any(ALLOW in line for line in lines[one.first_line - 1 : one.last_line])),
        key=lambda one: one.first_line,
    )


def words(files):
    """Comments, documents, messages and names avoid the phrases of tests/check/words.txt."""
    languages = set()
    for path in files:
        name = relative(path)
        language = None if "/vendor/" in f"/{name}" else prose.language_of(path)
        if language is None:
            continue
        languages.add(language)
        try:
            findings = in_source(language, path.read_text(encoding="utf-8"), TEST_CODE.search(name) is not None)
        except (SyntaxError, UnicodeDecodeError) as error:
            yield f"{name} cannot be read: {error}"
            continue
        for finding in findings:
            yield f"{name}:{finding.first_line}: {finding.phrase} -> {finding.rule.replacement}"
    for language in EXPECTED_LANGUAGES:
        if language not in languages:
            yield f"no {language} file was read"
