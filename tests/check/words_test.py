"""Self-test of the wording check. It runs as a check, so that a rule that matches nothing is noticed."""

import dataclasses

import prose
import words


@dataclasses.dataclass(frozen=True)
class Case:
    """A file and the exact (line number, phrase) pairs that the check must report for it."""

    title: str
    language: str
    source: str
    expected: list
    is_test_code: bool = False


CASES = [
    Case(
        "comments and doc comments of Rust",
        "rust",
        "/// Deletes a row that nobody reads.\n"
        "fn one() {} // a door\n"
        "/* A block of text: /* nested */ the row\n"
        "   that was passed over. */\n"
        "//! What a module is.\n",
        [(1, "nobody"), (2, "door"), (4, "passed over"), (5, "What")],
    ),
    Case(
        "a phrase wrapped over two comment lines",
        "rust",
        "// The corrupt row is passed\n// over by the scan.\n\n// The row is passed\n\n// over there.\n",
        [(1, "passed over")],
    ),
    Case(
        "a blank doc line, a comment behind code and code between comments end a paragraph",
        "rust",
        "/// It is passed\n///\n/// over.\nlet a = 1; // passed\nlet b = 2; // over\n// passed\nfn f() {}\n// over\n",
        [],
    ),
    Case(
        "code spans, links, URLs and file names of a comment",
        "rust",
        "/// Returns `told`, ``nobody ` nobody``, [the row](door.html), https://door.example and ladder.rs.\n"
        "/// Returns a [door](row.html).\n"
        "/// It goes\n"
        "/// ```\n"
        "/// let door = nobody;\n"
        "/// ```\n"
        "/// on. An `unclosed span hides nobody.\n",
        [(2, "door"), (7, "nobody")],
    ),
    Case(
        "string literals of Rust",
        "rust",
        'const A: &str = "nobody answers";\n'
        "const B: char = '\"'; // nobody\n"
        'const C: &str = r#"a "quoted" door"#;\n'
        'const D: &str = "nobody";\n'
        'const E: &str = "first\\nnobody \\\n    of the ladder";\n'
        "fn life<'a>(text: &'a str) {} // nobody\n",
        [(1, "nobody"), (2, "nobody"), (3, "door"), (5, "nobody"), (6, "ladder"), (7, "nobody")],
    ),
    Case(
        "strings of a test module",
        "rust",
        'const A: &str = "a door";\n#[cfg(test)]\nmod tests {\n    // a door\n    const B: &str = "a door";\n}\n',
        [(1, "door"), (4, "door")],
    ),
    Case("strings of a test file", "rust", 'const A: &str = "a door"; // nobody\n', [(1, "nobody")], True),
    Case(
        "names that Rust declares",
        "rust",
        "pub(crate) async fn tell_owners() {}\n"
        "struct QueueBell;\n"
        "fn a_row_that_does_not_read_is_skipped() {}\n"
        "fn a_changed_letter_breaks_the_proof() {}\n"
        "fn is_none() {}\n"
        "    let mut told = bell();\n"
        "    pub(super) bell: Notifier,\n"
        "    Nobody,\n"
        "    Nobody::new();\n",
        [
            (1, "tell in the name tell_owners"),
            (2, "Bell in the name QueueBell"),
            (3, "does not read in the name a_row_that_does_not_read_is_skipped"),
            (6, "told in the name told"),
            (7, "bell in the name bell"),
            (8, "Nobody in the name Nobody"),
        ],
    ),
    Case(
        "the start of a doc comment and of a sentence",
        "rust",
        "/// Who sends the email.\nstruct A;\n// What follows is a comment.\n"
        "/// Rows. One that is old. Not one that is new.\nstruct B;\n/// Whatever.\n",
        [(1, "Who"), (4, "One that")],
    ),
    Case("phrases that overlap", "rust", "// A row that is none when it is old.\n", [(1, "is none")]),
    Case(
        "lines that allow their phrases",
        "rust",
        "// A door. words: allow\n// The row is passed words: allow\n// over. A ladder.\n",
        [(3, "ladder")],
    ),
    Case(
        "a document",
        "markdown",
        "# What is stored\n"
        "| What is stored | `told` |\n"
        "|---|---|\n"
        "| a row that goes with it | [bell](x.md) |\n"
        "\n"
        "The scan goes\n"
        "on at the key, and reads what is stored.\n"
        "- The scan goes\n"
        "- on\n"
        "```sh\n"
        "# nobody\n"
        "echo nobody\n"
        "```\n"
        "Nobody. <!-- words: allow -->\n"
        "Nobody.\n"
        "# An `unclosed span\n"
        "Nobody `\n"
        "\n"
        "- An `unclosed span\n"
        "- Nobody `\n",
        [(4, "bell"), (6, "goes on"), (7, "what is stored"), (15, "Nobody"), (17, "Nobody"), (20, "Nobody")],
    ),
    Case(
        "comments, docstrings and names of Python",
        "python",
        '#!/usr/bin/env python3\n"""What this does.\n\nIt goes\non."""\n\n'
        'DOOR = "nobody"  # a door\n\n\ndef tell():\n    """Returns `told`."""\n    text = """\n# nobody\n"""\n'
        "a = 1  # It goes\nb = 2  # on\n",
        [(2, "What"), (4, "goes on"), (7, "door"), (7, "DOOR in the name DOOR"), (10, "tell in the name tell")],
    ),
    Case(
        "comments and names of shell",
        "shell",
        "#!/bin/sh\n# It goes\n# on.\nx=${y#nobody} # a door\necho ' # nobody' \"$#\" nobody\ntell() {\n",
        [(2, "goes on"), (4, "door"), (6, "tell in the name tell")],
    ),
    Case(
        "comments and names of JavaScript",
        "javascript",
        "// It goes\n// on.\nconst url = 'http://nobody'; // a door\n"
        "/** What comes:\n * it goes\n * on. */\nexport async function tell() {} /* nobody */\n"
        "const x = '// nobody';\n",
        [(1, "goes on"), (3, "door"), (4, "What"), (5, "goes on"), (7, "tell in the name tell")],
    ),
    Case(
        "comments and names of Go",
        "go",
        "// It goes\n// on.\ntype endpoint struct {\n\tname string // a door\n}\n\nfunc (e *endpoint) tell() {}\n",
        [(1, "goes on"), (4, "door"), (7, "tell in the name tell")],
    ),
    Case("comments of Lua", "lua", "-- It goes\n-- on.\nlocal x = 1 -- a door\n", [(1, "goes on"), (3, "door")]),
]

