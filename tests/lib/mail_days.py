"""Mail of many days: a server whose wall clock moves by a day between two starts."""

import base64
import collections
import http.client
import http.server
import random
import re
import threading
import time
import urllib.parse

from deadline import wait_until
from server import SENDER, Capture
from shifted_server import ShiftedServer

BATCH = 100
PAGE_ROWS = 100
TEXT_BYTES = 1_000
# Addresses that are captured, so that each day also stores messages.
CAPTURED_PER_DAY = 20
ERASED_PER_DAY = 2
# Captured emails of which the pixel and the link are requested.
READ_PER_DAY = 5
ATTACHMENT_BYTES = 100_000
WEBHOOK_EVENTS = ["email.opened", "email.clicked"]
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PIXEL = re.compile(r'<img[^>]+src="([^"]+/t/o/[^"]+)"')
DAY_S = 86_400
RUN_STARTS_AT_S = 6 * 3_600  # UTC time of day of the server. Leaves 18 hours for the run: a day must not pass midnight.
DAY_SECONDS = 120  # Longest wait for the mail or the retention of a day.

METRICS = ("sent", "delivered", "opened", "clicked")
DELIVERED = {"delivered", "opened", "clicked"}

RETENTION_FLAGS = [
    "--content-retention-days", "--email-retention-days", "--attempt-retention-days", "--log-retention-days",
    "--metrics-retention-days", "--audit-retention-days",
]  # fmt: skip


# Flags of a server whose log has the days of `checked_days`.
CHECKS_LOGGED = ["--log", "warn,ringmail::email_metrics=info"]


