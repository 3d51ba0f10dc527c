#!/usr/bin/env python3
"""Cancels of a broadcast: before its start, during the fan-out, while it is sent, and after the end.

    tests/faults/broadcast_cancel.py [WORD...]

The sent and the canceled emails add up to the audience. No email is claimed after the response of the cancel.
"""

import collections
import threading

from broadcast import DEADLINE_S, ONLY_WHILE_WAITING, RECIPIENTS, BroadcastWorld
from clock import in_seconds
from lib import Api, Server, main, wait_until

DUE_S = 4
SMALL = min(RECIPIENTS, 100)  # Recipients of each further broadcast whose cancel races its last emails.
HANDFULS = [32, 16, 8, 4, 2, 1, 24, 12, 6]  # Emails that are not claimed at the cancel, at most.
ROUNDS = 60  # Broadcasts, at most.
CANCELS = 3  # Cancels at the same time.
MOMENTS = {"before", "between", "after"}


class UnpacedServer(Server):
    """A server without rates of a site, so that a broadcast does not wait for the one before it."""

    def environment(self):
        unlimited = {"RINGMAIL_SITE_MESSAGES_PER_SECOND": "0", "RINGMAIL_SITE_CONNECTIONS_PER_MINUTE": "0"}
        return {**super().environment(), **unlimited}


def check_ended(world, broadcast, audience, name, *, canceled):
    """Checks that nothing of a canceled broadcast leaves any more, and its counts."""
    at_cancel = world.read(broadcast)
    assert at_cancel["status"] == "canceled", at_cancel
    world.probe()
    facts = world.audit(name, broadcast, audience, canceled=canceled)
    assert facts["sent_count"] == at_cancel["sent_count"], f"claimed after the cancel: {at_cancel} then {facts}"
    assert facts["sent_count"] + canceled == len(audience), f"{facts['sent_count']} sent, {canceled} canceled"
    assert world.refusal("POST", f"/broadcasts/{broadcast}/cancel") == (403, "validation_error", ONLY_WHILE_WAITING)


def a_cancel_before_the_start_sends_nothing(directory):
    with BroadcastWorld(directory) as world:
        audience = world.contacts()
        broadcast = world.send_to_all(scheduled_at=in_seconds(DUE_S))
        assert world.read(broadcast)["status"] == "scheduled"

        canceled = world.cancel(broadcast)

        assert canceled == len(audience), f"canceled_remaining is {canceled}"
        # An email that is due later than the broadcast arrives, and nothing of the broadcast does.
        assert world.send("later@probe.test", scheduled_at=in_seconds(DUE_S + 1)), world.refused
        world.wait_for(["later@probe.test"], 60)
        check_ended(world, broadcast, audience, "canceled before the start", canceled=canceled)
        assert not world.count(broadcast) and not world.emails(broadcast)
        world.server.stop()


def a_cancel_during_the_fan_out_sends_nothing(directory):
    """One broadcast is canceled at once, one after the first page of its fan-out, and one after its fan-out."""
    with BroadcastWorld(directory) as world:
        audience = world.contacts()
        world.pause()
        moments = {
            "canceled at once": lambda one: None,
            "canceled during the fan-out": lambda one: wait_until(
                lambda: world.newest_email(one), DEADLINE_S, "the first page", pause_s=0.001
            ),
            "canceled after the fan-out": lambda one: world.wait_for_fan_out(one, audience[-1]),
        }
        canceled = {}
        for name, wait in moments.items():
            broadcast = world.send_to_all()
            wait(broadcast)
            canceled[broadcast] = name, world.cancel(broadcast)

        world.resume()

        for broadcast, (name, remaining) in canceled.items():
            assert remaining == len(audience), f"{name}: canceled_remaining is {remaining}"
            check_ended(world, broadcast, audience, name, canceled=remaining)
            assert not world.count(broadcast), f"{name}: {world.count(broadcast)} arrived"
        world.server.stop()


