"""Greeting, STARTTLS, SIZE, speed: what a receiver's sessions are like."""

from world import (
    BLOCKING_ONCE,
    BUSY_ONCE,
    DRIPPING,
    GARBAGE_TLS,
    INJECTING_TLS,
    NO_PIPELINING,
    PLAIN,
    REFUSED_TLS,
    SMALL,
    TLS,
)

from cases import case, equal


def delivered_over(world, address, seconds=60):
    """Sends one email to a new site at `address` and returns the one transaction taken there."""
    to = world.recipient(address)
    email = world.direct.send([to])
    world.direct.wait_for(email, "delivered", seconds)
    taken = world.faults.taken(to)
    equal(len(taken), 1, "messages at the peer")
    return taken[0]


@case
def starttls_is_used_where_it_is_offered(world):
    assert delivered_over(world, TLS).tls, "the message went in clear"


@case
def a_peer_without_starttls_is_served_in_clear(world):
    assert not delivered_over(world, PLAIN).tls


@case
def a_broken_handshake_falls_back_to_clear(world):
    assert not delivered_over(world, GARBAGE_TLS).tls


@case
def a_refused_starttls_falls_back_to_clear(world):
    assert not delivered_over(world, REFUSED_TLS).tls


@case
def replies_smuggled_behind_the_starttls_220_are_not_believed(world):
    # The injected EHLO answer says SIZE 1; whoever believed it would fail the message.
    assert not delivered_over(world, INJECTING_TLS).tls


@case
def a_peer_without_pipelining_gets_one_command_at_a_time(world):
    delivered_over(world, NO_PIPELINING)


@case
def a_slow_drip_of_reply_bytes_is_borne(world):
    delivered_over(world, DRIPPING)


@case
def the_size_limit_is_respected_before_the_data(world):
    # RFC 1870 §6.1: what is larger than the announced limit is not sent at all.
    to = world.recipient(SMALL)

    email = world.direct.send([to], text="x" * 70 + "\n" + "a longer line of the body\n" * 200)

    world.direct.wait_for(email, "failed")
    equal(world.faults.received(to), [], "messages at the peer")


@case
def a_554_greeting_is_a_delay(world):
    to = world.recipient(BLOCKING_ONCE)

    email = world.direct.send([to])

    world.direct.wait_for(email, ["delivery_delayed", "delivered"])
    world.direct.wait_for(email, "delivered", seconds=150)


@case
def a_421_greeting_is_retried(world):
    to = world.recipient(BUSY_ONCE)

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivered", seconds=150)


@case
def a_session_is_reused_for_the_next_messages(world):
    domain = world.site(PLAIN)
    people = [f"r{number}@{domain}" for number in range(20)]
    batch = [{"from": "notify@mail.example.com", "to": to, "subject": "Reuse", "text": "one of many"} for to in people]

    answer = world.direct.api.ok("POST", "/emails/batch", batch)

    for row in answer["data"]:
        world.direct.wait_for(row["id"], "delivered")
    sessions = {one.session for to in people for one in world.faults.taken(to)}
    assert len(sessions) < len(people), f"{len(people)} messages took {len(sessions)} sessions"


@case
def the_ehlo_name_is_the_configured_one(world):
    delivered_over(world, PLAIN)

    assert world.direct.delivery.hostname in world.faults.hostnames, world.faults.hostnames
    assert not any("localhost" in name for name in world.faults.hostnames), world.faults.hostnames
