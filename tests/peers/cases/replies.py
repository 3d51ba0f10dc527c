"""What the server makes of a receiver's replies: retries, failures, results per recipient."""

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
def greylisting_is_a_delay_and_then_a_delivery(world):
    to = world.recipient(PLAIN, "grey-2")

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivery_delayed")
    world.direct.wait_for(email, "delivered")
    equal(len(world.faults.received(to)), 1, "messages at the peer")


@case
def a_retry_after_the_dot_carries_the_same_message_id(world):
    to = world.recipient(PLAIN, "later-2")

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivered")
    tries = world.faults.received(to)
    equal([one.accepted for one in tries], [False, False, True], "outcomes of the tries")
    ids = {one.header("Message-ID") for one in tries}
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
    equal(len(world.faults.received(to)), 1, "tries")
    world.direct.send([to])  # still accepted


@case
def a_message_too_big_for_the_peer_fails_at_once(world):
    to = world.recipient(PLAIN, "large")

    email = world.direct.send([to])

    world.direct.wait_for(email, "failed")
    equal(len(world.faults.received(to)), 1, "tries")


@case
def a_blocked_address_is_a_delay_not_a_bounce(world):
    # 5.7.708 speaks about us, not about the recipient; it must stay retryable.
    to = world.recipient(PLAIN, "blocked")

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivery_delayed")
    world.direct.send([to])  # not suppressed


@case
def a_full_mailbox_is_retried(world):
    to = world.recipient(PLAIN, "full-1")

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivery_delayed")
    world.direct.wait_for(email, "delivered")


@case
def one_bad_recipient_does_not_hold_up_the_good_ones(world):
    domain = world.site(PLAIN)
    good, bad, other = f"ann@{domain}", f"unknown.x@{domain}", f"bob@{domain}"

    email = world.direct.send([good, bad, other])

    world.direct.wait_for_recipients(email, {good: "delivered", bad: "bounced", other: "delivered"})
    equal(len(world.faults.taken(good)), 1, "messages to the first")
    equal(len(world.faults.taken(other)), 1, "messages to the third")


@case
def a_delayed_recipient_is_retried_alone(world):
    domain = world.site(PLAIN)
    good, delayed = f"ann@{domain}", f"grey-1.x@{domain}"

    email = world.direct.send([good], cc=[delayed])

    world.direct.wait_for_recipients(email, {good: "delivered", delayed: "delivered"})
    equal(len(world.faults.taken(good)), 1, "messages to the good one")
    equal(len(world.faults.taken(delayed)), 1, "messages to the delayed one")
    equal(world.faults.taken(delayed)[0].recipients, (delayed,), "the retry's recipients")


@case
def recipients_of_one_site_share_a_transaction(world):
    domain = world.site(PLAIN)
    people = [f"p{number}@{domain}" for number in range(5)]

    email = world.direct.send(people[:2], cc=people[2:4], bcc=people[4:])

    world.direct.wait_for_recipients(email, dict.fromkeys(people, "delivered"))
    arrived = world.faults.taken(people[0])
    equal(len(arrived), 1, "transactions")
    equal(set(arrived[0].recipients), set(people), "recipients of the transaction")
    assert people[4].encode() not in arrived[0].content, "a bcc recipient shows in the message"


@case
def recipients_of_two_sites_have_their_own_outcomes(world):
    here, there = world.recipient(PLAIN), world.recipient(PLAIN, "unknown")

    email = world.direct.send([here, there])

    world.direct.wait_for_recipients(email, {here: "delivered", there: "bounced"})


@case
def a_421_at_rcpt_is_retried_and_delivered(world):
    to = world.recipient(PLAIN, "shut-1")

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivered", seconds=90)
    equal(len(world.faults.taken(to)), 1, "messages at the peer")


@case
def a_421_after_the_dot_is_retried_and_delivered(world):
    to = world.recipient(PLAIN, "shutdata-1")

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivered", seconds=90)
    equal(len(world.faults.taken(to)), 1, "messages taken")


@case
def a_close_after_the_dot_is_unknown_and_tried_again(world):
    to = world.recipient(PLAIN, "drop-1")

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivered", seconds=90)
    tries = world.faults.received(to)
    equal(len(tries), 2, "tries")
    equal(len({one.header("Message-ID") for one in tries}), 1, "message ids")


@case
def a_421_behind_the_250_does_not_undo_the_delivery(world):
    # Both replies arrive in one packet: the first settles the message, the second the session.
    domain = world.site(PLAIN)
    first, second = f"bye.1@{domain}", f"bye.2@{domain}"

    emails = [world.direct.send([to]) for to in (first, second)]

    for email in emails:
        world.direct.wait_for(email, "delivered", seconds=90)
    equal([len(world.faults.received(to)) for to in (first, second)], [1, 1], "messages at the peer")
