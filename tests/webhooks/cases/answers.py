"""Receivers that answer badly, or not at all, and recover."""

from cases import case, equal, within
from deadline import wait_until
from world import gaps, seconds_between

IN_FLIGHT = 8
TIMEOUT_S = 10
FIRST_DELAY_S = 5
# A first delay on a busy machine; the second is five minutes.
SCHEDULE_S_MAX = 60
RESPONSE_BYTES_MAX = 1_024
PEAK_GROWTH_KIB_MAX = 6 * 1_024


@case
def a_slow_receiver_gets_eight_at_once_and_no_more(world):
    events = 48
    endpoint = world.told("slow", "slow", wait_ms=300)
    for _ in range(events):
        endpoint.send_test()
    endpoint.wait_for_statuses({"success": events}, 60)
    got = world.receiver.of("slow")
    equal(got["ids"], events, "events that arrived")
    equal(got["repeated"], 0, "repeats")
    equal(got["most_at_once"], IN_FLIGHT, "most at once")
    return f"{events} delivered, {got['most_at_once']} at once"


@case
def an_attempt_that_hangs_is_ended_and_counts_as_failed(world):
    endpoint = world.told("hanging", "hang", times=IN_FLIGHT)
    deliveries = [endpoint.send_test() for _ in range(IN_FLIGHT)]
    wait_until(lambda: world.receiver.of("hanging")["requests"] == IN_FLIGHT, 10, "the requests that will hang")
    equal(endpoint.statuses(), {"attempting": IN_FLIGHT}, "statuses while it hangs")
    endpoint.wait_for_statuses({"success": IN_FLIGHT}, 60)
    for delivery in deliveries:
        first, second = attempts = endpoint.attempts(delivery)
        equal((first["http_status_code"], first["response"]), (0, "the answer took too long"), "the first attempt")
        equal(second["http_status_code"], 200, "the second attempt")
        # The limit and then the first delay of the schedule: it was counted.
        within(gaps(attempts)[0], TIMEOUT_S + FIRST_DELAY_S, SCHEDULE_S_MAX, "until the second")
    got = world.receiver.of("hanging")
    equal((got["ids"], got["requests"]), (IN_FLIGHT, 2 * IN_FLIGHT), "ids and requests")
    return f"{IN_FLIGHT} ended after {TIMEOUT_S} s, all {IN_FLIGHT} delivered by their second attempts"


@case
def a_429_that_says_when_is_waited_for_and_not_counted(world):
    asked_s = 2
    endpoint = world.told("busy", "status", status=429, retry_after=str(asked_s))
    delivery = endpoint.send_test()
    first = endpoint.wait_for_attempts(delivery, 1)[0]
    read = endpoint.event(delivery)
    equal(read["status"], "pending", "status after a 429")
    # A wait that was asked for is shorter than any of the schedule.
    within(seconds_between(first["sent_at"], read["next_attempt_at"]), asked_s, FIRST_DELAY_S, "asked to wait")
    endpoint.wait_for_attempts(delivery, 3)
    # One that does not say when counts, as the first: five seconds and not five minutes.
    world.receiver.tell("busy", "status", status=429, times=1)
    endpoint.wait_for_success(delivery)
    attempts = endpoint.attempts(delivery)
    codes = [one["http_status_code"] for one in attempts]
    equal((set(codes[:-1]), codes[-1]), ({429}, 200), "attempts")
    *asked, last = gaps(attempts)
    for wait in asked:
        within(wait, asked_s, FIRST_DELAY_S, "a wait that was asked for")
    within(last, FIRST_DELAY_S, SCHEDULE_S_MAX, "the wait of the schedule")
    waits = ", ".join(f"{wait:.1f}" for wait in [*asked, last])
    return f"{len(asked)} with Retry-After {asked_s} uncounted, 1 without counted: waits {waits} s"


@case
def a_429_that_says_when_rests_the_whole_endpoint(world):
    events = 30
    endpoint = world.told("resting", "status", status=429, retry_after="3")
    for _ in range(events):
        endpoint.send_test()
    wait_until(lambda: world.receiver.of("resting")["requests"] > 0, 10, "a request")
    equal(endpoint.statuses().get("success"), None, "delivered while it rests")
    refused = world.receiver.of("resting")["requests"]
    world.receiver.tell("resting", "ok")
    endpoint.wait_for_statuses({"success": events}, 60)
    got = world.receiver.of("resting")
    assert refused <= IN_FLIGHT, f"{refused} requests before the rest"
    assert got["requests"] <= events + IN_FLIGHT, f"{got['requests']} requests for {events} events"
    return f"{events} delivered with {got['requests']} requests, {refused} before the rest"


