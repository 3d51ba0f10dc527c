"""Checks of the documents: links, tables, commands and settings."""

import re
import subprocess

from repository import ROOT, relative, texts
from server import binary

SETTING = re.compile(r"\bRINGMAIL_[A-Z][A-Z_]*[A-Z]\b")
CONSTANT = re.compile(r"`((?:[a-z_]+::)?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`")
# A merge field of an example.
NO_CONSTANTS = {"FIRST_NAME"}


def documents_text():
    """Returns the text of README.md, CONTRIBUTING.md and all of docs/."""
    paths = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    return "\n".join(path.read_text() for path in paths if path.exists())


def links(files):
    """Relative links of the documents point to existing files."""
    for path in files:
        if path.suffix != ".md":
            continue
        for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", path.read_text()):
            if not re.match(r"[a-z]+:", target) and not (path.parent / target).exists():
                yield f"{relative(path)} links to {target}, which does not exist"


def tables(files):
    """docs/STORAGE.md lists every table of the store."""
    sources, page = [ROOT / "src/tables/mod.rs", ROOT / "src/store/meta.rs"], ROOT / "docs/STORAGE.md"
    if not page.exists():
        yield "docs/STORAGE.md is missing"
        return
    names = {name for source in sources for name in re.findall(r'"([a-z][a-z0-9_-]*-\d+)"', source.read_text())}
    if not names:
        yield "no table name was found in src/tables/mod.rs"
    documented = page.read_text()
    for name in sorted(names):
        if not re.search(rf"(?m)^\| `{name}` \|.*\|$", documented):
            yield f"docs/STORAGE.md has no row for the table `{name}`"


def constants(files):
    """Every constant that a document names exists in the sources, the tests or the benches."""
    known = set()
    for path, text in texts(files):
        if path.suffix != ".md":
            known.update(re.findall(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b", text))
    named = {name.rsplit("::", 1)[-1] for name in CONSTANT.findall(documents_text())}
    for name in sorted(named - known - NO_CONSTANTS):
        yield f"the documents name {name}, which does not exist"


def help_of(*verbs):
    """Returns the help text of a command, empty if the command fails."""
    done = subprocess.run([binary(), *verbs, "--help"], capture_output=True, text=True, timeout=30)
    return done.stdout if done.returncode == 0 else ""


def verbs_in(text):
    """Returns the verbs that a help text lists under `Commands:`, without `help`."""
    part = re.search(r"(?ms)^Commands:\n(.*?)(?:\n\n|\Z)", text)
    return [verb for verb in re.findall(r"(?m)^  ([a-z][a-z-]*)\b", part[1]) if verb != "help"] if part else []


def commands(files):
    """The documents show every command of the command line, with its subcommands."""
    top = verbs_in(help_of())
    if not top:
        yield f"{binary()} --help lists no commands"
    documented = documents_text()
    for verb in top:
        for words in [[verb], *([verb, nested] for nested in verbs_in(help_of(verb)))]:
            if not re.search(r"\bringmail " + r"\s+".join(words) + r"\b", documented):
                yield f"the documents do not show `ringmail {' '.join(words)}`"


def settings(files):
    """Every setting that a document names exists in the command line, the sources or the tests."""
    known = set()
    for path, text in texts(files):
        if path.suffix != ".md":
            known.update(SETTING.findall(text))
    for verb in [(), *((verb,) for verb in verbs_in(help_of()))]:
        known.update(SETTING.findall(help_of(*verb)))
    for name in sorted(set(SETTING.findall(documents_text())) - known):
        yield f"the documents name {name}, which the program does not have"
