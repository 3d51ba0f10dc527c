"""Handling of SMTP replies: retries, failures, results per recipient."""

from server import Refused, outcomes
from world import PLAIN

from cases import case, equal


@case
def a_message_is_delivered_exactly_once(world):
    to = world.recipient(PLAIN)

    email = world.direct.send([to])

    read = world.direct.wait_for(email, "delivered")
    equal(outcomes(read), {to: "delivered"}, "recipients")
    equal(len(world.faults.received(to)), 1, "messages at the peer")


@case
def a_greylisted_email_is_delayed_and_then_delivered(world):
    to = world.recipient(PLAIN, "grey-2")

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivery_delayed")
    world.direct.wait_for(email, "delivered")
    equal(len(world.faults.received(to)), 1, "messages at the peer")


@case
def a_retry_after_the_dot_has_the_same_message_id(world):
    to = world.recipient(PLAIN, "later-2")

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivered")
    attempts = world.faults.received(to)
    equal([one.accepted for one in attempts], [False, False, True], "outcomes of the attempts")
    ids = {one.header("Message-ID") for one in attempts}
    equal(len(ids), 1, f"message ids {ids}")
    assert None not in ids, "no Message-ID"


@case
def an_unknown_mailbox_bounces_and_is_suppressed(world):
    to = world.recipient(PLAIN, "unknown")

    email = world.direct.send([to])

    read = world.direct.wait_for(email, "bounced")
    equal(outcomes(read), {to: "bounced"}, "recipients")
    equal(world.faults.received(to), [], "messages at the peer")
    try:
        world.direct.send([to])
    except Refused as refusal:
        equal((refusal.status, refusal.body["name"]), (422, "all_recipients_suppressed"), "the second send")
    else:
        raise AssertionError("a second send to a bounced address was accepted")


@case
def refused_content_fails_without_suppressing(world):
    to = world.recipient(PLAIN, "content")

    email = world.direct.send([to])

    world.direct.wait_for(email, "failed")
    equal(len(world.faults.received(to)), 1, "attempts")
    world.direct.send([to])  # Accepted, because the address is not suppressed.


@case
def a_message_above_the_size_limit_of_the_peer_fails_without_a_retry(world):
    to = world.recipient(PLAIN, "large")

    email = world.direct.send([to])

    world.direct.wait_for(email, "failed")
    equal(len(world.faults.received(to)), 1, "attempts")


@case
def a_blocked_sender_address_delays_the_email(world):
    # 5.7.708 refuses the address of the server, not the recipient, so it is a deferral.
    to = world.recipient(PLAIN, "blocked")

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivery_delayed")
    world.direct.send([to])  # Accepted, because the address is not suppressed.


@case
def a_refusal_of_the_reverse_dns_of_the_server_delays_the_email(world):
    to = world.recipient(PLAIN, "ptr")

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivery_delayed")
    world.direct.send([to])  # Accepted, because the address is not suppressed.


@case
def a_policy_with_the_code_of_a_bad_mailbox_fails_without_suppressing(world):
    to = world.recipient(PLAIN, "policy")

    email = world.direct.send([to])

    world.direct.wait_for(email, "failed")
    world.direct.send([to])  # Accepted, because the address is not suppressed.


@case
def a_domain_that_is_unknown_to_its_server_bounces_after_a_second_attempt(world):
    lasting, passing = world.recipient(PLAIN, "nodomain"), world.recipient(PLAIN, "nodomain-1")

    emails = [world.direct.send([to]) for to in (lasting, passing)]

    world.direct.wait_for(emails[0], "delivery_delayed")
    world.direct.wait_for(emails[0], "bounced")
    world.direct.wait_for(emails[1], "delivered")


@case
def a_full_mailbox_is_retried(world):
    to = world.recipient(PLAIN, "full-1")

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivery_delayed")
    world.direct.wait_for(email, "delivered")


@case
def a_refused_recipient_does_not_delay_the_others(world):
    domain = world.site(PLAIN)
    good, bad, other = f"ann@{domain}", f"unknown.x@{domain}", f"bob@{domain}"

    email = world.direct.send([good, bad, other])

    world.direct.wait_for_recipients(email, {good: "delivered", bad: "bounced", other: "delivered"})
    equal(len(world.faults.accepted(good)), 1, "messages to the first")
    equal(len(world.faults.accepted(other)), 1, "messages to the third")


@case
def only_the_delayed_recipient_is_retried(world):
    domain = world.site(PLAIN)
    good, delayed = f"ann@{domain}", f"grey-1.x@{domain}"

    email = world.direct.send([good], cc=[delayed])

    world.direct.wait_for_recipients(email, {good: "delivered", delayed: "delivered"})
    equal(len(world.faults.accepted(good)), 1, "messages to the good recipient")
    equal(len(world.faults.accepted(delayed)), 1, "messages to the delayed recipient")
    equal(world.faults.accepted(delayed)[0].recipients, (delayed,), "the retry's recipients")


@case
def recipients_of_one_site_share_a_transaction(world):
    domain = world.site(PLAIN)
    people = [f"p{number}@{domain}" for number in range(5)]

    email = world.direct.send(people[:2], cc=people[2:4], bcc=people[4:])

    world.direct.wait_for_recipients(email, dict.fromkeys(people, "delivered"))
    arrived = world.faults.accepted(people[0])
    equal(len(arrived), 1, "transactions")
    equal(set(arrived[0].recipients), set(people), "recipients of the transaction")
    assert people[4].encode() not in arrived[0].content, "the message contains a bcc recipient"


@case
def recipients_of_two_sites_have_separate_outcomes(world):
    here, there = world.recipient(PLAIN), world.recipient(PLAIN, "unknown")

    email = world.direct.send([here, there])

    world.direct.wait_for_recipients(email, {here: "delivered", there: "bounced"})


@case
def a_421_at_rcpt_is_retried_and_delivered(world):
    to = world.recipient(PLAIN, "shut-1")

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivered", seconds=90)
    equal(len(world.faults.accepted(to)), 1, "messages at the peer")


@case
def a_421_after_the_dot_is_retried_and_delivered(world):
    to = world.recipient(PLAIN, "shutdata-1")

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivered", seconds=90)
    equal(len(world.faults.accepted(to)), 1, "messages accepted")


@case
def a_connection_closed_after_the_dot_is_retried(world):
    to = world.recipient(PLAIN, "drop-1")

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivered", seconds=90)
    attempts = world.faults.received(to)
    equal(len(attempts), 2, "attempts")
    equal(len({one.header("Message-ID") for one in attempts}), 1, "message ids")


@case
def a_421_after_the_250_does_not_undo_the_delivery(world):
    # Both replies arrive in one packet. The first settles the message, and the second ends the session.
    domain = world.site(PLAIN)
    first, second = f"bye.1@{domain}", f"bye.2@{domain}"

    emails = [world.direct.send([to]) for to in (first, second)]

    for email in emails:
        world.direct.wait_for(email, "delivered", seconds=90)
    equal([len(world.faults.received(to)) for to in (first, second)], [1, 1], "messages at the peer")
