"""Extraction of the text that people read from source files: comments, messages and documents.

A `Passage` is one paragraph. Its lines are matched as one text, so that a phrase is found although
it is wrapped. Code inside the text is replaced by a placeholder of the same length, so that offsets
stay valid: code spans, link targets, URLs and file names.
"""

import ast
import bisect
import dataclasses
import io
import re
import tokenize

LANGUAGES = {
    ".rs": "rust",
    ".md": "markdown",
    ".py": "python",
    ".sh": "shell",
    ".toml": "shell",
    ".service": "shell",
    ".in": "shell",
    ".sysusers": "shell",
    ".tmpfile": "shell",
    ".js": "javascript",
    ".mjs": "javascript",
    ".ts": "javascript",
    ".css": "javascript",
    ".go": "go",
    ".lua": "lua",
}
INTERPRETERS = {"python3": "python", "bash": "shell", "sh": "shell"}

# A character that no rule contains and that is not part of a word.
PLACEHOLDER = "\0"
CODE = re.compile(
    r"(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"  # A code span ends at a run of as many backticks.
    r"|\]\([^)]*\)"
    r"|^\s*\[[^\]]+\]: \S+"
    r"|\bhttps?://\S+"
    r"|[\w./-]*\w\.(?:rs|md|toml|py|sh|mjs|js|go|lua|json|txt)\b"
)


@dataclasses.dataclass(frozen=True)
class Passage:
    """One paragraph: `kind` is `comment`, `doc`, `message` or `document`."""

    kind: str
    lines: tuple  # of (line number, text)

    def text(self):
        """Returns the lines joined with spaces, without code, and a function from offset to line number."""
        joined, starts = "", []
        for _, line in self.lines:
            starts.append(len(joined))
            joined += line.strip() + " "
        text = CODE.sub(lambda match: PLACEHOLDER * len(match[0]), joined)
        return text, lambda offset: self.lines[bisect.bisect(starts, offset) - 1][0]


def language_of(path):
    """Returns the language of a file by its suffix or its first line; `None` if it contains no prose to check."""
    if path.suffix in LANGUAGES:
        return LANGUAGES[path.suffix]
    with path.open("rb") as file:
        first = file.readline(100).decode(errors="replace")
    interpreter = re.match(r"#!.*\b(\w+)$", first.strip())
    return INTERPRETERS.get(interpreter[1]) if interpreter else None


def passages(language, source):
    """Returns the passages of a file in order. Python that cannot be parsed raises `SyntaxError`."""
    return list(READERS[language](source))


def paragraphs(kind, lines):
    """Splits consecutive (line number, text) pairs at blank lines and at fenced code blocks."""
    fenced, paragraph = False, []
    for number, text in lines:
        is_fence = re.match(r"\s*(?:```|~~~)", text)
        if is_fence or not text.strip():
            if paragraph:
                yield Passage(kind, tuple(paragraph))
            paragraph = []
        if is_fence:
            fenced = not fenced
        elif not fenced and text.strip():
            paragraph.append((number, text))
    if paragraph:
        yield Passage(kind, tuple(paragraph))


# Rust

