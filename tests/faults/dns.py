#!/usr/bin/env python3
"""Outages of the name servers. Mail waits without an attempt, and leaves within seconds after the end of the outage.

    tests/faults/dns.py [WORD...]
"""

from lib import GOOD, World, main, wait_until

DOMAINS = 40
# Lookups of one domain in the outage. Each pause is twice as long as the one before it. A lookup has two queries.
LOOKUPS_MIN = {"silent": 2, "failing": 3}
BACK_MAX_S = 15


def outage(directory, kind):
    # A retry delay that is longer than the case shows that the mail does not wait for one.
    with World(directory, retry_delays="2m") as world:
        known = world.site("known.test")
        world.send(f"before@{known}")
        world.wait_for([f"before@{known}"], 20)
        world.names.outage = kind
        waiting = [f"ann@{world.site(f'd{number}.test')}" for number in range(DOMAINS)]
        for recipient in waiting:
            assert world.send(recipient)
        # The answers about a known domain are still in the cache.
        world.send(f"during@{known}")
        world.wait_for([f"during@{known}"], 20, "mail to a known domain in the outage")
        wanted = 2 * LOOKUPS_MIN[kind]
        first = waiting[0].split("@")[1]
        wait_until(lambda: world.names.questions(first).count("MX") >= wanted, 60, f"{wanted} queries for {first}")
        wait_until(lambda: world.email(waiting[-1])["last_event"] == "delivery_delayed", 30, "the report of the delay")
        assert not world.sinks.arrived.keys() & set(waiting), "mail arrived in the outage"

        world.names.outage = None
        seconds = world.wait_for(waiting, BACK_MAX_S, "the mail to leave after the outage")

        print(f"dns {kind}: {DOMAINS} domains; all mail left {seconds:.1f} s after the end of the outage")
        world.finish(f"dns {kind}")
        for recipient in waiting:
            attempts = world.attempts(recipient)
            assert [one["number"] for one in attempts] == [1], f"the outage is charged to {recipient}: {attempts}"


def the_name_of_a_smarthost_is_found_again(directory):
    """The pause of the only lookup does not grow, and the failures in the cache of the resolver do not count."""
    with World(directory, retry_delays="2m", smarthost="smarthost.test") as world:
        world.names.outage = "failing"
        waiting = [f"ann@d{number}.test" for number in range(DOMAINS)]
        for recipient in waiting:
            assert world.send(recipient)
        queries = lambda: world.names.questions("smarthost.test").count("A")  # noqa: E731
        wait_until(lambda: queries() >= 2 * LOOKUPS_MIN["failing"], 60, "lookups of the smarthost")

        world.names.outage = None
        world.names.host("smarthost.test", GOOD)
        seconds = world.wait_for(waiting, BACK_MAX_S, "the mail to leave after the outage")

        print(f"dns smarthost: all mail left {seconds:.1f} s after the end of the outage")
        world.finish("dns smarthost")


def name_servers_that_do_not_respond_delay_the_mail(directory):
    outage(directory, "silent")


def name_servers_that_fail_delay_the_mail(directory):
    outage(directory, "failing")


CASES = [
    name_servers_that_do_not_respond_delay_the_mail,
    name_servers_that_fail_delay_the_mail,
    the_name_of_a_smarthost_is_found_again,
]

if __name__ == "__main__":
    main(CASES)
