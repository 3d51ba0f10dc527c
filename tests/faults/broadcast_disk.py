#!/usr/bin/env python3
"""A full disk during the fan-out of a broadcast, and a kill while the disk is full.

    tests/faults/broadcast_disk.py [WORD...]
"""

import time

from broadcast import RECIPIENTS, BroadcastWorld
from clock import in_seconds
from disk import DISK_MIB, mounted, request
from lib import main, wait_until

DUE_S = 5
# The file system has room for the contacts and the recipients, at most 2 KiB for both, and for the copies of pages.
SIZE_MIB = DISK_MIB + 4 * RECIPIENTS // 1_000


def wait_until_full(world):
    """Waits until the server refuses a contact, one who gets no broadcast."""
    contact = {"email": "refused@d0.test", "unsubscribed": True}
    wait_until(lambda: request(world, "POST", "/contacts", contact)[0] == 503, 60, world.server.log_tail, pause_s=0.1)


def wait_until_writable(world):
    """Waits until the server accepts a contact again."""
    contact = {"email": "late@d0.test", "unsubscribed": True}
    wait_until(lambda: request(world, "POST", "/contacts", contact)[0] == 201, 60, world.server.log_tail, pause_s=0.1)


def has_queued(world, broadcast):
    """Returns whether a page of the fan-out is stored. The server may still refuse reads."""
    status, _, page = request(world, "GET", f"/emails?broadcast_id={broadcast}&limit=1")
    return status == 200 and page["data"]


def a_full_disk_during_the_fan_out_loses_and_repeats_nothing(directory):
    """The disk is full at the scheduled time, and again after the first page."""
    with mounted(directory / "data", SIZE_MIB) as disk:
        with BroadcastWorld(directory, extra=["--disk-reserve-mb", "0"]) as world:
            audience = world.contacts(first_name="Ada")
            process = world.server.process
            due = time.monotonic() + DUE_S
            broadcast = world.send_to_all(scheduled_at=in_seconds(DUE_S))
            disk.fill()
            wait_until_full(world)
            wait_until(lambda: time.monotonic() > due + 1, 60, "the scheduled time", pause_s=0.1)
            disk.empty()
            wait_until(lambda: has_queued(world, broadcast), 60, world.server.log_tail, pause_s=0.001)
            disk.fill()
            wait_until_full(world)
            disk.empty()
            wait_until_writable(world)

            world.wait_for_status(broadcast, "sent")

            assert world.server.process is process and process.poll() is None, "the server ended"
            world.probe()
            world.audit("full disk", broadcast, audience)
            world.server.stop()


def a_kill_while_the_disk_is_full_keeps_the_broadcast(directory):
    with mounted(directory / "data", SIZE_MIB) as disk:
        with BroadcastWorld(directory, extra=["--disk-reserve-mb", "8"]) as world:
            audience = world.contacts(first_name="Ada")
            broadcast = world.send_to_all()
            world.wait_for_count(broadcast, 1)
            disk.fill()
            wait_until_full(world)
            world.kill()
            disk.empty()
            world.server.start()

            world.wait_for_status(broadcast, "sent")

            world.audit("killed on a full disk", broadcast, audience)
            world.server.stop()


CASES = [
    a_full_disk_during_the_fan_out_loses_and_repeats_nothing,
    a_kill_while_the_disk_is_full_keeps_the_broadcast,
]

if __name__ == "__main__":
    main(CASES)