def a_cancel_while_sending_stops_the_rest(directory):
    with BroadcastWorld(directory) as world:
        audience = world.contacts()
        broadcast = world.send_to_all()
        world.wait_for_count(broadcast, RECIPIENTS // 3)

        canceled = world.cancel(broadcast)

        assert 0 < canceled <= len(audience) - RECIPIENTS // 3, f"canceled_remaining is {canceled}"
        check_ended(world, broadcast, audience, "canceled while sending", canceled=canceled)
        world.server.stop()


def cancel_at_once(world, broadcast):
    """Cancels a broadcast with several requests at the same time. Returns the `canceled_remaining` of each response that
    accepted it, and the refusals.
    """
    accepted, refused = [], []
    ready = threading.Barrier(CANCELS)

    def cancel():
        api = Api(world.server.port)
        ready.wait()
        status, body = api.call("POST", f"/broadcasts/{broadcast}/cancel")
        api.close()
        if status == 200:
            accepted.append(body["canceled_remaining"])
        else:
            refused.append((status, body["name"], body["message"]))

    threads = [threading.Thread(target=cancel) for _ in range(CANCELS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(accepted) + len(refused) == CANCELS, "a cancel has no response"
    return accepted, refused


def race_the_last_emails(world, broadcast, count, handful):
    """Cancels a broadcast when at most `handful` of its emails are not claimed. Returns the moment of the cancel and the
    `canceled_remaining`, which is 0 if the broadcast had been sent.
    """
    left = []

    def is_nearly_sent():
        left[:] = [count - world.read(broadcast)["sent_count"]]
        return left[0] <= handful

    wait_until(is_nearly_sent, DEADLINE_S, lambda: f"the last {handful} emails; left {left}", pause_s=0.001)
    accepted, refused = cancel_at_once(world, broadcast)
    assert set(refused) == {(403, "validation_error", ONLY_WHILE_WAITING)}, refused
    facts = world.read(broadcast)
    if not accepted:
        assert (facts["status"], facts["sent_count"]) == ("sent", count), facts
        return "after", 0
    assert len(accepted) == 1, f"{len(accepted)} cancels were accepted: {accepted}"
    canceled = accepted[0]
    assert facts["status"] == "canceled" and 0 < canceled <= left[0], f"{canceled} of {left} canceled: {facts}"
    assert facts["sent_count"] + canceled == count, f"{canceled} canceled: {facts}"
    return "before" if canceled == left[0] else "between", canceled


def a_cancel_that_races_the_last_emails_agrees_with_the_counts(directory):
    """One broadcast to all, then small ones until a cancel was before, between and after the last claims."""
    with BroadcastWorld(directory, make_server=UnpacedServer) as world:
        audience = world.contacts()
        segment = world.ok("POST", "/segments", {"name": "Small"})["id"]
        small = audience[:SMALL]
        world.upsert(small, segments=[{"id": segment}])
        moments, ended = collections.Counter(), []
        while len(ended) < len(HANDFULS) or moments.keys() < MOMENTS:
            assert len(ended) < ROUNDS, f"of the cancels, {dict(moments)}"
            broadcast = world.send_to_all(**({"segment_id": segment} if ended else {}))
            members = small if ended else audience
            handful = HANDFULS[len(ended) % len(HANDFULS)]
            moment, canceled = race_the_last_emails(world, broadcast, len(members), handful)
            moments[moment] += 1
            ended.append((broadcast, members, moment, canceled))

        world.probe()
        for broadcast, members, moment, canceled in ended:
            world.audit(f"canceled {moment} the last claims", broadcast, members, canceled=canceled)
        print(f"cancels {dict(moments)}")
        world.server.stop()


def a_kill_after_a_cancel_sends_nothing_more(directory):
    with BroadcastWorld(directory) as world:
        audience = world.contacts()
        broadcast = world.send_to_all()
        world.wait_for_count(broadcast, RECIPIENTS // 4)
        canceled = world.cancel(broadcast)

        world.restart_after_kill()

        check_ended(world, broadcast, audience, "killed after the cancel", canceled=canceled)
        world.server.stop()


def a_cancel_after_the_end_is_refused(directory):
    with BroadcastWorld(directory) as world:
        audience = world.contacts()
        draft = world.draft()
        assert world.refusal("POST", f"/broadcasts/{draft}/cancel") == (403, "validation_error", ONLY_WHILE_WAITING)
        broadcast = world.send_to_all()
        world.wait_for_status(broadcast, "sent")

        refusal = world.refusal("POST", f"/broadcasts/{broadcast}/cancel")

        assert refusal == (403, "validation_error", ONLY_WHILE_WAITING), refusal
        assert world.audit("canceled after the end", broadcast, audience)["status"] == "sent"
        world.server.stop()


CASES = [
    a_cancel_during_the_fan_out_sends_nothing,
    a_cancel_while_sending_stops_the_rest,
    a_cancel_that_races_the_last_emails_agrees_with_the_counts,
    a_kill_after_a_cancel_sends_nothing_more,
    a_cancel_before_the_start_sends_nothing,
    a_cancel_after_the_end_is_refused,
]

if __name__ == "__main__":
    main(CASES)
