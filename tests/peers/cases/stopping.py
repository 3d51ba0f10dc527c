"""A stop during a delivery: a session past DATA finishes, and other emails are delivered after the restart."""

from deadline import wait_until
from world import PLAIN, VERY_SLOW

from cases import case, equal


@case
def a_stop_during_a_session_loses_and_repeats_no_email(world):
    # The replies of the peer take seconds, so the session is open at the stop.
    server = world.server("stopped", world.direct_mode())
    slow, later = world.recipient(VERY_SLOW), world.recipient(PLAIN, "grey-1")
    try:
        server.start()
        before = world.faults.session_count(VERY_SLOW)
        emails = [server.send([slow]), server.send([later])]
        wait_until(lambda: world.faults.session_count(VERY_SLOW) > before, 20, "a session with the slow peer")
        server.stop()
        server.start()
        for email in emails:
            server.wait_for(email, "delivered", seconds=90)
        equal([len(world.faults.accepted(to)) for to in (slow, later)], [1, 1], "messages at the peers")
        server.stop()
    finally:
        server.end()


@case
def a_scheduled_email_is_delivered_on_time_after_a_restart(world):
    server = world.server("scheduled", world.direct_mode())
    to = world.recipient(PLAIN)
    try:
        server.start()
        email = server.send([to], scheduled_at="in 5 seconds")
        equal(server.email(email)["last_event"], "scheduled", "last_event")
        server.stop()
        server.start()
        server.wait_for(email, "delivered", seconds=60)
        equal(len(world.faults.accepted(to)), 1, "messages at the peer")
        server.stop()
    finally:
        server.end()
