"""Mail of many days: a server whose wall clock moves by a day between two starts."""

import collections
import random
import time

from deadline import wait_until
from server import SENDER, Capture
from shifted_server import ShiftedServer

BATCH = 100
PAGE_ROWS = 100
TEXT_BYTES = 1_000
# Addresses that are captured, so that each day also stores messages.
CAPTURED_PER_DAY = 20
ERASED_PER_DAY = 2
DAY_S = 86_400
RUN_STARTS_AT_S = 6 * 3_600  # UTC time of day of the server. Leaves 18 hours for the run: a day must not pass midnight.
DAY_SECONDS = 120  # Longest wait for the mail or the retention of a day.

RETENTION_FLAGS = [
    "--content-retention-days", "--email-retention-days", "--attempt-retention-days", "--log-retention-days",
    "--metrics-retention-days", "--audit-retention-days",
]  # fmt: skip


class Days:
    """A store that gets the same number of emails every day, with one retention period for everything."""

    def __init__(self, directory, emails, retention_days, profile="debug", seed=7):
        assert emails % BATCH == 0, f"the number of emails is not a multiple of {BATCH}"
        flags = [part for flag in RETENTION_FLAGS for part in (flag, str(retention_days))]
        # The log has the checked days.
        flags += ["--log", "warn,ringmail::email_metrics=info"]
        self.server = RetainingServer(directory, Capture(), profile=profile, extra=flags)
        self.server.retention_days = retention_days
        self.offset_s = RUN_STARTS_AT_S - int(time.time()) % DAY_S
        self.emails, self.retention_days = emails, retention_days
        self.chance = random.Random(seed)
        self.first_ids, self.last_ids = [], []  # Of each day.
        self.sizes = []  # Bytes of the file at the end of each day.

    def run_day(self):
        """Moves the clock to the next day, waits for the retention of the oldest one, and sends the mail of the day."""
        day = len(self.first_ids)
        self.server.shift(f"{self.offset_s + day * DAY_S:+d}")
        self.server.start(seconds=DAY_SECONDS)
        api = self.server.api
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
        is_delivered = lambda: api.ok("GET", f"/emails/{ids[-1]}")["last_event"] == "delivered"  # noqa: E731
        wait_until(is_delivered, DAY_SECONDS, f"the mail of day {day}", pause_s=0.05)
        self.delivered(api, day)
        # The check of the counts deletes the journal of the day before. It rests most of the time, and a real day is longer.
        wait_until(lambda: self.checked() >= day, DAY_SECONDS, f"the check of the counts before day {day}", pause_s=0.05)
        self.server.stop()
        self.sizes.append(self.server.store_path.stat().st_size)

    def checked(self):
        """Returns the number of days whose counts the servers have checked without a difference."""
        return self.server.log_path.read_text(errors="replace").count("the counts of a day agree with its")

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
        return emails

    def delivered(self, api, day):
        """Waits until the counters of the day have all of its emails."""
        path = "/emails/metrics?metrics=sent,delivered&dimensions=period"
        counts = lambda: {row["period"]: (row["sent"], row["delivered"]) for row in api.ok("GET", path)["data"]}  # noqa: E731
        today = lambda: list(counts().values())[-1]  # noqa: E731
        expected = (self.emails, self.emails)
        wait_until(lambda: today() == expected, DAY_SECONDS, lambda: f"{expected} on day {day}: {counts()}", pause_s=0.1)

    def kept(self):
        """Returns the counts of each UTC day with mail: sent and delivered by the counters, and stored as delivered."""
        self.server.start(seconds=DAY_SECONDS)
        api = self.server.api
        expired = len(self.last_ids) - self.retention_days - 2
        if expired >= 0:
            gone = lambda: api.call("GET", f"/emails/{self.last_ids[expired]}")[0] == 404  # noqa: E731
            wait_until(gone, DAY_SECONDS, f"the retention of day {expired}", pause_s=0.05)
        path = "/emails/metrics?metrics=sent,delivered&dimensions=period&start_date=2020-01-01"
        counts = lambda: {row["period"]: (row["sent"], row["delivered"]) for row in api.ok("GET", path)["data"]}  # noqa: E731
        # A part of the day before the retention is younger than it.
        expired_counts = lambda: list(counts().values())[: -self.retention_days - 1]  # noqa: E731
        wait_until(lambda: not any(map(any, expired_counts())), DAY_SECONDS, "the retention of the counters", pause_s=0.1)
        counters, stored = counts(), delivered_by_day(api)
        self.server.stop()
        kept = {day: (*counters.get(day, (0, 0)), stored[day]) for day in sorted(counters.keys() | stored.keys())}
        return {day: row for day, row in kept.items() if any(row)}


def delivered_by_day(api):
    """Returns the number of stored emails with the status `delivered` by their UTC day, from all pages of the list."""
    stored, after = collections.Counter(), ""
    while True:
        page = api.ok("GET", f"/emails?limit={PAGE_ROWS}{after}")
        stored.update(row["created_at"][:10] for row in page["data"] if row["last_event"] == "delivered")
        if not page["has_more"]:
            return stored
        after = f"&after={page['data'][-1]['id']}"


class RetainingServer(ShiftedServer):
    """A server that keeps webhook deliveries for as long as everything else."""

    retention_days = 30

    def environment(self):
        return {**super().environment(), "WEBHOOK_DELIVERY_RETENTION_DAYS": str(self.retention_days)}