@case
def a_429_without_a_time_is_tried_again_on_schedule(world):
    endpoint = world.told("curt", "status", status=429, times=1)
    delivery = endpoint.send_test()
    first = endpoint.wait_for_attempts(delivery, 1)[0]
    read = endpoint.event(delivery)
    equal(read["status"], "pending", "status after a 429")
    wait_s = seconds_between(first["sent_at"], read["next_attempt_at"])
    within(wait_s, FIRST_DELAY_S, SCHEDULE_S_MAX, "the first delay")
    endpoint.wait_for_success(delivery)
    equal([one["http_status_code"] for one in endpoint.attempts(delivery)], [429, 200], "attempts")
    return f"next attempt after {wait_s:.2f} s, delivered by it"


@case
def a_redirect_is_an_answer_and_leads_nowhere(world):
    endpoint = world.told("moved", "redirect", location=world.receiver.url("elsewhere"), times=1)
    delivery = endpoint.send_test()
    first = endpoint.wait_for_attempts(delivery, 1)[0]
    equal(first["http_status_code"], 307, "the attempt")
    endpoint.wait_for_success(delivery)
    equal(world.receiver.of("elsewhere")["requests"], 0, "requests to where it leads")
    equal(world.receiver.of("moved")["requests"], 2, "requests to the endpoint")
    return "307 shown, 0 requests to where it leads, delivered by the second attempt"


@case
def an_endless_answer_costs_no_memory(world):
    events = 200
    server = world.server("huge").start()
    endpoint = world.subscribe(server, world.receiver.url("huge"), "email.delivered")
    for _ in range(events):
        endpoint.send_test()
    endpoint.wait_for_statuses({"success": events}, 60)
    before_kib = server.status_kib("VmHWM")
    world.receiver.tell("huge", "huge")
    deliveries = [endpoint.send_test() for _ in range(events)]
    endpoint.wait_for_statuses({"success": 2 * events}, 60)
    after_kib = server.status_kib("VmHWM")
    for delivery in deliveries[:: events // 10]:
        (attempt,) = endpoint.attempts(delivery)
        equal(attempt["http_status_code"], 200, "the attempt")
        equal(attempt["response"], "x" * RESPONSE_BYTES_MAX, "what is shown of the answer")
    growth_kib = after_kib - before_kib
    assert growth_kib <= PEAK_GROWTH_KIB_MAX, f"the peak grew by {growth_kib} KiB over {events} endless answers"
    server.stop()
    peak = f"peak memory {before_kib} to {after_kib} KiB"
    return f"{events} answers of up to 1 GiB, {peak}, {RESPONSE_BYTES_MAX} bytes shown"


@case
def a_reset_connection_fails_the_attempt_and_a_replay_keeps_the_id(world):
    endpoint = world.told("reset", "ok")
    world.receiver.tell("reset", "ok", secrets=[endpoint.secret])
    before = endpoint.send_test()
    endpoint.wait_for_success(before)
    world.receiver.tell("reset", "reset", secrets=[endpoint.secret])
    delivery = endpoint.send_test()
    (attempt,) = endpoint.wait_for_attempts(delivery, 1)
    sentence = "the connection was closed before an answer had come"
    equal((attempt["http_status_code"], attempt["response"]), (0, sentence), "the attempt")
    # Over the connection that was open, and once more over a fresh one.
    times = {key: row["times"] for key, row in world.receiver.bodies("reset").items()}
    equal(times, {f"msg_{before}": 1, f"msg_{delivery}": 2}, "requests by webhook-id")
    world.receiver.tell("reset", "ok", secrets=[endpoint.secret])
    endpoint.replay(delivery)
    endpoint.wait_for_success(delivery)
    # What has arrived can be replayed as well.
    endpoint.replay(delivery)
    wait_until(lambda: world.receiver.of("reset")["requests"] == 5, 20, "the second replay")
    endpoint.wait_for_success(delivery)
    got = world.receiver.of("reset")
    times = {key: row["times"] for key, row in world.receiver.bodies("reset").items()}
    equal(times, {f"msg_{before}": 1, f"msg_{delivery}": 4}, "requests by webhook-id")
    equal((got["changed"], got["verified"]), (0, {"0": 5}), "changed bodies, and signatures")
    return "1 attempt of 2 requests failed, 2 replays delivered, 1 webhook-id, 0 bodies changed"
