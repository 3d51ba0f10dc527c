"""Thousands of deliveries: with kills of the server, with failing endpoints, with secret rotations."""

import itertools
import json
import random
import socket
import threading
import time

from cases import case, equal, loads
from deadline import wait_until
from server import Api, Refused
from world import add_contacts

KILLED_EVENTS = 10_000
KILLS = 12
KILL_BATCH = 100
DRAIN_S = 90
LIVE = 9
ROUND_EVENTS = 1_000
RATE_PER_SECOND = 200  # A round takes five seconds without loading the machine.
ROTATED_EVENTS = 5_000
ROTATIONS = [24] * 5 + [0] + [24] * 5 + [0]  # overlap_hours of each rotation.


class Writer:
    """Adds contacts in a thread. Repeats each batch until its response is read."""

    def __init__(self, server, count):
        self.server, self.count = server, count
        self.acknowledged = []
        self.repeated = 0
        self.problem = None
        self.thread = threading.Thread(target=self._run, name="writer")
        self.thread.start()

    def _run(self):
        api = Api(self.server.port, timeout_s=10)
        try:
            for start in range(0, self.count, KILL_BATCH):
                batch = [{"email": f"k{start + number}@example.net"} for number in range(KILL_BATCH)]
                self.acknowledged += wait_until(lambda batch=batch: self._post(api, batch), DRAIN_S, "a response")
        except AssertionError as problem:
            self.problem = problem
        finally:
            api.close()

    def _post(self, api, batch):
        try:
            # A batch whose response was lost may have been stored, so existing contacts are skipped.
            response = api.ok("POST", "/contacts/batch?on_conflict=skip", batch)
        except OSError:
            self.repeated += 1
            return None
        except Refused as refused:
            # A server that was started again answers 503 until its store is open.
            if refused.status != 503:
                raise
            return None
        return [row["id"] for row in response["data"]]

    def join(self):
        self.thread.join(DRAIN_S)
        if self.problem:
            raise self.problem


