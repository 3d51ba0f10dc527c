#!/usr/bin/env python3
"""Kills of the server during the fan-out of a broadcast and while it is sent.

    tests/faults/broadcast_kill.py [WORD...]
"""

from broadcast import BROADCASTS_MAX, LONG_NAMES, RECIPIENTS, BroadcastWorld
from lib import main

KILLS = 12  # Of one broadcast.
FAN_OUT_KILLS = 6  # Of these, before the end of the fan-out.
FAN_OUT_KILLS_MIN = 3  # The same, at least. None of them is before the first page.


def kill_during_the_fan_out(world, broadcast, audience):
    """Kills the server after the response, and after each page that the server reports. Returns the number of stored
    recipients at each kill, which is read while no server runs.
    """
    stored = []
    while len(stored) < FAN_OUT_KILLS and len(audience) not in stored:
        world.kill()
        stored.append(world.stored(broadcast))
        world.server.start(pause_s=0.001)
        if stored[-1] < len(audience):
            world.wait_for_page(broadcast, audience[stored[-1] - 1] if stored[-1] else None)
    return stored


def kill_while_sending(world, broadcast, kills):
    """Kills the server this number of times, in equal steps from the current number of arrivals to the last one."""
    first = world.count(broadcast)
    for number in range(1, kills + 1):
        world.wait_for_count(broadcast, first + number * (RECIPIENTS - first) // (kills + 1))
        assert world.count(broadcast) < RECIPIENTS, f"all emails arrived before kill {number} of {kills}"
        world.restart_after_kill()


def kill_throughout(directory, name, *, is_paused):
    """Kills the server during the fan-out and while it sends, in one broadcast. A pause separates the two. If the fan-out
    was too fast, tries another broadcast.
    """
    with BroadcastWorld(directory) as world:
        audience = world.contacts(**LONG_NAMES)
        for _ in range(BROADCASTS_MAX):
            before = len(world.kills)
            if is_paused:
                world.pause()
            broadcast = world.draft_of_small_pages()
            world.start(broadcast)
            stored = kill_during_the_fan_out(world, broadcast, audience)
            if is_paused:
                world.wait_for_fan_out(broadcast, audience[-1])
                queued = [to for to, _ in world.emails(broadcast)]
                assert sorted(queued) == sorted(audience), f"{len(queued)} emails for {len(audience)} contacts"
                assert not world.count(broadcast), "a paused queue sent email"
                world.resume()
            kill_while_sending(world, broadcast, KILLS - len(stored))

            facts = world.wait_for_status(broadcast, "sent")
            during = sum(0 < number < len(audience) for number in stored)
            kills = len(world.kills) - before
            print(f"{kills} kills, {during} of them in the fan-out, after {stored} stored recipients")
            assert facts["sent_at"], facts
            assert kills == KILLS
            world.audit(name, broadcast, audience)
            if during >= FAN_OUT_KILLS_MIN:
                break
        else:
            raise AssertionError(f"no broadcast of {BROADCASTS_MAX} had {FAN_OUT_KILLS_MIN} kills in its fan-out")
        world.server.stop()


def kills_of_a_paused_fan_out_and_of_the_send_lose_nothing(directory):
    kill_throughout(directory, "kills during the fan-out, then while sending", is_paused=True)


def kills_while_the_fan_out_sends_repeat_only_in_the_commit_window(directory):
    kill_throughout(directory, "kills while sending", is_paused=False)


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
    kills_while_the_fan_out_sends_repeat_only_in_the_commit_window,
    kills_of_a_paused_fan_out_and_of_the_send_lose_nothing,
    kills_at_the_response_and_at_the_end_keep_the_broadcast,
]

if __name__ == "__main__":
    main(CASES)
