#!/usr/bin/env python3
"""Contacts who leave between the response, the fan-out and the send of a broadcast, and changes of its segment or topic.

    tests/faults/broadcast_leave.py [WORD...]

The queue is paused from the response on, so that each change is certain to be before the send. The eligibility of each
recipient is checked again when the email is claimed.
"""

import collections

from broadcast import DEADLINE_S, DOMAINS, ERASED, RECIPIENTS, SENDER, BroadcastWorld
from clock import in_seconds
from lib import main, wait_until

PARTS = 21  # Parts of the audience, each of which leaves in one way, or stays.
PART = max(1, RECIPIENTS // 20)  # Contacts outside of the audience.
DUE_S = 5
BATCH = 1_000  # Addresses in a request, at most.


def leave(world, audience, topic):
    """Makes some contacts leave in each way. Returns their addresses by the way, without those who are back."""
    # Each part has contacts at all sites, from the first to the last.
    parts = iter(audience[first::PARTS] for first in range(PARTS))
    left = {name: next(parts) for name in ("deleted", "erased", "unsubscribed", "suppressed", "opted out", "bounced")}
    opt_out = [{"id": topic, "subscription": "opt_out"}]
    in_batches(world, "/contacts/batch/remove", left["deleted"])
    in_batches(world, "/contacts/batch/remove", left["erased"], erase=True)
    world.upsert(left["unsubscribed"], unsubscribed=True)
    in_batches(world, "/suppressions/batch/add", left["suppressed"])
    world.upsert(left["opted out"], topics=opt_out)
    in_batches(world, "/suppressions/batch/add", left["bounced"], origin="bounce")
    # Contacts who leave and return before the send receive it.
    returned = next(parts)
    world.upsert(returned, topics=opt_out)
    world.upsert(returned, topics=[{"id": topic, "subscription": "opt_in"}])
    return left


def leave_and_erase(world, broadcast, audience, topic):
    """As `leave`. Waits until the erasures have canceled their queued emails."""
    left = leave(world, audience, topic)
    erased = len(left["erased"])
    wait_until(lambda: world.counts(broadcast)["canceled"] == erased, DEADLINE_S, "the erasures", pause_s=0.1)
    return left


def all_of(left):
    """Returns the addresses of all ways to leave."""
    return [address for addresses in left.values() for address in addresses]


def queued_while_paused(world):
    """Sends a broadcast under a topic to all contacts while the queue is paused, and waits for the end of its fan-out. Returns
    the contacts, the topic and the broadcast.
    """
    audience = world.contacts(first_name="Ada")
    topic = new_topic(world)
    world.pause()
    broadcast = world.draft(topic_id=topic)
    world.start(broadcast)
    world.wait_for_fan_out(broadcast, audience[-1])
    return audience, topic, broadcast


def in_batches(world, path, addresses, **fields):
    for start in range(0, len(addresses), BATCH):
        world.ok("POST", path, {"emails": addresses[start : start + BATCH], **fields})


def new_topic(world, default="opt_in"):
    return world.ok("POST", "/topics", {"name": "Fault", "default_subscription": default})["id"]


def check_left(world, name, broadcast, audience, left):
    received = world.sinks.of_broadcast[broadcast]
    wrong = {way: sum(address in received for address in addresses) for way, addresses in left.items()}
    assert not any(wrong.values()), f"received after leaving: {wrong}"
    gone = all_of(left)
    world.audit(name, broadcast, audience, gone=gone)
    return gone


def check_canceled(world, name, broadcast, audience, left, *, canceled, skipped):
    """Checks a canceled broadcast: each who left was skipped or canceled, and each other one was sent or canceled. An erasure
    cancels emails too. These are skipped, because they are not part of `canceled`.
    """
    gone = all_of(left)
    world.audit(name, broadcast, audience, gone=gone, canceled=canceled, skipped=skipped)
    rows = world.emails(broadcast)
    events = collections.Counter(event for _, event in rows)
    erased = len(left["erased"])
    assert (events["canceled"] - erased, events["suppressed"] + erased) == (canceled, skipped), events
    unsent = {to for to, event in rows if event in ("canceled", "suppressed")}
    received = set(world.sinks.of_broadcast[broadcast])
    assert not unsent & received, f"received in spite of the outcome: {sorted(unsent & received)[:5]}"
    stayed = [to for to, event in rows if event == "suppressed" and to not in {ERASED, *gone}]
    assert not stayed, f"{len(stayed)} who had not left were skipped: {stayed[:5]}"


def a_cancel_counts_those_who_left_before_their_claim_as_skipped(directory):
    """Half of the sites are paused until the cancel, so that the emails that are claimed before it are known."""
    with BroadcastWorld(directory) as world:
        audience, topic, broadcast = queued_while_paused(world)
        sites = [f"d{number}.test" for number in range(DOMAINS // 2)]
        held = [address for address in audience if address.split("@")[1] in sites]
        left = leave_and_erase(world, broadcast, audience, topic)
        for site in sites:
            world.server.cli("queue", "pause", "--domain", site)
        world.resume()
        queued = set(held).difference(left["erased"])
        wait_until(lambda: world.counts(broadcast)["queued"] <= len(queued), DEADLINE_S, "the other sites", pause_s=0.1)

        canceled = world.cancel(broadcast)

        assert canceled == len(queued), f"{canceled} were canceled, and {len(queued)} had not been claimed"
        # These were canceled before they left.
        left["late"] = [address for address in audience[PARTS - 1 :: PARTS] if address in queued]
        world.upsert(left["late"], unsubscribed=True)
        for site in sites:
            world.server.cli("queue", "resume", "--domain", site)
        world.probe()
        skipped = sum(address not in queued for address in all_of(left))
        check_canceled(world, "left, then canceled", broadcast, audience, left, canceled=canceled, skipped=skipped)
        missing = set(audience) - set(held) - set(world.sinks.of_broadcast[broadcast])
        gone = set(all_of(left))
        assert missing == gone - set(held), f"{len(missing)} of the other sites did not receive it"
        world.server.stop()


def a_cancel_while_sending_adds_up_with_those_who_left(directory):
    with BroadcastWorld(directory) as world:
        audience, topic, broadcast = queued_while_paused(world)
        left = leave_and_erase(world, broadcast, audience, topic)
        world.resume()
        world.wait_for_count(broadcast, RECIPIENTS // 3)

        canceled = world.cancel(broadcast)

        skipped = world.counts(broadcast)["suppressed"] + len(left["erased"])
        gone = len(all_of(left))
        assert 0 < canceled < len(audience) and 0 < skipped < gone, f"{canceled} canceled, {skipped} skipped"
        world.probe()
        check_canceled(world, "left and canceled", broadcast, audience, left, canceled=canceled, skipped=skipped)
        world.server.stop()


def those_who_leave_after_the_fan_out_receive_nothing(directory):
    with BroadcastWorld(directory) as world:
        audience, topic, broadcast = queued_while_paused(world)
        left = leave(world, audience, topic)

        world.resume()

        world.wait_for_status(broadcast, "sent")
        check_left(world, "left after the fan-out", broadcast, audience, left)
        listed = [row["email"] for row in world.pages(f"/broadcasts/{broadcast}/recipients?type=suppressed")]
        for way in ("unsubscribed", "suppressed", "opted out", "bounced"):
            missing = set(left[way]) - set(listed)
            assert not missing, f"{len(missing)} who were {way} are not listed as suppressed"
        world.server.stop()


def those_who_leave_before_the_start_receive_nothing(directory):
    """The fan-out reads the contacts at the scheduled time, not at the time of the request."""
    with BroadcastWorld(directory) as world:
        audience = world.contacts(first_name="Ada")
        topic = new_topic(world)
        broadcast = world.draft(topic_id=topic)
        world.start(broadcast, scheduled_at=in_seconds(60))
        left = leave(world, audience, topic)
        assert world.read(broadcast)["status"] == "scheduled"
        assert world.cancel(broadcast) > 0
        again = world.draft(topic_id=topic)

        world.start(again, scheduled_at=in_seconds(DUE_S))

        world.wait_for_status(again, "sent")
        check_left(world, "left before the start", again, audience, left)
        assert not world.count(broadcast), "a canceled broadcast arrived"
        world.server.stop()


def those_who_leave_before_a_restart_receive_nothing(directory):
    with BroadcastWorld(directory) as world:
        audience, topic, broadcast = queued_while_paused(world)
        left = leave(world, audience, topic)
        world.restart_after_kill()

        world.resume()
        world.wait_for_count(broadcast, RECIPIENTS // 4)
        world.restart_after_kill()

        world.wait_for_status(broadcast, "sent")
        check_left(world, "left before a restart", broadcast, audience, left)
        world.server.stop()


def a_broadcast_keeps_its_segment_topic_and_content(directory):
    """Changes after the fan-out: of the segment, the topic, and a template, and contacts that are new."""
    with BroadcastWorld(directory) as world:
        audience = world.contacts(first_name="Ada")
        outside = world.contacts(PART, name="outside")
        filter_ = {"match": "all", "conditions": [{"field": "email", "op": "starts_with", "value": "r"}]}
        segment = world.ok("POST", "/segments", {"name": "Fault", "filter": filter_})["id"]
        topic = new_topic(world)
        source = {"name": "Fault", "html": "<p>Template</p>", "subject": "Template"}
        template = world.ok("POST", "/templates", source)["id"]
        world.ok("POST", f"/templates/{template}/publish")
        world.pause()
        broadcast = world.draft(segment_id=segment, topic_id=topic)
        world.start(broadcast)
        world.wait_for_fan_out(broadcast, audience[-1])

        no_contact = {"match": "all", "conditions": [{"field": "email", "op": "equals", "value": "nobody@d0.test"}]}
        world.ok("PATCH", f"/segments/{segment}", {"name": "Changed", "filter": no_contact})
        world.ok("PATCH", f"/topics/{topic}", {"name": "Changed"})
        world.ok("PATCH", f"/templates/{template}", {"name": "Changed", "html": "<p>Changed</p>", "subject": "Changed"})
        world.ok("DELETE", f"/templates/{template}")
        late = world.contacts(PART, name="rlate", first_name="Late")
        for path in (f"/segments/{segment}", f"/topics/{topic}"):
            status, name, _ = world.refusal("DELETE", path)
            assert (status, name) == (409, "validation_error"), f"DELETE {path}: {status} {name}"
        status, name, _ = world.refusal("PATCH", f"/broadcasts/{broadcast}", {"subject": "Changed"})
        assert (status, name) == (403, "validation_error"), f"PATCH: {status} {name}"
        assert world.refusal("DELETE", f"/broadcasts/{broadcast}")[0] == 403
        world.resume()

        world.wait_for_status(broadcast, "sent")
        world.audit("changed after the fan-out", broadcast, audience)
        received = world.sinks.of_broadcast[broadcast]
        assert not [address for address in (*outside, *late) if address in received], "others received it"
        subjects = {world.sinks.subjects[broadcast, address] for address in audience}
        assert subjects == {"News for Ada"}, f"subjects: {subjects}"
        world.server.stop()


def a_broadcast_whose_domain_is_deleted_fails(directory):
    """A scheduled broadcast cannot start after the removal of its domain. Nothing of it is sent."""
    with BroadcastWorld(directory) as world:
        world.contacts()
        domain = world.ok("GET", "/domains")["data"][0]["id"]
        broadcast = world.send_to_all(scheduled_at=in_seconds(DUE_S))
        world.ok("DELETE", f"/domains/{domain}")

        facts = world.wait_for_status(broadcast, "failed")

        assert (facts["sent_count"], world.count(broadcast)) == (0, 0), facts
        again = {"from": SENDER, "subject": "News", "text": "Hello.", "send": True}
        status, name, _ = world.refusal("POST", "/broadcasts", again)
        assert (status, name) == (403, "validation_error"), f"{status} {name}"
        world.server.stop()


CASES = [
    those_who_leave_after_the_fan_out_receive_nothing,
    those_who_leave_before_a_restart_receive_nothing,
    those_who_leave_before_the_start_receive_nothing,
    a_cancel_counts_those_who_left_before_their_claim_as_skipped,
    a_cancel_while_sending_adds_up_with_those_who_left,
    a_broadcast_keeps_its_segment_topic_and_content,
    a_broadcast_whose_domain_is_deleted_fails,
]

if __name__ == "__main__":
    main(CASES)