RUST_TOKEN = re.compile(
    r"""(?P<line>//[^\n]*)
      | (?P<block>/\*)
      | \b[bc]?r(?P<hashes>\#*)"(?P<raw>.*?)"(?P=hashes)
      | "(?P<string>(?:[^"\\]|\\.)*)"
      | '(?:\\.[^'\n]*|[^\\'\n])'""",
    re.VERBOSE | re.DOTALL,
)
RUST_TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[.*\]\n)*mod \w+ \{", re.MULTILINE)


def rust(source):
    """Yields comments, doc comments and string literals. Strings are messages only outside test modules."""
    newlines = [match.start() for match in re.finditer("\n", source)]
    tests = RUST_TESTS.search(source)
    tests_start = tests.start() if tests else len(source)
    comments, offset = [], 0
    while token := RUST_TOKEN.search(source, offset):
        offset = token.end()
        number = bisect.bisect(newlines, token.start()) + 1
        if token["line"] is not None:
            marker = re.match(r"//(?:/(?!/)|!)?/*", token["line"])[0]
            kind = "doc" if marker in ("///", "//!") else "comment"
            is_trailing = source[newlines[number - 2] + 1 if number > 1 else 0 : token.start()].strip() != ""
            comments.append((kind, is_trailing, number, token["line"][len(marker) :]))
        elif token["block"] is not None:
            offset = end_of_block(source, token.end())
            for index, line in enumerate(source[token.start() : offset].split("\n")):
                comments.append(("comment", False, number + index, line.strip().strip("/*!")))
        elif token.start() < tests_start:
            text = token["string"] if token["raw"] is None else token["raw"]
            if text is not None and " " in text.strip():
                yield message(number, text, is_raw=token["raw"] is not None)
    yield from group_comments(comments)


def end_of_block(source, offset):
    """Returns the offset behind a block comment that starts before `offset`. Block comments of Rust nest."""
    depth = 1
    while depth and (edge := re.compile(r"/\*|\*/").search(source, offset)):
        depth += 1 if edge[0] == "/*" else -1
        offset = edge.end()
    return offset if depth == 0 else len(source)


def message(number, text, is_raw):
    """Returns a string literal as a passage. Escapes become spaces, so that they do not join words."""
    if not is_raw:
        text = re.sub(r"\\(?:\n|.)", lambda match: "\n" if match[0] == "\\\n" else "  ", text)
    return Passage("message", tuple(enumerate(text.split("\n"), number)))


def group_comments(comments):
    """Yields paragraphs of consecutive comments. A comment behind code starts a paragraph."""
    group = []
    for kind, is_trailing, number, text in comments:
        if group and (is_trailing or kind != group[0][0] or number != group[-1][1] + 1):
            yield from paragraphs(group[0][0], [(line, content) for _, line, content in group])
            group = []
        group.append((kind, number, text))
    if group:
        yield from paragraphs(group[0][0], [(line, content) for _, line, content in group])


# Other languages


def markdown(source):
    """Yields the paragraphs of a document. List items, table rows, headings and quotes are paragraphs."""
    lines, fenced = [], False
    for number, text in enumerate(source.split("\n"), 1):
        if re.match(r"\s*(?:```|~~~)", text):
            fenced = not fenced
            text = ""
        if fenced or re.match(r"\s*(?:[-*+] |\d+\. |[|#>])", text):
            yield from paragraphs("document", lines)
            lines = []
        if re.match(r"\s*[|#]", text) and not fenced:
            # A table row or a heading does not continue on the next line.
            yield from paragraphs("document", [(number, text)])
        elif not fenced:
            lines.append((number, text))
    yield from paragraphs("document", lines)


def python(source):
    """Yields comments and docstrings."""
    comments = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            is_trailing = token.line[: token.start[1]].strip() != ""
            comments.append(("comment", is_trailing, token.start[0], token.string.lstrip("#")))
    yield from group_comments(comments)
    lines = source.split("\n")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if ast.get_docstring(node, clean=False) is not None:
                literal = node.body[0]
                body = [(number, lines[number - 1]) for number in range(literal.lineno, literal.end_lineno + 1)]
                yield from paragraphs("doc", [(number, text.replace('"""', "   ")) for number, text in body])


def line_comments(marker):
    """Returns a reader of comments that start with `marker` at the start of a word, outside quotes."""
    start = re.compile(rf"(?:^|(?<=\s)){marker}+(?!!)")

    def read(source):
        comments = []
        for number, line in enumerate(source.split("\n"), 1):
            for found in start.finditer(line):
                before = line[: found.start()]
                if all(before.count(quote) % 2 == 0 for quote in "\"'`"):
                    comments.append(("comment", before.strip() != "", number, line[found.end() :]))
                    break
        yield from group_comments(comments)

    return read


def javascript(source):
    """Yields comments. A block comment starts at the start of a line, and `/**` starts a doc comment."""
    comments, outside, kind = [], [], None
    for number, line in enumerate(source.split("\n"), 1):
        opening = re.match(r"\s*/\*+", line)
        if kind is None and opening:
            kind = "doc" if opening[0].endswith("**") else "comment"
        if kind is None:
            outside.append(line)
            continue
        outside.append("")
        comments.append((kind, False, number, re.sub(r"^\s*/?\*+(?!/)|\*+/.*$", "", line)))
        if "*/" in line:
            kind = None
    yield from group_comments(comments)
    yield from line_comments("//")("\n".join(outside))


READERS = {
    "rust": rust,
    "markdown": markdown,
    "python": python,
    "shell": line_comments("#"),
    "javascript": javascript,
    "go": javascript,
    "lua": line_comments("--"),
}

# Names

PART = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
DECLARATIONS = {
    # Items, then fields and parameters on a line of their own, variables, and variants.
    "rust": re.compile(
        r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+|const\s+|unsafe\s+)*"
        r"(?:fn|struct|enum|trait|type|mod|const|static)\s+(\w+)"
        r"|^\s*(?:pub(?:\([^)]*\))?\s+)?(\w+): "
        r"|^\s*(?:if |while )?let (?:mut )?(\w+)"
        r"|^    ([A-Z]\w+)(?:,|\(| \{)"
    ),
    "python": re.compile(r"^\s*(?:async\s+)?(?:def|class)\s+(\w+)|^([A-Z]\w+) = "),
    "javascript": re.compile(r"^\s*(?:export\s+)?(?:async\s+)?(?:function\*?|class|const|let)\s+(\w+)"),
    "go": re.compile(r"^(?:func(?:\s+\([^)]*\))?|type|var|const)\s+(\w+)"),
    "shell": re.compile(r"^(\w+)\(\)\s*\{"),
}


def declared_names(language, source):
    """Yields (line number, name) for the declarations of the file, at most one in a line."""
    declaration = DECLARATIONS.get(language)
    if declaration:
        for number, line in enumerate(source.split("\n"), 1):
            found = declaration.match(line)
            if found:
                yield number, next(name for name in found.groups() if name)