# A rule that never matches, with a sample that another rule finds: both samples fail.
BROKEN_RULE = "[anywhere]\nunmatched\treplacement\n+ The row is deleted.\n- Nobody reads the row.\n"


def sample_findings(rules):
    """Yields a sentence for each sample that the rules handle wrongly, and for each rule without samples."""
    for rule in rules:
        name = f"the rule {rule.pattern.pattern!r}"
        if not rule.found or not rule.clean:
            yield f"{name} needs a sample with + and one with -"
        for sample in rule.found:
            if not any(finding.rule is rule for finding in check_sample(rule, sample, rules)):
                yield f"{name} does not find its sample {sample!r}"
        for sample in rule.clean:
            for finding in check_sample(rule, sample, words.RULES):
                yield f"the sample {sample!r} of {name} contains {finding.phrase!r}"


def check_sample(rule, sample, rules):
    """Returns the findings in one sample: a name for a rule about names, else a doc comment."""
    if rule.section == "name":
        return list(words.in_name(1, sample, rules))
    return list(words.in_passage(prose.Passage("doc", ((1, sample),)), rules))


def self_test(files):
    """The wording check finds its samples, and finds nothing in text that is correct."""
    yield from sample_findings(words.RULES)
    for section in words.SECTIONS:
        if not any(rule.section == section for rule in words.RULES):
            yield f"words.txt has no rule in the section [{section}]"
    if len(list(sample_findings(words.read_rules(BROKEN_RULE)))) != 2:
        yield "the self-test accepts a rule that does not work"
    for case in CASES:
        findings = words.in_source(case.language, case.source, case.is_test_code)
        found = [(finding.first_line, finding.phrase) for finding in findings]
        if sorted(found) != sorted(case.expected):
            yield f"{case.title}: expected {sorted(case.expected)}, found {sorted(found)}"
    for language in prose.READERS:
        if not any(case.language == language for case in CASES):
            yield f"no case for {language}"
