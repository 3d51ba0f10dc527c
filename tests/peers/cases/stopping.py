"""Stopping in the middle of a delivery: a session past DATA finishes, the rest is found again."""

from deadline import wait_until
from world import PLAIN, VERY_SLOW

from cases import case, equal


@case
def a_stop_in_the_middle_of_a_session_loses_and_repeats_nothing(world):
    # The peer takes seconds for its replies, so the stop comes while a session is open.
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
        equal([len(world.faults.taken(to)) for to in (slow, later)], [1, 1], "messages at the peers")
        server.stop()
    finally:
        server.end()


@case
def scheduled_mail_survives_a_restart_and_leaves_on_time(world):
    server = world.server("scheduled", world.direct_mode())
    to = world.recipient(PLAIN)
    try:
        server.start()
        email = server.send([to], scheduled_at="in 5 seconds")
        equal(server.email(email)["last_event"], "scheduled", "last_event")
        server.stop()
        server.start()
        server.wait_for(email, "delivered", seconds=60)
        equal(len(world.faults.taken(to)), 1, "messages at the peer")
        server.stop()
    finally:
        server.end()
