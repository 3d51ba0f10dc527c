"""Checks of single files: executable bits, machine paths, notes without an owner."""

import os
import pathlib
import re

from repository import ROOT, relative, texts

# Directories that exist on one developer's machine only.
MACHINE_PATH = re.compile(r"(?<![\w.{}<>*~-])/(?:home|root|Users|mnt|work|workspace|builds)/[A-Za-z0-9._-]+")
# Marks of writing tools and of unresolved merges.
TOOL_MARK = re.compile(
    r"(?i)\bco-authored-by\b|\bgenerated (?:with|by) (?:an? )?(?:ai|llm)\b|\blanguage model\b|<{7} |>{7} "
)
UNOWNED_NOTE = re.compile(r"\b(?:TODO|FIXME|XXX)\b(?!\()")
SCRIPTS = [
    "tests/run",
    ".ci/run",
    "tests/crash",
    "tests/peers/run",
    "tests/starvation/run",
    "tests/clients/run",
    "tests/browser/run",
    "tests/faults/run",
    "tests/webhooks/run",
    "tests/check/run",
    "benches/run",
    "fuzz/run",
]
# This file contains the patterns that it searches for.
THIS = pathlib.Path(__file__).resolve()


def run_bits(files):
    """Every script is executable, and no other file is."""
    for name in SCRIPTS:
        if not (ROOT / name).exists():
            yield f"{name} is missing"
    for path in files:
        # An inner attribute at the start of a Rust file looks like a shebang.
        is_script = path.open("rb").read(2) == b"#!" and path.suffix != ".rs"
        if is_script != os.access(path, os.X_OK):
            yield f"{relative(path)} {'is not executable' if is_script else 'is executable but does not start with #!'}"


def leftovers(files):
    """No file contains a path of one machine, a note without an owner or the mark of a tool."""
    for path, text in texts(files):
        if path == THIS:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, what in (
                (MACHINE_PATH, "a path of one machine"),
                (TOOL_MARK, "the mark of a tool"),
                (UNOWNED_NOTE, "a note without an owner, such as TODO(name)"),
            ):
                found = pattern.search(line)
                if found:
                    yield f"{relative(path)}:{number}: {what}: {found[0]}"
