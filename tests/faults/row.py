#!/usr/bin/env python3
"""Corrupt rows of the queue. The server starts, logs them, and delivers the rest.

    tests/faults/row.py [WORD...]
"""

import datetime
import struct

from lib import Hold, World, main

HEALTHY = 20


def row_of(domain, due_ms):
    """Returns the start of a stored `DueRow` after its team: field names and values in MessagePack."""
    name = b"\xabdestination" + bytes([0xA0 | len(domain)]) + domain.encode()
    return name + b"\xacfirst_due_ms\xcf" + struct.pack(">Q", due_ms)


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
    """A lane whose only row is corrupt, and a lane with a corrupt row before a readable one."""
    with World(directory) as world:
        world.server.stop()
        direct, world.server.delivery = world.server.delivery, Hold()
        world.server.start()
        for domain in ("lone.test", "pair.test", *(f"d{number}.test" for number in range(HEALTHY))):
            world.site(domain)
        now = datetime.datetime.now(datetime.UTC)
        due_ms = int(now.timestamp() * 1000) // 1000 * 1000 + 3_000
        at = datetime.datetime.fromtimestamp(due_ms / 1000, datetime.UTC).isoformat()
        corrupt = ["ann@lone.test", "ann@pair.test"]
        for recipient in corrupt:
            assert world.send(recipient, scheduled_at=at), world.refused
        for recipient in ("bob@pair.test", *(f"ann@d{number}.test" for number in range(HEALTHY))):
            assert world.send(recipient)
        world.server.stop()
        for recipient in corrupt:
            assert damage(world.server.store_path, row_of(recipient.split("@")[1], due_ms)), "the row is not in the file"
        world.server.delivery = direct

        world.server.start()

        # The fields of both rows are in their emails.
        world.finish("row")
        log = world.server.log_path.read_text(errors="replace")
        assert log.count("corrupt") >= len(corrupt), "the log does not name the rows"


CASES = [corrupt_queue_rows_stop_no_other_email]

if __name__ == "__main__":
    main(CASES)