class Days:
    """A store that gets the same number of emails every day, with one retention period for everything."""

    def __init__(self, directory, emails, retention_days, profile="debug", seed=7):
        assert emails % BATCH == 0, f"the number of emails is not a multiple of {BATCH}"
        flags = [part for flag in RETENTION_FLAGS for part in (flag, str(retention_days))]
        flags += CHECKS_LOGGED
        # A request for a pixel or a link soon after the delivery is not one of software.
        flags += ["--prefetch-window-s", "0"]
        self.server = RetainingServer(directory, Capture(), profile=profile, extra=flags)
        self.server.retention_days = retention_days
        self.offset_s = RUN_STARTS_AT_S - int(time.time()) % DAY_S
        self.emails, self.retention_days = emails, retention_days
        self.chance = random.Random(seed)
        self.first_ids, self.last_ids = [], []  # Of each day.
        self.sizes = []  # Bytes of the file at the end of each day.
        self.endpoint = Endpoint()

    def end(self):
        """Kills the server and stops the endpoint. For clean-up code."""
        self.server.end()
        self.endpoint.stop()

    def run_day(self):
        """Moves the clock to the next day, waits for the retention of the oldest one, and sends the mail of the day."""
        day = len(self.first_ids)
        self.server.shift(f"{self.offset_s + day * DAY_S:+d}")
        self.server.start(seconds=DAY_SECONDS)
        api = self.server.api
        if day == 0:
            self.server.track()
            api.ok("POST", "/webhooks", {"endpoint": self.endpoint.url, "events": WEBHOOK_EVENTS})
        expired = day - self.retention_days - 1
        if expired >= 0:
            gone = lambda: api.call("GET", f"/emails/{self.first_ids[expired]}")[0] == 404  # noqa: E731
            wait_until(gone, DAY_SECONDS, f"the retention of day {expired}", pause_s=0.05)
        ids = []
        for batch in range(self.emails // BATCH):
            ids += [sent["id"] for sent in api.ok("POST", "/emails/batch", self.batch(day, batch))["data"]]
        self.first_ids.append(ids[0])
        self.last_ids.append(ids[-1])
        for number in range(ERASED_PER_DAY):
            address = f"erased{day}.{number}@example.net"
            contact = api.ok("POST", "/contacts", {"email": address})["id"]
            api.ok("DELETE", f"/contacts/{contact}?erase=true")
        for number in range(READ_PER_DAY):
            self.read(api, f"read{day}.{number}@example.net")
        is_delivered = lambda: api.ok("GET", f"/emails/{ids[-1]}")["last_event"] == "delivered"  # noqa: E731
        wait_until(is_delivered, DAY_SECONDS, f"the mail of day {day}", pause_s=0.05)
        self.delivered(api, day)
        received = (day + 1) * READ_PER_DAY * len(WEBHOOK_EVENTS)
        wait_until(
            lambda: len(self.endpoint.received) == received, DAY_SECONDS,
            lambda: f"{received} webhooks on day {day}; {len(self.endpoint.received)}", pause_s=0.05,
        )  # fmt: skip
        # The check of the counts deletes the journal of the day before. It rests most of the time, and a real day is longer.
        wait_until(lambda: checked_days(self.server) >= day, DAY_SECONDS, f"the check of the counts before day {day}", pause_s=0.05)
        self.server.stop()
        self.sizes.append(self.server.store_path.stat().st_size)

    def read(self, api, address):
        """Requests the pixel and then the link of a captured message, as a browser does."""
        found = api.ok("GET", f"/captured?to={address}&wait=60s")["data"]
        message = api.ok("GET", f"/captured/{found[0]['id']}")
        # The message is captured before its delivery is stored, and a request before that is one of software.
        self.server.wait_for(message["email_id"], "delivered")
        (pixel,) = PIXEL.findall(message["html"])
        (link,) = [url for url in message["links"] if "/t/c/" in url]
        assert (hit(self.server.port, pixel), hit(self.server.port, link)) == (200, 302), address

    def batch(self, day, number):
        """Returns one batch: a few emails to real addresses, the others to the simulated one."""
        text = "".join(self.chance.choices("aeioubdfgklmnprst ", k=TEXT_BYTES))
        emails = [
            {"from": SENDER, "to": "delivered@ringmail.test", "subject": f"Receipt {day}.{number}.{index}", "text": text}
            for index in range(BATCH)
        ]  # fmt: skip
        if number == 0:
            for index in range(CAPTURED_PER_DAY):
                emails[index]["to"] = f"user{day}.{index}@example.net"
            for index in range(ERASED_PER_DAY):
                emails[index]["to"] = f"erased{day}.{index}@example.net"
            for index in range(READ_PER_DAY):
                email = emails[ERASED_PER_DAY + index]
                email["to"] = f"read{day}.{index}@example.net"
                email["html"] = f'<html><body><p><a href="https://shop.example.com/orders/{index}">Order</a></p></body></html>'
            content = base64.b64encode(self.chance.randbytes(ATTACHMENT_BYTES)).decode()
            emails[CAPTURED_PER_DAY - 1]["attachments"] = [{"filename": "receipt.bin", "content": content}]
        return emails

    def delivered(self, api, day):
        """Waits until the counters of the day have all of its emails."""
        today = lambda: list(counted_by_day(api).values())[-1]  # noqa: E731
        expected = self.expected()
        wait_until(lambda: today() == expected, DAY_SECONDS, lambda: f"{expected} on day {day}: {today()}", pause_s=0.1)

    def expected(self):
        """Returns the counts of a day: `METRICS`."""
        return (self.emails, self.emails, READ_PER_DAY, READ_PER_DAY)

    def kept(self):
        """Returns the counts of each UTC day with mail: `METRICS` by the counters, and the number of stored emails."""
        self.server.start(seconds=DAY_SECONDS)
        api = self.server.api
        expired = len(self.last_ids) - self.retention_days - 2
        if expired >= 0:
            gone = lambda: api.call("GET", f"/emails/{self.last_ids[expired]}")[0] == 404  # noqa: E731
            wait_until(gone, DAY_SECONDS, f"the retention of day {expired}", pause_s=0.05)
        counts = lambda: counted_by_day(api, "&start_date=2020-01-01")  # noqa: E731
        # A part of the day before the retention is younger than it.
        expired_counts = lambda: list(counts().values())[: -self.retention_days - 1]  # noqa: E731
        wait_until(lambda: not any(map(any, expired_counts())), DAY_SECONDS, "the retention of the counters", pause_s=0.1)
        counters, stored = counts(), stored_by_day(api)
        self.server.stop()
        none = (0,) * len(METRICS)
        kept = {day: (*counters.get(day, none), stored[day]) for day in sorted(counters.keys() | stored.keys())}
        return {day: row for day, row in kept.items() if any(row)}


def checked_days(server):
    """Returns the number of days whose counts a server with `CHECKS_LOGGED` has checked without a difference."""
    return server.log_path.read_text(errors="replace").count("the counts of a day agree with its")


def counted_by_day(api, more=""):
    """Returns `METRICS` of each UTC day by the counters."""
    path = f"/emails/metrics?metrics={','.join(METRICS)}&dimensions=period{more}"
    return {row["period"]: tuple(row[metric] for metric in METRICS) for row in api.ok("GET", path)["data"]}


def stored_by_day(api):
    """Returns the number of stored emails that were delivered by their UTC day, from all pages of the list."""
    stored, after = collections.Counter(), ""
    while True:
        page = api.ok("GET", f"/emails?limit={PAGE_ROWS}{after}")
        stored.update(row["created_at"][:10] for row in page["data"] if row["last_event"] in DELIVERED)
        if not page["has_more"]:
            return stored
        after = f"&after={page['data'][-1]['id']}"


def hit(port, url):
    """Requests a tracked URL as a browser does. Returns the status."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", urllib.parse.urlsplit(url).path, headers={"User-Agent": BROWSER})
        return connection.getresponse().status
    finally:
        connection.close()


class Endpoint:
    """A webhook endpoint that accepts everything, and collects the ids of the webhooks."""

    def __init__(self):
        endpoint = self
        self.received = set()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                endpoint.received.add(self.headers["webhook-id"])
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.listener = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.listener.server_port}/webhooks"
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()

    def stop(self):
        self.listener.shutdown()
        self.listener.server_close()


class RetainingServer(ShiftedServer):
    """A server that keeps webhook deliveries for as long as everything else."""

    retention_days = 30

    def environment(self):
        return {**super().environment(), "WEBHOOK_DELIVERY_RETENTION_DAYS": str(self.retention_days)}
