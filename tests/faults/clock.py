"""Steps of the wall clock by a day. libfaketime changes the wall clock of the server, and not its monotonic clock."""

import datetime

from lib import GOOD, World, main, wait_until
from shifted_server import NO_STEP, ShiftedServer
from sinks import Habit

GREY = "127.0.2.2"
HABITS = {GOOD: Habit(), GREY: Habit(greylists=True)}
RETRY_S = 6
DAY, DAY_BACK = "+1d", "-1d"


def world_at(directory):
    world = World(directory, habits=HABITS, retry_delays=f"{RETRY_S}s", make_server=ShiftedServer)
    world.site("good.test")
    world.site("grey.test", GREY)
    return world


def in_seconds(seconds):
    """Returns a time of the real clock, for `scheduled_at`."""
    at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def waiting(world, recipient):
    """Returns the reasons why an email waits, as text."""
    attempts = world.server.api.ok("GET", f"/emails/{world.accepted[recipient]}/attempts")
    return str(attempts["waiting"])


def wait_for_greylisting(world, recipient):
    wait_until(lambda: recipient in world.sinks.greylisted, 20, "the first attempt", pause_s=0.01)
    wait_until(lambda: world.email(recipient)["last_event"] == "delivery_delayed", 20, "the deferral", pause_s=0.01)


def a_clock_set_back_by_a_day_delays_no_retry(directory):
    with world_at(directory) as world:
        assert world.send("scheduled@good.test", scheduled_at=in_seconds(4))
        assert world.send("retry@grey.test")
        wait_for_greylisting(world, "retry@grey.test")

        world.server.shift(DAY_BACK)
        assert world.send("after@good.test")

        took = world.wait_for(["retry@grey.test", "after@good.test"], RETRY_S + 10)
        print(f"the retry arrived {took:.1f} s after the clock was set back")
        assert "scheduled@good.test" not in world.sinks.arrived, "a scheduled email left a day early"
        world.server.shift(NO_STEP)
        world.finish("clock set back")
        world.server.stop()


def a_clock_set_back_before_a_start_delays_no_retry(directory):
    with world_at(directory) as world:
        assert world.send("retry@grey.test")
        wait_for_greylisting(world, "retry@grey.test")
        world.server.kill()

        world.server.shift(DAY_BACK)
        world.server.start()

        world.wait_for(["retry@grey.test"], RETRY_S + 10)
        world.finish("clock set back before a start")
        world.server.stop()


def a_clock_set_forward_by_a_day_sends_retries_and_no_scheduled_mail(directory):
    with world_at(directory) as world:
        assert world.send("soon@good.test", scheduled_at=in_seconds(20))
        assert world.send("today@good.test", scheduled_at=in_seconds(12 * 3600))
        assert world.send("retry@grey.test")
        wait_for_greylisting(world, "retry@grey.test")

        world.server.shift(DAY)

        took = world.wait_for(["retry@grey.test"], 10)
        print(f"the retry arrived {took:.1f} s after the clock was set forward")
        assert world.send("after@good.test")
        world.wait_for(["after@good.test"], 10)
        # The claim has moved both scheduled emails: the step has not lasted.
        scheduled = ["soon@good.test", "today@good.test"]
        wait_until(lambda: all("set forward" in waiting(world, it) for it in scheduled), 20, "the postponed emails")
        assert not set(scheduled) & set(world.sinks.arrived), "a scheduled email left early"
        world.server.shift(NO_STEP)
        world.wait_for(["soon@good.test"], 30)
        world.finish("clock set forward", not_due=["today@good.test"])
        world.server.stop()


CASES = [
    a_clock_set_back_by_a_day_delays_no_retry,
    a_clock_set_back_before_a_start_delays_no_retry,
    a_clock_set_forward_by_a_day_sends_retries_and_no_scheduled_mail,
]

if __name__ == "__main__":
    main(CASES)
