"""Thousands of deliveries: through kills, beside dead endpoints, under changing secrets."""

import itertools
import json
import random
import socket
import threading
import time

from cases import alone, equal
from deadline import wait_until
from server import Api
from world import add_contacts

KILLED_EVENTS = 10_000
KILLS = 12
KILL_BATCH = 100
DRAIN_S = 90
LIVE = 9
ROUND_EVENTS = 1_000
PACED_PER_SECOND = 200  # A round takes five seconds, and the machine is not busy.
ROTATED_EVENTS = 5_000
ROTATIONS = [24] * 5 + [0] + [24] * 5 + [0]  # overlap_hours of each


class Writer:
    """Adds contacts from a thread, each batch again until its answer was read."""

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
                self.acknowledged += wait_until(lambda batch=batch: self._post(api, batch), DRAIN_S, "an answer")
        except AssertionError as problem:
            self.problem = problem
        finally:
            api.close()

    def _post(self, api, batch):
        try:
            # A batch whose answer was lost may have been written: what is there is left as it is.
            answer = api.ok("POST", "/contacts/batch?on_conflict=skip", batch)
        except OSError:
            self.repeated += 1
            return None
        return [row["id"] for row in answer["data"]]

    def join(self):
        self.thread.join(DRAIN_S)
        if self.problem:
            raise self.problem


