"""Writes tests/fixtures/html: the emails, and index.csv with their origin. See generate."""

import csv
import json
import pathlib
import sys

from constructed import CASES

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "html"
FILES = 200
BYTES_MAX = 3_000_000


def main(paths):
    emails = [email for path in paths for email in json.loads(pathlib.Path(path).read_text())]
    emails = [(email["file"], email["origin"], email["licence"], email["html"]) for email in emails]
    emails += [(f"constructed-{name}.html", "constructed", "", html) for name, html in CASES.items()]
    assert len({email[0] for email in emails}) == len(emails), "two emails have one name"
    assert len(emails) >= FILES, f"{len(emails)} emails"
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.html"):
        old.unlink()
    with (FOLDER / "index.csv").open("w", newline="") as file:
        index = csv.writer(file, lineterminator="\n")
        index.writerow(["file", "origin", "licence"])
        for name, origin, licence, html in sorted(emails):
            (FOLDER / name).write_bytes(html.encode())
            index.writerow([name, origin, licence])
    size = sum(path.stat().st_size for path in FOLDER.iterdir())
    assert size <= BYTES_MAX, f"{size} bytes"
    print(f"{len(emails)} emails, {size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
