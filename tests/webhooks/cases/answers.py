"""Receivers that return errors or do not respond, and recover."""

from cases import case, equal, within
from deadline import wait_until
from world import gaps, seconds_between

IN_FLIGHT = 8
TIMEOUT_S = 10
FIRST_DELAY_S = 5
# Upper bound of the first delay on a busy machine. The second delay is five minutes.
SCHEDULE_S_MAX = 60
RESPONSE_BYTES_MAX = 1_024
PEAK_GROWTH_KIB_MAX = 6 * 1_024


@case
def a_slow_receiver_gets_at_most_eight_requests_at_once(world):
    events = 48
    endpoint = world.endpoint("slow", "slow", wait_ms=300)
    for _ in range(events):
        endpoint.send_test()
    endpoint.wait_for_statuses({"success": events}, 60)
    got = world.receiver.counts("slow")
    equal(got["ids"], events, "events that arrived")
    equal(got["repeated"], 0, "repeats")
    equal(got["most_at_once"], IN_FLIGHT, "most at once")
    return f"{events} delivered, {got['most_at_once']} at once"


@case
def an_attempt_without_a_response_times_out_and_counts_as_failed(world):
    endpoint = world.endpoint("hanging", "hang", times=IN_FLIGHT)
    deliveries = [endpoint.send_test() for _ in range(IN_FLIGHT)]
    wait_until(lambda: world.receiver.counts("hanging")["requests"] == IN_FLIGHT, 10, "the requests without a response")
    equal(endpoint.statuses(), {"attempting": IN_FLIGHT}, "statuses before the timeout")
    endpoint.wait_for_statuses({"success": IN_FLIGHT}, 60)
    for delivery in deliveries:
        first, second = attempts = endpoint.attempts(delivery)
        equal((first["http_status_code"], first["response"]), (0, "the response took too long"), "the first attempt")
        equal(second["http_status_code"], 200, "the second attempt")
        # The timeout and then the first delay of the schedule: the attempt was counted.
        within(gaps(attempts)[0], TIMEOUT_S + FIRST_DELAY_S, SCHEDULE_S_MAX, "the time until the second attempt")
    got = world.receiver.counts("hanging")
    equal((got["ids"], got["requests"]), (IN_FLIGHT, 2 * IN_FLIGHT), "ids and requests")
    return f"{IN_FLIGHT} timed out after {TIMEOUT_S} s, all {IN_FLIGHT} delivered by their second attempts"


@case
def a_429_with_retry_after_delays_the_next_attempt_and_is_not_counted(world):
    retry_after_s = 2
    endpoint = world.endpoint("busy", "status", status=429, retry_after=str(retry_after_s))
    delivery = endpoint.send_test()
    first = endpoint.wait_for_attempts(delivery, 1)[0]
    read = endpoint.event(delivery)
    equal(read["status"], "pending", "status after a 429")
    # The delay of Retry-After is shorter than any delay of the schedule.
    within(seconds_between(first["sent_at"], read["next_attempt_at"]), retry_after_s, FIRST_DELAY_S, "the delay")
    endpoint.wait_for_attempts(delivery, 3)
    # A 429 without Retry-After is counted as the first attempt: the delay is five seconds, not five minutes.
    world.receiver.configure("busy", "status", status=429, times=1)
    endpoint.wait_for_success(delivery)
    attempts = endpoint.attempts(delivery)
    codes = [one["http_status_code"] for one in attempts]
    equal((set(codes[:-1]), codes[-1]), ({429}, 200), "attempts")
    *uncounted, last = gaps(attempts)
    for delay in uncounted:
        within(delay, retry_after_s, FIRST_DELAY_S, "a delay of Retry-After")
    within(last, FIRST_DELAY_S, SCHEDULE_S_MAX, "the delay of the schedule")
    delays = ", ".join(f"{delay:.1f}" for delay in [*uncounted, last])
    return f"{len(uncounted)} with Retry-After {retry_after_s} not counted, 1 without it counted: delays {delays} s"


