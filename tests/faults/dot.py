#!/usr/bin/env python3
"""A receiver that does not reply to the final dot.

    tests/faults/dot.py [WORD...]
"""

from lib import DRAIN_SECONDS, Habit, Hold, World, main, wait_until

GROUPS = 16  # Twice as many as one claim leases, so that the claim of the hung session does not have the last one.
HUNG = 3  # Not the first one: a session leases one group first, and then several.
SESSIONS = 2  # The hung one, and one that delivers all groups that it can lease, oldest first.
HOSTS = [f"127.0.2.{number}" for number in range(1, 5)]
OTHERS_MAX_S = 15


def a_hung_final_dot_holds_back_no_other_email(directory):
    """One session leases several groups of a site, and hangs at one of them."""
    habits = {address: Habit() for address in HOSTS}
    with World(directory, habits=habits, extra=["--concurrency", str(SESSIONS)]) as world:
        # All emails are queued before the first session, so that it leases several of them.
        world.server.stop()
        direct, world.server.delivery = world.server.delivery, Hold()
        world.server.start()
        for number, address in enumerate(HOSTS):
            world.names.mail_host("hung.test", address, host=f"mx{number}.hung.test")
        people = [f"r{number}@hung.test" for number in range(GROUPS)]
        for recipient in people:
            assert world.send(recipient)
        world.server.stop()
        world.server.delivery = direct
        hung, others = people[HUNG], people[:HUNG] + people[HUNG + 1 :]
        world.sinks.hanging.add(hung)

        world.server.start()
        wait_until(lambda: world.sinks.hung[hung], 30, "the message that hangs")
        seconds = world.wait_for(others, OTHERS_MAX_S, "the emails behind it")

        order = list(world.sinks.arrived)  # By the first arrival.
        leased = [recipient for recipient in people[HUNG + 1 :] if order.index(recipient) > order.index(people[-1])]
        print(
            f"dot: {len(others)} emails beside the hung one arrived within {seconds:.1f} s, "
            f"{len(leased)} of them after later ones, because the hung session had leased them"
        )
        # Otherwise, the other session would have delivered them before the last one.
        assert leased, f"the hung session held no further group; the order of arrival was {order}"
        assert hung not in world.sinks.arrived and world.email(hung)["last_event"] == "sent"
        # The receiver breaks off. The outcome is unknown: the message is sent again, to the same host first.
        session = world.sinks.hung[hung][0]
        world.sinks.release(hung)
        world.wait_for([hung], DRAIN_SECONDS, "the copy of the hung message")
        world.finish("dot")
        first, second = world.attempts(hung)
        assert "may have arrived" in str(world.email(hung)["events"]), "the timeline does not name the unknown outcome"
        assert (first["possible_duplicate"], second["possible_duplicate"]) == (False, True), (first, second)
        assert second["host"] == first["host"], f"sent to {first['host']}, then to {second['host']}"
        arrival = world.sinks.arrived[hung][0]
        assert arrival.message_id == session.unanswered_id, "the copy has another Message-ID"


CASES = [a_hung_final_dot_holds_back_no_other_email]

if __name__ == "__main__":
    main(CASES)
