"""Delivery to Postfix in direct mode and in relay mode, and many messages to smtp-sink."""

from deadline import wait_until
from server import DOMAIN, SENDER, Relay, outcomes
from signatures import check_both_signatures, published_keys
from smtp_sink import SmtpSink
from world import POSTFIX

from cases import case, equal

MANY = 600
BATCH = 100


@case
def a_smarthost_receives_mail_for_every_domain(world):
    people = [f"{world.unique()}@relayed-{number}.example" for number in range(3)]

    email = world.relay.send(people)

    for to in people:
        message = world.postfix.wait_for_message(to)
        check_both_signatures(message.content, published_keys(world.relay, DOMAIN))
        equal(len(world.postfix.messages(to)), 1, f"messages for {to}")
    # Postfix passes the message on. Only a delivery report proves the delivery.
    world.relay.wait_for_recipients(email, dict.fromkeys(people, "sent"))


@case
def starttls_is_used_with_a_smarthost_that_offers_it(world):
    to = f"{world.unique()}@relayed.example"

    email = world.relay.send([to])

    received = world.postfix.wait_for_message(to).received
    assert "TLSv1" in received, received


@case
def a_refusal_by_the_smarthost_applies_to_one_recipient(world):
    unique = world.unique()
    good, bad = f"{unique}@relayed.example", f"unknown.{unique}@relayed.example"

    email = world.relay.send([good, bad])

    world.relay.wait_for_recipients(email, {good: "sent", bad: "bounced"})
    world.postfix.wait_for_message(good)


@case
def a_delivery_report_bounces_a_relayed_email(world):
    to = f"bounced.{world.unique()}@relayed.example"
    email = world.relay.send([to])
    world.relay.wait_for(email, "sent")
    report = world.postfix.wait_for_report(to)
    assert report.recipient.startswith("b+"), report.recipient

    equal(world.relay.ingest_message(report.content), {"object": "ingest", "accepted": 1, "ignored": 0}, "the response")

    read = world.relay.wait_for(email, "bounced")
    equal(outcomes(read), {to: "bounced"}, "recipients")
    equal(read["events"][-1]["bounce"]["type"], "Permanent", "the bounce")
    equal(world.relay.api.ok("GET", f"/suppressions/{to}")["origin"], "bounce", "the origin of the suppression")
    equal(world.relay.ingest_message(report.content)["accepted"], 0, "the response to the repeated report")


@case
def greylisting_by_postfix_delays_the_email(world):
    to = f"greylisted.{world.unique()}@{world.site(POSTFIX)}"

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivery_delayed")


@case
def an_unknown_mailbox_at_postfix_bounces(world):
    to = world.recipient(POSTFIX, "unknown")

    email = world.direct.send([to])

    world.direct.wait_for(email, "bounced")


@case
def postfix_receives_over_tls_with_a_return_path_of_the_sender_domain(world):
    to = world.recipient(POSTFIX)

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivered")
    message = world.postfix.wait_for_message(to)
    assert "TLSv1" in message.received, message.received
    assert message.sender.endswith(DOMAIN), message.sender


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