@case
def a_429_with_retry_after_starts_a_cooldown_of_the_endpoint(world):
    events = 30
    endpoint = world.endpoint("cooldown", "status", status=429, retry_after="3")
    for _ in range(events):
        endpoint.send_test()
    wait_until(lambda: world.receiver.counts("cooldown")["requests"] > 0, 10, "a request")
    equal(endpoint.statuses().get("success"), None, "delivered during the cooldown")
    refused = world.receiver.counts("cooldown")["requests"]
    world.receiver.configure("cooldown", "ok")
    endpoint.wait_for_statuses({"success": events}, 60)
    got = world.receiver.counts("cooldown")
    assert refused <= IN_FLIGHT, f"{refused} requests before the cooldown"
    assert got["requests"] <= events + IN_FLIGHT, f"{got['requests']} requests for {events} events"
    return f"{events} delivered with {got['requests']} requests, {refused} before the cooldown"


@case
def a_429_without_retry_after_is_retried_on_schedule(world):
    endpoint = world.endpoint("no-retry-after", "status", status=429, times=1)
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
def a_redirect_is_not_followed(world):
    endpoint = world.endpoint("moved", "redirect", location=world.receiver.url("elsewhere"), times=1)
    delivery = endpoint.send_test()
    first = endpoint.wait_for_attempts(delivery, 1)[0]
    equal(first["http_status_code"], 307, "the attempt")
    endpoint.wait_for_success(delivery)
    equal(world.receiver.counts("elsewhere")["requests"], 0, "requests to the target")
    equal(world.receiver.counts("moved")["requests"], 2, "requests to the endpoint")
    return "307 shown, 0 requests to the target, delivered by the second attempt"


@case
def an_endless_response_does_not_use_memory(world):
    events = 200
    server = world.server("huge").start()
    endpoint = world.subscribe(server, world.receiver.url("huge"), "email.delivered")
    for _ in range(events):
        endpoint.send_test()
    endpoint.wait_for_statuses({"success": events}, 60)
    before_kib = server.status_kib("VmHWM")
    world.receiver.configure("huge", "huge")
    deliveries = [endpoint.send_test() for _ in range(events)]
    endpoint.wait_for_statuses({"success": 2 * events}, 60)
    after_kib = server.status_kib("VmHWM")
    for delivery in deliveries[:: events // 10]:
        (attempt,) = endpoint.attempts(delivery)
        equal(attempt["http_status_code"], 200, "the attempt")
        equal(attempt["response"], "x" * RESPONSE_BYTES_MAX, "the part of the response that is shown")
    growth_kib = after_kib - before_kib
    assert growth_kib <= PEAK_GROWTH_KIB_MAX, f"the peak grew by {growth_kib} KiB over {events} endless responses"
    server.stop()
    peak = f"peak memory {before_kib} to {after_kib} KiB"
    return f"{events} responses of up to 1 GiB, {peak}, {RESPONSE_BYTES_MAX} bytes shown"


@case
def a_connection_reset_fails_the_attempt_and_a_replay_keeps_the_id(world):
    endpoint = world.endpoint("reset", "ok")
    world.receiver.configure("reset", "ok", secrets=[endpoint.secret])
    before = endpoint.send_test()
    endpoint.wait_for_success(before)
    world.receiver.configure("reset", "reset", secrets=[endpoint.secret])
    delivery = endpoint.send_test()
    (attempt,) = endpoint.wait_for_attempts(delivery, 1)
    sentence = "the connection was closed before a response had come"
    equal((attempt["http_status_code"], attempt["response"]), (0, sentence), "the attempt")
    # The first request used the open connection, and the second a new one.
    times = {key: row["times"] for key, row in world.receiver.bodies("reset").items()}
    equal(times, {f"msg_{before}": 1, f"msg_{delivery}": 2}, "requests by webhook-id")
    world.receiver.configure("reset", "ok", secrets=[endpoint.secret])
    endpoint.replay(delivery)
    endpoint.wait_for_success(delivery)
    # A successful delivery can be replayed as well.
    endpoint.replay(delivery)
    wait_until(lambda: world.receiver.counts("reset")["requests"] == 5, 20, "the second replay")
    endpoint.wait_for_success(delivery)
    got = world.receiver.counts("reset")
    times = {key: row["times"] for key, row in world.receiver.bodies("reset").items()}
    equal(times, {f"msg_{before}": 1, f"msg_{delivery}": 4}, "requests by webhook-id")
    equal((got["changed"], got["verified"]), (0, {"0": 5}), "changed bodies, and signatures")
    return "1 attempt of 2 requests failed, 2 replays delivered, 1 webhook-id, 0 bodies changed"
