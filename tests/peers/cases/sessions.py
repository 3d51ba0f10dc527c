"""Sessions with receivers: greeting, STARTTLS, SIZE, slow replies, reuse."""

from world import (
    BLOCKING_ONCE,
    BUSY_ONCE,
    DRIPPING,
    GARBAGE_TLS,
    INJECTING_TLS,
    NO_PIPELINING,
    PLAIN,
    REFUSED_TLS,
    REQUIRED_TLS,
    SMALL,
    TLS,
    TLS_REFUSED_ONCE,
    TLS_REFUSED_THRICE,
)

from cases import case, equal


def delivered_over(world, address, seconds=60):
    """Sends one email to a new site at `address`. Returns the transaction that the peer accepted."""
    return delivered_to(world, world.recipient(address), seconds)


def delivered_to(world, to, seconds=60):
    """Sends one email. Returns the transaction that the peer accepted."""
    email = world.direct.send([to])
    world.direct.wait_for(email, "delivered", seconds)
    accepted = world.faults.accepted(to)
    equal(len(accepted), 1, "messages at the peer")
    return accepted[0]


@case
def starttls_is_used_where_it_is_offered(world):
    assert delivered_over(world, TLS).tls, "the message was sent in plain text"


@case
def a_peer_without_starttls_receives_in_plain_text(world):
    assert not delivered_over(world, PLAIN).tls


@case
def a_failed_handshake_falls_back_to_plain_text(world):
    assert not delivered_over(world, GARBAGE_TLS).tls


@case
def a_refused_starttls_falls_back_to_plain_text(world):
    assert not delivered_over(world, REFUSED_TLS).tls


@case
def a_starttls_that_is_refused_once_affects_one_message(world):
    domain = world.site(TLS_REFUSED_ONCE)

    assert not delivered_to(world, f"one@{domain}").tls
    assert delivered_to(world, f"two@{domain}").tls


@case
def a_starttls_that_is_refused_three_times_is_not_tried_again(world):
    domain = world.site(TLS_REFUSED_THRICE)

    for name in ("one", "two", "three", "four"):
        assert not delivered_to(world, f"{name}@{domain}").tls, name
    equal(world.faults.starttls_counts[TLS_REFUSED_THRICE], 3, "STARTTLS commands")


@case
def a_domain_that_requires_tls_gets_no_plain_text(world):
    for address in (PLAIN, REFUSED_TLS, GARBAGE_TLS):
        to = f"one@{world.site(address, REQUIRED_TLS)}"

        email = world.direct.send([to])

        world.direct.wait_for(email, "delivery_delayed")
        equal(world.faults.received(to), [], "messages at the peer")
    assert delivered_to(world, f"two@{world.site(TLS, REQUIRED_TLS)}").tls


@case
def replies_injected_after_the_starttls_220_are_ignored(world):
    # The injected EHLO reply announces SIZE 1. A server that uses it cannot send the message.
    assert not delivered_over(world, INJECTING_TLS).tls


@case
def a_peer_without_pipelining_gets_one_command_at_a_time(world):
    delivered_over(world, NO_PIPELINING)


@case
def a_peer_that_replies_slowly_receives_the_message(world):
    delivered_over(world, DRIPPING)


@case
def a_message_above_the_announced_size_is_not_sent(world):
    # RFC 1870 §6.1: a message that exceeds the announced limit is not sent.
    to = world.recipient(SMALL)

    email = world.direct.send([to], text="x" * 70 + "\n" + "a longer line of the body\n" * 200)

    world.direct.wait_for(email, "failed")
    equal(world.faults.received(to), [], "messages at the peer")


@case
def a_554_greeting_delays_the_email(world):
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

    response = world.direct.api.ok("POST", "/emails/batch", batch)

    for row in response["data"]:
        world.direct.wait_for(row["id"], "delivered")
    sessions = {one.session for to in people for one in world.faults.accepted(to)}
    assert len(sessions) < len(people), f"{len(people)} messages used {len(sessions)} sessions"


@case
def the_ehlo_name_is_the_configured_one(world):
    delivered_over(world, PLAIN)

    assert world.direct.delivery.hostname in world.faults.hostnames, world.faults.hostnames
    assert not any("localhost" in name for name in world.faults.hostnames), world.faults.hostnames
