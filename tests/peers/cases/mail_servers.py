"""Delivery to Postfix, Exim and OpenSMTPD in direct mode and in relay mode, and many messages to smtp-sink."""

import re

from deadline import wait_until
from server import DOMAIN, SENDER, Refused, Relay, outcomes
from signatures import check_both_signatures, published_keys
from smtp_sink import SmtpSink
from world import REQUIRED_TLS

from cases import case, case_of_each_server, equal

MANY = 600
BATCH = 100
SESSION_MESSAGES = 20


def attempts(server, email):
    """Returns the SMTP attempts of an email, oldest first."""
    return server.api.ok("GET", f"/emails/{email}/attempts")["data"][::-1]


@case_of_each_server
def a_smarthost_receives_mail_for_every_domain(world, server):
    relay = world.relays[server.name]
    people = [f"{world.unique()}@relayed-{number}.example" for number in range(3)]

    email = relay.send(people)

    for to in people:
        message = server.wait_for_message(to)
        check_both_signatures(message.content, published_keys(relay, DOMAIN))
        equal(len(server.messages(to)), 1, f"messages for {to}")
    # The smarthost passes the message on. Only a delivery report proves the delivery.
    relay.wait_for_recipients(email, dict.fromkeys(people, "sent"))


@case_of_each_server
def starttls_is_used_with_a_smarthost_that_offers_it(world, server):
    to = f"{world.unique()}@relayed.example"

    world.relays[server.name].send([to])

    equal(server.wait_for_message(to).has_tls, server.has_tls, "TLS")


@case_of_each_server
def a_refusal_by_the_smarthost_applies_to_one_recipient(world, server):
    unique = world.unique()
    good, bad = f"{unique}@relayed.example", f"unknown.{unique}@relayed.example"
    relay = world.relays[server.name]

    email = relay.send([good, bad])

    relay.wait_for_recipients(email, {good: "sent", bad: "bounced"})
    server.wait_for_message(good)


@case_of_each_server
def a_delivery_report_decides_the_outcome_of_a_relayed_email(world, server):
    relay = world.relays[server.name]
    to = f"bounced.{world.unique()}@relayed.example"
    email = relay.send([to])
    relay.wait_for(email, "sent")
    report = server.wait_for_report(to)
    assert report.recipient.startswith("b+"), report.recipient

    equal(relay.ingest_message(report.content), {"object": "ingest", "accepted": 1, "ignored": 0}, "the response")

    outcome = "bounced" if server.reports_mailbox else "failed"
    read = relay.wait_for(email, outcome)
    equal(outcomes(read), {to: outcome}, "recipients")
    equal(relay.ingest_message(report.content)["accepted"], 0, "the response to the repeated report")
    if server.reports_mailbox:
        equal(read["events"][-1]["bounce"]["type"], "Permanent", "the bounce")
        equal(relay.api.ok("GET", f"/suppressions/{to}")["origin"], "bounce", "the origin of the suppression")
    else:
        assert not is_suppressed(relay, to), "a report that does not name the mailbox suppresses the address"


def is_suppressed(relay, to):
    try:
        relay.api.ok("GET", f"/suppressions/{to}")
    except Refused as refusal:
        equal(refusal.status, 404, "the status")
        return False
    return True


@case_of_each_server
def greylisting_delays_the_email_until_the_next_attempt(world, server):
    to = f"greylisted.{world.unique()}@{world.site(server.address)}"

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivery_delayed")
    world.direct.wait_for(email, "delivered")
    server.wait_for_message(to)
    equal(len(server.messages(to)), 1, "messages in the maildir")


@case_of_each_server
def a_deferred_recipient_does_not_hold_back_the_others(world, server):
    domain, unique = world.site(server.address), world.unique()
    now, later, never = f"{unique}@{domain}", f"greylisted.{unique}@{domain}", f"refused.{unique}@{domain}"

    email = world.direct.send([now, later, never])

    world.direct.wait_for_recipients(email, {now: "delivered", later: "delivered", never: "failed"})
    for to in (now, later):
        server.wait_for_message(to)
        equal(len(server.messages(to)), 1, f"messages for {to}")
    equal(server.messages(never), [], "messages for the refused recipient")


@case_of_each_server
def a_policy_refusal_fails_without_suppressing(world, server):
    to = world.recipient(server.address, "refused")

    email = world.direct.send([to])

    world.direct.wait_for(email, "failed")
    world.direct.send([to])  # Accepted, because the address is not suppressed.