@alone
def kills_in_the_middle_lose_nothing_and_repeats_keep_their_id(world):
    chance = random.Random(f"{world.seed}/kills")
    receiver = world.receiver
    server = world.server("kills").start()
    endpoint = world.subscribe(server, receiver.url("kills"))
    # A few milliseconds an answer, so that every kill finds requests under way.
    receiver.tell("kills", "slow", wait_ms=4, secrets=[endpoint.secret])
    writer = Writer(server, KILLED_EVENTS)
    moments = sorted(chance.sample(range(KILLED_EVENTS // 100, KILLED_EVENTS * 9 // 10), KILLS))
    killed_at = []
    try:
        for moment in moments:
            wait_until(
                lambda moment=moment: receiver.of("kills")["ids"] >= moment, DRAIN_S,
                lambda moment=moment: f"{moment} events: {receiver.of('kills')} {server.log_tail()}", pause_s=0.005,
            )  # fmt: skip
            time.sleep(chance.uniform(0, 0.03))
            server.kill()
            killed_at.append(receiver.of("kills")["ids"])
            server.start(pause_s=0.005)
    finally:
        writer.join()
    wait_until(
        lambda: receiver.of("kills")["ids"] >= KILLED_EVENTS, DRAIN_S,
        lambda: f"every event: {receiver.of('kills')} {endpoint.statuses()}", pause_s=0.05,
    )  # fmt: skip
    endpoint.wait_for_statuses({"success": KILLED_EVENTS}, 60)
    server.stop()

    got = receiver.of("kills")
    arrived = [json.loads(row["body"])["data"]["id"] for row in receiver.bodies("kills").values()]
    in_the_middle = sum(count < KILLED_EVENTS for count in killed_at)
    equal(len(set(writer.acknowledged)), KILLED_EVENTS, "acknowledged contacts")
    equal(set(writer.acknowledged) - set(arrived), set(), "acknowledged and never told")
    equal(set(arrived) - set(writer.acknowledged), set(), "told of and not acknowledged")
    equal(len(arrived), KILLED_EVENTS, "webhook-ids, one for each contact")
    equal((got["ids"], got["changed"]), (KILLED_EVENTS, 0), "ids, and repeats with another body")
    equal(got["verified"], {"0": got["requests"]}, "signatures")
    equal(in_the_middle, KILLS, "kills before the last event had come")
    assert got["repeated"] > 0, "no kill fell between an answer and its commit: nothing was tried"
    return (
        f"{KILLS} kills (after {', '.join(map(str, killed_at))} events), {len(writer.acknowledged)} acknowledged "
        f"({writer.repeated} posts repeated), {got['ids']} arrived, {got['repeated']} repeated with their id and body, "
        "0 changed, 0 pending"
    )


@alone
def dead_endpoints_cost_their_neighbours_nothing(world):
    return neighbours(world, "neighbours", 0)


@alone
def dead_endpoints_cost_neighbours_at_their_ceiling_nothing(world):
    return neighbours(world, "paced", PACED_PER_SECOND)


def neighbours(world, label, per_second):
    """A round is the same events to nine endpoints: alone, beside two more, and beside these two once dead."""
    receiver = world.receiver
    server = world.server(label, per_second).start()
    names = [f"{label}-{number}" for number in range(LIVE)]
    for name in names:
        world.subscribe(server, receiver.url(name))
    rounds = itertools.count(1)

    def seconds_of_a_round():
        number = next(rounds)
        began = time.monotonic()
        add_contacts(server, ROUND_EVENTS, f"n{number}-")
        wait_until(
            lambda: all(receiver.of_all(names, "ids", number * ROUND_EVENTS)), DRAIN_S,
            lambda: f"the nine to get everything: {[receiver.of(name) for name in names]}", pause_s=0.01,
        )  # fmt: skip
        return time.monotonic() - began

    alone_s = seconds_of_a_round()
    others = [f"{label}-refusing", f"{label}-hanging"]
    dying = [world.subscribe(server, receiver.url(name)) for name in others]
    beside_live_s = seconds_of_a_round()
    for endpoint in dying:
        endpoint.wait_for_statuses({"success": ROUND_EVENTS}, DRAIN_S)
    # Bound and never listening: connections are refused, and nobody else takes the port.
    with socket.socket() as refusing:
        refusing.bind(("127.0.0.1", 0))
        dying[0].move(f"http://127.0.0.1:{refusing.getsockname()[1]}/hook")
        receiver.tell(others[1], "hang")
        beside_dead_s = seconds_of_a_round()
        waiting = []
        for endpoint in dying:
            statuses = endpoint.statuses()
            equal(statuses.pop("success", 0), ROUND_EVENTS, "deliveries that succeeded, all while it lived")
            equal(statuses.keys() - {"pending", "attempting"}, set(), "statuses of the rest")
            waiting.append(sum(statuses.values()))
        equal(waiting, [ROUND_EVENTS] * 2, "deliveries to the dead that still wait")
    report = receiver.report()
    equal([report[name]["repeated"] for name in names], [0] * LIVE, "repeats at the nine")
    server.kill()
    ratios = f"{beside_dead_s / beside_live_s:.2f} of beside them alive, {beside_dead_s / alone_s:.2f} of alone"
    return (
        f"{LIVE} x {ROUND_EVENTS} in each round: alone {alone_s:.2f} s, beside two live {beside_live_s:.2f} s, "
        f"beside two dead {beside_dead_s:.2f} s with {waiting[0]} + {waiting[1]} waiting ({ratios})"
    )


@alone
def secrets_rotated_under_load_leave_no_delivery_unverified(world):
    receiver = world.receiver
    server = world.server("rotation").start()
    secrets = [world.secret() for _ in range(len(ROTATIONS) + 1)]
    endpoint = world.subscribe(server, receiver.url("rotation"), secret=secrets[0])
    # The newest stands first: the receiver reports by the newest of those that signed.
    receiver.tell("rotation", "slow", wait_ms=2, secrets=secrets[::-1])
    posts = threading.Thread(target=add_contacts, args=(server, ROTATED_EVENTS, "r"), name="posts")
    posts.start()
    rotated_at = []
    try:
        for number, overlap_hours in enumerate(ROTATIONS, start=1):
            moment = ROTATED_EVENTS * number // (len(ROTATIONS) + 2)
            # The secret in force has signed something before the next one takes its place.
            place = str(len(secrets) - number)

            def is_time(moment=moment, place=place):
                got = receiver.of("rotation")
                return got["ids"] >= moment and got["verified"].get(place, 0) > 0

            wait_until(
                is_time, DRAIN_S, lambda moment=moment: f"{moment} events: {receiver.of('rotation')}", pause_s=0.005
            )
            endpoint.rotate(secrets[number], overlap_hours)
            rotated_at.append(receiver.of("rotation")["ids"])
    finally:
        posts.join(DRAIN_S)
    wait_until(
        lambda: receiver.of("rotation")["ids"] >= ROTATED_EVENTS, DRAIN_S,
        lambda: f"every event: {receiver.of('rotation')}", pause_s=0.05,
    )  # fmt: skip
    endpoint.wait_for_statuses({"success": ROTATED_EVENTS}, 60)
    server.stop()
    got = receiver.of("rotation")
    equal((got["ids"], got["repeated"], got["changed"]), (ROTATED_EVENTS, 0, 0), "ids, repeats, changed bodies")
    verified = {place: got["verified"].get(str(len(secrets) - 1 - place), 0) for place in range(len(secrets))}
    equal(got["verified"].get("-1", 0), 0, "unverified")
    equal(sum(verified.values()), ROTATED_EVENTS, "verified")
    equal([place for place, count in verified.items() if count == 0], [], "secrets that never signed")
    equal(sum(count < ROTATED_EVENTS for count in rotated_at), len(ROTATIONS), "rotations under load")
    overlapping = sum(hours > 0 for hours in ROTATIONS)
    return (
        f"{ROTATED_EVENTS} delivered, {overlapping} rotations with overlap and {len(ROTATIONS) - overlapping} without, "
        f"0 unverified; verified by each secret: {', '.join(map(str, verified.values()))}"
    )
