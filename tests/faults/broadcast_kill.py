#!/usr/bin/env python3
"""Kills of the server during the fan-out of a broadcast and while it is sent.

    tests/faults/broadcast_kill.py [WORD...]
"""

from broadcast import DEADLINE_S, RECIPIENTS, BroadcastWorld
from lib import main, wait_until

KILLS = 5  # Of each case.


def kills_during_the_fan_out_lose_and_repeat_nothing(directory):
    """The first kill follows the response. Each further one follows a page of the fan-out, as long as there is one."""
    with BroadcastWorld(directory) as world:
        audience = world.contacts(first_name="Ada")
        world.pause()
        broadcast = world.draft()
        world.start(broadcast)
        world.restart_after_kill()
        newest, during = None, 1
        for _ in range(KILLS - 1):
            def has_grown(before=newest):
                return world.newest_email(broadcast) not in (None, before)

            wait_until(has_grown, DEADLINE_S, f"a page after the email to {newest}", pause_s=0.001)
            world.kill()
            world.server.start()
            newest = world.newest_email(broadcast)
            if newest == audience[-1]:
                break
            during += 1
        world.wait_for_fan_out(broadcast, audience[-1])
        queued = world.emails(broadcast)
        assert sorted(to for to, _ in queued) == sorted(audience), f"{len(queued)} emails for {len(audience)} contacts"
        assert not world.count(broadcast), "a paused queue sent email"

        world.resume()

        facts = world.wait_for_status(broadcast, "sent")
        print(f"{during} of {len(world.kills)} kills came before the end of the fan-out")
        assert facts["sent_at"], facts
        world.audit("kills during the fan-out", broadcast, audience)
        world.server.stop()


def kills_while_sending_repeat_only_in_the_commit_window(directory):
    with BroadcastWorld(directory) as world:
        audience = world.contacts(first_name="Ada")
        broadcast = world.draft()
        world.start(broadcast)
        for number in range(1, KILLS + 1):
            world.wait_for_count(broadcast, number * RECIPIENTS // (KILLS + 1))
            world.restart_after_kill()

        world.wait_for_status(broadcast, "sent")
        world.audit("kills while sending", broadcast, audience)
        world.server.stop()


def kills_at_the_response_and_at_the_end_keep_the_broadcast(directory):
    """Nothing acknowledged is lost: `send: true`, a schedule, and the end of a broadcast survive a kill."""
    with BroadcastWorld(directory) as world:
        audience = world.contacts()
        at_once = world.send_to_all()
        world.kill()
        world.server.start()
        later = world.send_to_all(scheduled_at="in 2 hours")
        world.kill()
        world.server.start()

        world.wait_for_count(at_once, len(audience))
        world.kill()
        world.server.start()
        world.wait_for_status(at_once, "sent")
        world.audit("kill at the end", at_once, audience)
        facts = world.read(later)
        assert (facts["status"], facts["sent_count"]) == ("scheduled", 0), facts
        assert world.cancel(later) == len(audience)
        assert not world.count(later)
        world.server.stop()


CASES = [
    kills_while_sending_repeat_only_in_the_commit_window,
    kills_during_the_fan_out_lose_and_repeat_nothing,
    kills_at_the_response_and_at_the_end_keep_the_broadcast,
]

if __name__ == "__main__":
    main(CASES)