@case_of_each_server
def an_unknown_mailbox_bounces(world, server):
    to = world.recipient(server.address, "unknown")

    email = world.direct.send([to])

    world.direct.wait_for(email, "bounced")


@case_of_each_server
def a_message_arrives_over_tls_with_a_return_path_of_the_sender_domain(world, server):
    to = world.recipient(server.address)

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivered")
    message = server.wait_for_message(to)
    # A failed handshake is followed by clear text.
    equal(message.has_tls, server.has_tls, "TLS")
    equal(attempts(world.direct, email)[-1]["tls"] is not None, server.has_tls, "TLS of the attempt")
    assert message.sender.endswith(DOMAIN), message.sender


@case_of_each_server
def a_host_that_requires_tls_gets_no_clear_text(world, server):
    to = f"one@{world.site(server.address, REQUIRED_TLS)}"

    email = world.direct.send([to])

    if server.has_tls:
        world.direct.wait_for(email, "delivered")
        assert server.wait_for_message(to).has_tls
    else:
        world.direct.wait_for(email, "delivery_delayed")
        equal(server.messages(to), [], "messages in the maildir")


@case_of_each_server
def several_messages_share_sessions(world, server):
    domain = world.site(server.address)
    people = [f"r{number}@{domain}" for number in range(SESSION_MESSAGES)]
    batch = [{"from": SENDER, "to": to, "subject": "Reuse", "text": f"for {to}"} for to in people]

    emails = [row["id"] for row in world.direct.api.ok("POST", "/emails/batch", batch)["data"]]

    sessions = 0
    for email in emails:
        world.direct.wait_for(email, "delivered")
        # Only the first attempt of a session has the greeting.
        sessions += sum("S: 220" in attempt["transcript"] for attempt in attempts(world.direct, email))
    for to in people:
        message = server.wait_for_message(to)
        assert f"for {to}".encode() in message.content, f"the message for {to} has another text"
        equal(len(server.messages(to)), 1, f"messages for {to}")
    assert 0 < sessions < len(people), f"{len(people)} messages used {sessions} sessions"


@case_of_each_server
def an_address_in_utf8_needs_smtputf8(world, server):
    to = f"用户.{world.unique()}@{world.site(server.address)}"

    email = world.direct.send([to])

    if not server.offers_smtputf8:
        read = world.direct.wait_for(email, "failed")
        equal(read["events"][-1]["failed"]["reason"], "address_not_supported", "the reason")
        return
    world.direct.wait_for(email, "delivered")
    message = server.wait_for_message(to)
    assert to.encode() in message.content, "the address in To is not in UTF-8"
    check_both_signatures(message.content, published_keys(world.direct, DOMAIN))


@case
def an_unreachable_smarthost_delays_the_email(world):
    sink = SmtpSink()
    server = world.server("late-relay", Relay(f"smtp://127.0.0.1:{sink.port}?final=true"))
    try:
        server.start()
        email = server.send([f"{world.unique()}@late.example"])
        server.wait_for(email, "delivery_delayed", seconds=60)
        sink.start()
        server.wait_for(email, "delivered", seconds=120)
        # smtp-sink prints its count after the response.
        wait_until(lambda: sink.count > 0, 10, "the count of smtp-sink")
        equal(sink.count, 1, "messages at the smarthost")
        server.stop()
    finally:
        server.end()
        sink.stop()


@case
def hundreds_of_messages_reach_smtp_sink_exactly_once(world):
    sink = SmtpSink().start()
    server = world.server("many", Relay(f"smtp://127.0.0.1:{sink.port}?final=true"))
    try:
        server.start()
        ids = []
        for start in range(0, MANY, BATCH):
            batch = [
                {"from": SENDER, "to": f"user{number}@load.example", "subject": f"Load {number}", "text": "x" * 2000}
                for number in range(start, start + BATCH)
            ]
            ids += [row["id"] for row in server.api.ok("POST", "/emails/batch", batch)["data"]]
        for email in ids:
            server.wait_for(email, "delivered", seconds=90)
        wait_until(lambda: sink.count >= MANY, 5, lambda: f"{MANY} messages; smtp-sink counted {sink.count}")
        equal(sink.count, MANY, "messages at smtp-sink")
        server.stop()
    finally:
        server.end()
        sink.stop()