@loads
def kills_under_load_lose_no_event_and_repeats_keep_their_id(world):
    chance = random.Random(f"{world.seed}/kills")
    receiver = world.receiver
    server = world.server("kills").start()
    endpoint = world.subscribe(server, receiver.url("kills"))
    # The receiver responds after 4 ms, so that requests are in flight at every kill.
    receiver.configure("kills", "slow", wait_ms=4, secrets=[endpoint.secret])
    writer = Writer(server, KILLED_EVENTS)
    kill_counts = sorted(chance.sample(range(KILLED_EVENTS // 100, KILLED_EVENTS * 9 // 10), KILLS))
    killed_at = []
    try:
        for kill_count in kill_counts:
            wait_until(
                lambda kill_count=kill_count: receiver.counts("kills")["ids"] >= kill_count, DRAIN_S,
                lambda kill_count=kill_count: f"{kill_count} events: {receiver.counts('kills')} {server.log_tail()}",
                pause_s=0.005,
            )  # fmt: skip
            time.sleep(chance.uniform(0, 0.03))
            server.kill()
            killed_at.append(receiver.counts("kills")["ids"])
            server.start(pause_s=0.005)
    finally:
        writer.join()
    wait_until(
        lambda: receiver.counts("kills")["ids"] >= KILLED_EVENTS, DRAIN_S,
        lambda: f"every event: {receiver.counts('kills')} {endpoint.statuses()}", pause_s=0.05,
    )  # fmt: skip
    endpoint.wait_for_statuses({"success": KILLED_EVENTS}, 60)
    server.stop()

    got = receiver.counts("kills")
    arrived = [json.loads(row["body"])["data"]["id"] for row in receiver.bodies("kills").values()]
    before_the_end = sum(count < KILLED_EVENTS for count in killed_at)
    equal(len(set(writer.acknowledged)), KILLED_EVENTS, "acknowledged contacts")
    equal(set(writer.acknowledged) - set(arrived), set(), "acknowledged contacts without an event")
    equal(set(arrived) - set(writer.acknowledged), set(), "events of contacts that were not acknowledged")
    equal(len(arrived), KILLED_EVENTS, "webhook-ids")
    equal((got["ids"], got["changed"]), (KILLED_EVENTS, 0), "ids, and repeats with a different body")
    equal(got["verified"], {"0": got["requests"]}, "signatures")
    equal(before_the_end, KILLS, "kills before the last event arrived")
    assert got["repeated"] > 0, "no kill occurred between a response and its commit: the case has tested nothing"
    return (
        f"{KILLS} kills (after {', '.join(map(str, killed_at))} events), {len(writer.acknowledged)} acknowledged "
        f"({writer.repeated} posts repeated), {got['ids']} arrived, {got['repeated']} repeated with their id and body, "
        "0 changed, 0 pending"
    )


@loads
def failing_endpoints_do_not_delay_others(world):
    return with_failing_endpoints(world, "others", 0)


@case
def failing_endpoints_do_not_delay_others_at_the_rate_limit(world):
    return with_failing_endpoints(world, "limited", RATE_PER_SECOND)


def with_failing_endpoints(world, label, per_second):
    """Measures three rounds of events to nine endpoints: alone, with two more, and after these two fail."""
    receiver = world.receiver
    server = world.server(label, per_second).start()
    names = [f"{label}-{number}" for number in range(LIVE)]
    for name in names:
        world.subscribe(server, receiver.url(name))
    rounds = itertools.count(1)

    def measure_round():
        number = next(rounds)
        began = time.monotonic()
        add_contacts(server, ROUND_EVENTS, f"n{number}-")
        wait_until(
            lambda: all(receiver.matches(names, "ids", number * ROUND_EVENTS)), DRAIN_S,
            lambda: f"all events of the nine endpoints: {[receiver.counts(name) for name in names]}", pause_s=0.01,
        )  # fmt: skip
        return time.monotonic() - began

    alone_s = measure_round()
    others = [f"{label}-refusing", f"{label}-hanging"]
    failing = [world.subscribe(server, receiver.url(name)) for name in others]
    with_live_s = measure_round()
    for endpoint in failing:
        endpoint.wait_for_statuses({"success": ROUND_EVENTS}, DRAIN_S)
    # A bound socket that does not listen refuses connections and keeps the port in use.
    with socket.socket() as refusing:
        refusing.bind(("127.0.0.1", 0))
        failing[0].move(f"http://127.0.0.1:{refusing.getsockname()[1]}/hook")
        receiver.configure(others[1], "hang")
        with_failing_s = measure_round()
        waiting = []
        for endpoint in failing:
            statuses = endpoint.statuses()
            equal(statuses.pop("success", 0), ROUND_EVENTS, "deliveries that succeeded, all before the endpoint failed")
            equal(statuses.keys() - {"pending", "attempting"}, set(), "statuses of the other deliveries")
            waiting.append(sum(statuses.values()))
        equal(waiting, [ROUND_EVENTS] * 2, "pending deliveries of the failing endpoints")
    report = receiver.report()
    equal([report[name]["repeated"] for name in names], [0] * LIVE, "repeats at the nine endpoints")
    server.kill()
    ratios = f"{with_failing_s / with_live_s:.2f} of the time with two live, {with_failing_s / alone_s:.2f} of alone"
    return (
        f"{LIVE} x {ROUND_EVENTS} in each round: alone {alone_s:.2f} s, with two live {with_live_s:.2f} s, "
        f"with two failing {with_failing_s:.2f} s and {waiting[0]} + {waiting[1]} pending ({ratios})"
    )


@loads
def every_delivery_verifies_during_secret_rotations(world):
    receiver = world.receiver
    server = world.server("rotation").start()
    secrets = [world.secret() for _ in range(len(ROTATIONS) + 1)]
    endpoint = world.subscribe(server, receiver.url("rotation"), secret=secrets[0])
    # Newest secret first: the receiver counts a delivery for the first secret that verifies it.
    receiver.configure("rotation", "slow", wait_ms=2, secrets=secrets[::-1])
    posts = threading.Thread(target=add_contacts, args=(server, ROTATED_EVENTS, "r"), name="posts")
    posts.start()
    rotated_at = []
    try:
        for number, overlap_hours in enumerate(ROTATIONS, start=1):
            count = ROTATED_EVENTS * number // (len(ROTATIONS) + 2)
            # A rotation waits until the current secret has signed a delivery.
            index = str(len(secrets) - number)

            def is_due(count=count, index=index):
                got = receiver.counts("rotation")
                return got["ids"] >= count and got["verified"].get(index, 0) > 0

            wait_until(
                is_due, DRAIN_S, lambda count=count: f"{count} events: {receiver.counts('rotation')}", pause_s=0.005
            )
            endpoint.rotate(secrets[number], overlap_hours)
            rotated_at.append(receiver.counts("rotation")["ids"])
    finally:
        posts.join(DRAIN_S)
    wait_until(
        lambda: receiver.counts("rotation")["ids"] >= ROTATED_EVENTS, DRAIN_S,
        lambda: f"every event: {receiver.counts('rotation')}", pause_s=0.05,
    )  # fmt: skip
    endpoint.wait_for_statuses({"success": ROTATED_EVENTS}, 60)
    server.stop()
    got = receiver.counts("rotation")
    equal((got["ids"], got["repeated"], got["changed"]), (ROTATED_EVENTS, 0, 0), "ids, repeats, changed bodies")
    verified = {index: got["verified"].get(str(len(secrets) - 1 - index), 0) for index in range(len(secrets))}
    equal(got["verified"].get("-1", 0), 0, "unverified")
    equal(sum(verified.values()), ROTATED_EVENTS, "verified")
    equal([index for index, count in verified.items() if count == 0], [], "secrets that signed no delivery")
    equal(sum(count < ROTATED_EVENTS for count in rotated_at), len(ROTATIONS), "rotations under load")
    overlapping = sum(hours > 0 for hours in ROTATIONS)
    return (
        f"{ROTATED_EVENTS} delivered, {overlapping} rotations with overlap and {len(ROTATIONS) - overlapping} without, "
        f"0 unverified; verified by each secret: {', '.join(map(str, verified.values()))}"
    )
