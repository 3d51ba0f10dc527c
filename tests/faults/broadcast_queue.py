#!/usr/bin/env python3
"""Several broadcasts at once, and email outside a broadcast between them.

    tests/faults/broadcast_queue.py [WORD...]
"""

import time

from broadcast import DEADLINE_S, RECIPIENTS, BroadcastWorld
from lib import main, wait_until
from server import Server

QUOTA = 200  # Emails of 24 hours. A part of it is reserved for email outside a broadcast.
LATE_MAX_S = 10  # Of an email outside a broadcast, in a debug build beside other cases.


def a_second_broadcast_behind_the_first_reaches_everyone(directory):
    """Both reach the same contacts, each of them once, also over a kill. Other email does not wait for them."""
    with BroadcastWorld(directory) as world:
        audience = world.contacts()
        first = world.send_to_all()
        world.wait_for_count(first, 1)
        second = world.send_to_all()
        began = time.monotonic()
        world.probe()
        print(f"an email outside a broadcast arrived after {time.monotonic() - began:.1f} s")
        assert time.monotonic() - began < LATE_MAX_S
        world.wait_for_count(first, RECIPIENTS // 2)
        world.restart_after_kill()

        for name, broadcast in {"first": first, "second": second}.items():
            world.wait_for_status(broadcast, "sent")
            world.audit(f"{name} of two", broadcast, audience)
        world.server.stop()


def a_canceled_broadcast_delays_no_other(directory):
    with BroadcastWorld(directory) as world:
        audience = world.contacts()
        world.pause()
        first, second = world.send_to_all(), world.send_to_all()
        world.wait_for_fan_out(second, audience[-1])
        canceled = world.cancel(first)
        assert canceled == len(audience), canceled

        world.resume()

        world.wait_for_status(second, "sent")
        world.audit("canceled first", first, audience, canceled=canceled)
        world.audit("second", second, audience)
        assert not world.count(first)
        world.server.stop()


def a_broadcast_over_the_quota_is_paced_and_the_next_is_behind(directory):
    """The room of a day is less than the audience: a warning, a later end, and a bound on what leaves."""
    with BroadcastWorld(directory, make_server=limited(RINGMAIL_SEND_QUOTA=str(QUOTA))) as world:
        audience = world.contacts(2 * QUOTA)
        segment = world.ok("POST", "/segments", {"name": "Small"})["id"]
        small = audience[: QUOTA // 4]
        world.upsert(small, segments=[{"id": segment}])
        first, second = world.draft(), world.draft(segment_id=segment)
        paced = world.start(first)
        behind = world.start(second)

        assert paced["warning"]["code"] == "paced" and paced["warning"]["days"] >= 1, paced
        assert behind["warning"]["code"] == "queued_behind", behind
        assert paced["estimated"] is True and paced["finishes_at"] <= behind["finishes_at"], (paced, behind)
        world.wait_for_count(first, 1)
        world.restart_after_kill()
        world.probe()
        arrived = world.count(first) + world.count(second)
        assert arrived <= QUOTA, f"{arrived} arrived with a quota of {QUOTA}"
        facts = world.read(first)
        assert (facts["status"], facts["sent_at"]) == ("queued", None), facts
        assert facts["finishes_at"] > facts["created_at"], facts
        canceled = {broadcast: world.cancel(broadcast) for broadcast in (first, second)}
        for broadcast, remaining in canceled.items():
            expected = audience if broadcast == first else small
            sent = world.audit("paced", broadcast, expected, canceled=remaining)["sent_count"]
            assert sent + remaining == len(expected), (sent, remaining)
        world.server.stop()


def a_broadcast_with_a_rate_is_not_faster(directory):
    """The estimate is not earlier than the end, also after a kill in the middle."""
    rate, count = 25, 150
    with BroadcastWorld(directory, make_server=limited(RINGMAIL_SEND_RATE=str(rate))) as world:
        audience = world.contacts(count)
        broadcast = world.draft()
        began = time.monotonic()
        world.start(broadcast)
        world.wait_for_count(broadcast, count // 3)
        world.restart_after_kill()
        estimate = world.read(broadcast)["finishes_at"]

        facts = world.wait_for_status(broadcast, "sent")

        took = time.monotonic() - began
        print(f"{count} recipients at {rate}/s took {took:.1f} s")
        assert took >= 0.8 * count / rate, f"{took:.1f} s for {count} recipients at {rate} per second"
        assert facts["sent_at"] <= estimate, f"the estimate was {estimate}, the end {facts['sent_at']}"
        world.audit("rate", broadcast, audience)
        world.server.stop()


def a_broadcast_beyond_the_horizon_is_refused_and_stays_a_draft(directory):
    """An audience that needs more than 24 days: 422, and nothing is queued."""
    with BroadcastWorld(directory, make_server=limited(RINGMAIL_SEND_QUOTA="10")) as world:
        world.contacts(400)
        broadcast = world.draft()

        refusal = world.refusal("POST", f"/broadcasts/{broadcast}/send", {})

        assert refusal[:2] == (422, "broadcast_too_large"), refusal
        assert world.read(broadcast)["status"] == "draft"
        wait_until(lambda: not world.emails(broadcast), DEADLINE_S, "no email")
        world.server.stop()


def limited(**variables):
    """Returns a maker of servers with these variables in their environment."""

    class LimitedServer(Server):
        def environment(self):
            return {**super().environment(), **variables}

    return LimitedServer


CASES = [
    a_second_broadcast_behind_the_first_reaches_everyone,
    a_canceled_broadcast_delays_no_other,
    a_broadcast_over_the_quota_is_paced_and_the_next_is_behind,
    a_broadcast_with_a_rate_is_not_faster,
    a_broadcast_beyond_the_horizon_is_refused_and_stays_a_draft,
]

if __name__ == "__main__":
    main(CASES)
