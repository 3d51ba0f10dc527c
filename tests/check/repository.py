"""Access to the repository for the checks: its files, their text and its history."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

TEXT_SUFFIXES = {
    ".rs",
    ".toml",
    ".md",
    ".py",
    ".sh",
    ".js",
    ".ts",
    ".go",
    ".lua",
    ".json",
    ".html",
    ".css",
    ".yml",
    ".service",
    "",
}


class LeftOut(Exception):
    """A check cannot run here. The text is the reason."""


def git(*arguments):
    """Returns the output of a git command. A failing command raises `CalledProcessError`."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True, text=True).stdout


def succeeds(*arguments):
    """Returns whether a git command exits with status 0."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True).returncode == 0


def tracked():
    """Returns every file that git tracks, and new files that it does not ignore."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    files = [ROOT / name for name in listed.split("\0") if name]
    return [path for path in files if path.is_file() and not path.is_symlink()]


def relative(path):
    """Returns the path below the root of the repository, with `/` as separator."""
    return path.relative_to(ROOT).as_posix()


def texts(files):
    """Yields each text file with its content, without vendored files and lock files of cargo."""
    for path in files:
        if path.suffix in TEXT_SUFFIXES and "/vendor/" not in str(path) and path.name != "Cargo.lock":
            try:
                yield path, path.read_text()
            except UnicodeDecodeError:
                continue
