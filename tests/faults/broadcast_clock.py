#!/usr/bin/env python3
"""Steps of the wall clock by a day during a broadcast. See `clock.py`.

    tests/faults/broadcast_clock.py [WORD...]
"""

from broadcast import BROADCASTS_MAX, LONG_NAMES, RECIPIENTS, BroadcastWorld
from clock import DAY, DAY_BACK, NO_STEP, ShiftedServer, in_seconds
from lib import main


def a_clock_set_back_by_a_day_delays_no_broadcast(directory):
    """Before the fan-out, between the fan-out and the send, and while it is sent."""
    with BroadcastWorld(directory, make_server=ShiftedServer) as world:
        audience = world.contacts()
        world.pause()
        paused = world.send_to_all()
        world.wait_for_fan_out(paused, audience[-1])

        world.server.shift(DAY_BACK)
        back = world.send_to_all()
        world.resume()

        for name, broadcast in {"queued before": paused, "sent after": back}.items():
            world.wait_for_status(broadcast, "sent")
            world.audit(f"clock set back, {name}", broadcast, audience)
        world.server.stop()


def step_in_the_fan_out(directory, name, *, is_killed):
    """Sets the clock back after a page. A later read shows that the fan-out had not ended then. If it had, tries another
    broadcast.
    """
    with BroadcastWorld(directory, make_server=ShiftedServer) as world:
        audience = world.contacts(**LONG_NAMES)
        for day in range(1, BROADCASTS_MAX + 1):
            broadcast = world.draft_of_small_pages()
            world.start(broadcast)
            world.wait_for_page(broadcast, None)
            world.server.shift(f"-{day}d")
            stored = audience.index(world.newest_email(broadcast)) + 1
            if is_killed:
                world.kill()
                stored = world.stored(broadcast)
                world.server.start()

            world.wait_for_status(broadcast, "sent")
            world.audit(f"{name}, after {stored} stored recipients", broadcast, audience)
            if stored < len(audience):
                break
        else:
            raise AssertionError(f"in {BROADCASTS_MAX} broadcasts, the clock was set back after the fan-out")
        world.server.stop()


def a_clock_set_back_during_the_fan_out_delays_nothing(directory):
    step_in_the_fan_out(directory, "clock set back", is_killed=False)


def a_clock_set_back_before_a_kill_in_the_fan_out_loses_nothing(directory):
    """The ids of the rest are lower than those before the step."""
    step_in_the_fan_out(directory, "clock set back, then killed", is_killed=True)


def a_clock_set_back_while_sending_repeats_and_loses_nothing(directory):
    """Ids follow the clock. The cursor of the fan-out and the counts do not depend on it."""
    with BroadcastWorld(directory, make_server=ShiftedServer) as world:
        audience = world.contacts()
        broadcast = world.send_to_all()
        world.wait_for_count(broadcast, RECIPIENTS // 3)
        world.server.shift(DAY_BACK)
        world.wait_for_count(broadcast, RECIPIENTS // 2)
        world.restart_after_kill()

        world.wait_for_status(broadcast, "sent")
        world.audit("clock set back while sending", broadcast, audience)
        world.server.stop()


def no_step_of_the_clock_sends_a_scheduled_broadcast(directory):
    with BroadcastWorld(directory, make_server=ShiftedServer) as world:
        audience = world.contacts()
        tomorrow = world.send_to_all(scheduled_at=in_seconds(12 * 3600))
        later = world.send_to_all(scheduled_at=in_seconds(36 * 3600))
        soon = world.send_to_all(scheduled_at=in_seconds(4))
        world.server.shift(DAY_BACK)
        world.probe()
        assert not world.count(soon), "a scheduled broadcast left a day early"

        world.server.shift(NO_STEP)
        world.wait_for_status(soon, "sent")
        world.server.shift(DAY)
        world.probe()

        world.audit("clock set forward", soon, audience)
        for name, broadcast in {"tomorrow": tomorrow, "later": later}.items():
            state = (world.read(broadcast)["status"], world.count(broadcast))
            assert state == ("scheduled", 0), f"{name}: a scheduled broadcast left early: {state}"
        world.server.stop()


CASES = [
    a_clock_set_back_during_the_fan_out_delays_nothing,
    a_clock_set_back_before_a_kill_in_the_fan_out_loses_nothing,
    a_clock_set_back_by_a_day_delays_no_broadcast,
    a_clock_set_back_while_sending_repeats_and_loses_nothing,
    no_step_of_the_clock_sends_a_scheduled_broadcast,
]

if __name__ == "__main__":
    main(CASES)
