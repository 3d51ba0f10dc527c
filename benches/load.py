"""Load generators: wrk for rates, threads of this process for exact counts."""

import json
import os
import pathlib
import random
import subprocess
import threading

from server import API_KEY, SENDER, Api

HERE = pathlib.Path(__file__).resolve().parent
FILL_THREADS = 4
FILL_BATCH = 100
FILL_BODIES = 10  # Different batches.


def wrk(port, script, in_flight, seconds, **variables):
    """Runs wrk with one thread and `in_flight` connections. Returns the figures that the script prints."""
    environment = {**os.environ, "TOKEN": API_KEY, **{name: str(value) for name, value in variables.items()}}
    command = ["wrk", "-t1", f"-c{in_flight}", f"-d{seconds}s", "--timeout", "20s", "-s", str(HERE / script)]
    done = subprocess.run(
        [*command, f"http://127.0.0.1:{port}"], env=environment, capture_output=True, text=True,
        timeout=seconds + 60, check=True,
    )  # fmt: skip
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    result = json.loads(line.removeprefix("RESULT "))
    assert result["refused"] == 0 and result["broken"] == 0, f"requests failed: {result}"
    result["per_s"] = result["requests"] / result["seconds"]
    return result


def words(bytes_wanted, chance):
    """Returns text that compresses about as well as prose."""
    vocabulary = ["".join(chance.choices("aeioubdfgklmnprst", k=chance.randint(2, 9))) for _ in range(800)]
    parts, length = [], 0
    while length < bytes_wanted:
        parts.append(chance.choice(vocabulary))
        length += len(parts[-1]) + 1
        if len(parts) % 12 == 0:
            parts[-1] += "\n"
    return " ".join(parts)[:bytes_wanted]


def fill(server, count, text_bytes, html=None, to=None):
    """Sends exactly `count` emails in batches. Returns the first id of every batch.

    `html` returns the HTML part of an email with the given text. Without it, the emails have none. `to` returns the address
    of an email by its number below `FILL_BODIES * FILL_BATCH`. Without it, the addresses are random.
    """
    chance = random.Random(5)
    to = to or (lambda _: f"user{chance.randrange(200_000)}@customer{chance.randrange(5_000)}.example.net")
    bodies = []
    for first in range(0, FILL_BODIES * FILL_BATCH, FILL_BATCH):
        emails = [
            {"from": SENDER, "to": to(number), "subject": words(40, chance), "text": words(text_bytes, chance)}
            for number in range(first, first + FILL_BATCH)
        ]
        for email in emails if html else []:
            email["html"] = html(email["text"])
        bodies.append(emails)
    encoded = [json.dumps(emails).encode() for emails in bodies]
    lock, firsts, left = threading.Lock(), [], [count]
    errors = []

    def post():
        api = Api(server.port, timeout_s=60)
        number = 0
        while not errors:
            with lock:
                size = min(FILL_BATCH, left[0])
                left[0] -= size
            if size == 0:
                return
            number += 1
            body = encoded[number % len(encoded)] if size == FILL_BATCH else json.dumps(bodies[0][:size]).encode()
            try:
                response = api.ok("POST", "/emails/batch", body)
            except (OSError, AssertionError) as error:
                errors.append(error)
                return
            with lock:
                firsts.append(response["data"][0]["id"])

    threads = [threading.Thread(target=post) for _ in range(FILL_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return firsts
