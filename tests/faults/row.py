#!/usr/bin/env python3
"""Corrupt rows of the queue. The server starts, logs them, sets them aside, and delivers the rest.

    tests/faults/row.py [WORD...]
"""

import datetime
import json
import struct

from lib import DRAIN_SECONDS, Hold, World, main, wait_until

HEALTHY = 20


def row_of(domain, due_ms):
    """Returns the start of a stored `DueRow` after its team: field names and values in MessagePack."""
    name = b"\xabdestination" + bytes([0xA0 | len(domain)]) + domain.encode()
    return name + b"\xacfirst_due_ms\xcf" + struct.pack(">Q", due_ms)


def email_row_of(recipient):
    """Returns the name and the value of the mailbox in the stored `EmailRow` of an email to one recipient."""
    return b"\xa7mailbox" + bytes([0xA0 | len(recipient)]) + recipient.encode()


def check_of(server, name):
    """Returns one check of `ringmail doctor`. Other checks can fail, because the network is that of the test."""
    done = server.command("doctor", "--json", "--probe", "pair.test", "--time-server", "none")
    assert done.returncode in (0, 1), f"doctor: {done.stderr}{done.stdout}"
    return next(check for check in json.loads(done.stdout)["checks"] if check["check"] == name)


def damage(path, row):
    """Overwrites one byte of a row in the file of the store. Returns the number of copies of the row.

    The store keeps old pages until they are used again, so the row can have several copies.
    """
    data = bytearray(path.read_bytes())
    count = at = 0
    while (at := data.find(row, at)) >= 0:
        data[at] = 0xC1  # The only byte that MessagePack never uses.
        count += 1
    path.write_bytes(data)
    return count


def corrupt_queue_rows_stop_no_other_email(directory):
    """Lanes with one corrupt row, and a lane with corrupt rows before a readable one. Two emails are corrupt too."""
    with World(directory) as world:
        world.server.stop()
        direct, world.server.delivery = world.server.delivery, Hold()
        world.server.start()
        for domain in ("lone.test", "pair.test", "gone.test", *(f"d{number}.test" for number in range(HEALTHY))):
            world.site(domain)
        now = datetime.datetime.now(datetime.UTC)
        due_ms = int(now.timestamp() * 1000) // 1000 * 1000 + 3_000
        at = datetime.datetime.fromtimestamp(due_ms / 1000, datetime.UTC).isoformat()
        corrupt, lost = ["ann@lone.test", "ann@pair.test", "dan@gone.test"], ["eve@pair.test", "dan@gone.test"]
        damaged = sorted({*corrupt, *lost})
        for recipient in damaged:
            assert world.send(recipient, scheduled_at=at), world.refused
        for recipient in ("bob@pair.test", *(f"ann@d{number}.test" for number in range(HEALTHY))):
            assert world.send(recipient)
        world.server.stop()
        for recipient in corrupt:
            assert damage(world.server.store_path, row_of(recipient.split("@")[1], due_ms)), "the row is not in the file"
        for recipient in lost:
            assert damage(world.server.store_path, email_row_of(recipient)), "the email is not in the file"
        world.server.delivery = direct

        world.server.start()

        # The fields of two rows are in their emails.
        world.finish("row", not_due=lost)
        rows = len(damaged)
        reported = {}

        def are_reported():
            reported.update(check_of(world.server, "corrupt_rows"))
            return reported["seen"].startswith(f"{rows} rows ")

        wait_until(are_reported, DRAIN_SECONDS, lambda: f"the report of {rows} rows; {reported}", pause_s=0.2)
        assert reported["status"] == "failed" and "ringmail trace" in reported["fix"], reported
        log = world.server.log_path.read_text(errors="replace")
        for recipient in damaged:
            line = f"set aside a row of due-1, because it or its email {world.accepted[recipient]} cannot be read"
            assert line in log, f"the row of {recipient} is not in the log"


CASES = [corrupt_queue_rows_stop_no_other_email]

if __name__ == "__main__":
    main(CASES)
