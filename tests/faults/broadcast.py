"""Parts that the broadcast cases share: a team with contacts, its broadcasts, and the count of every recipient.

`FAULTS_RECIPIENTS` is the number of recipients of a broadcast (`suite.py --recipients N`). Each recipient ends as
exactly one of: sent, canceled, or skipped because the contact left. `BroadcastWorld.audit` counts them at the receivers
and in the API, and compares the sum with the audience.
"""

import collections
import json
import os
import re
import time

from lib import SENDER, World, wait_until
from server import Api
from sinks import Arrival, Sinks, message_id

RECIPIENTS = int(os.environ.get("FAULTS_RECIPIENTS", "2000"))
DOMAINS = 8  # Each is a site of its own.
BATCH = 500
PAGE = 100
# Emails per second that a debug build delivers at least while other cases run. Only deadlines depend on it.
RATE_MIN = 20
DEADLINE_S = 60 + RECIPIENTS / RATE_MIN
# Maximum age of a delivery at a kill whose outcome may not be stored. The crash suite, which runs alone, allows 250 ms.
COMMIT_WINDOW_S = 1.0
PUBLIC_URL = "https://mail.example.com"
# Names that make the pages of a fan-out small, so that a fault can be in the middle of it.
LONG_NAME = "é" * max(3, min(500, 1_000_000 // RECIPIENTS))
LONG_NAMES = {"first_name": LONG_NAME, "last_name": LONG_NAME}
BROADCASTS_MAX = 5  # Broadcasts of a case whose fault may follow the end of the fan-out.
# The states of a recipient in the counts of the command line.
STATES = ("queued", "sent", "delivered", "bounced", "complained", "suppressed", "failed", "canceled")
LIST_ID = re.compile(rb"(?im)^list-id:[ \t]*<([0-9a-f-]{36})\.[^>\r\n]+>")
SUBJECT = re.compile(rb"(?im)^subject:[ \t]*([^\r\n]*)")
ERASED = "[erased]"
FINAL = {"delivered", "bounced", "failed", "suppressed", "canceled"}
ONLY_WHILE_WAITING = "Only queued or scheduled broadcasts can be canceled"


class BroadcastSinks(Sinks):
    """Receivers that separate the messages of broadcasts. `of_broadcast` maps the id of a broadcast to the arrivals of
    each recipient. `arrived` has only other email.
    """

    def __init__(self, habits):
        self.of_broadcast = collections.defaultdict(lambda: collections.defaultdict(list))
        self.subjects = {}  # Subject of the last message by broadcast and recipient.
        super().__init__(habits)

    def record(self, session, recipient, content):
        head = content.split(b"\r\n\r\n", 1)[0]
        found = LIST_ID.search(head)
        if not found:
            super().record(session, recipient, content)
            return
        broadcast = found[1].decode()
        arrival = Arrival(time.time(), session.number, message_id(content))
        self.of_broadcast[broadcast][recipient].append(arrival)
        subject = SUBJECT.search(head)
        self.subjects[broadcast, recipient] = subject[1].decode() if subject else None


class BroadcastWorld(World):
    """A server in direct mode with a team whose contacts have addresses at `DOMAINS` sites."""

    def __init__(self, directory, *, extra=(), **settings):
        links = ["--public-url", PUBLIC_URL]  # Recipients must be able to open the unsubscribe links.
        super().__init__(directory, extra=[*links, *extra], make_sinks=BroadcastSinks, **settings)
        self.kills = []  # Times on the wall clock.
        self.probes = 0
        for number in range(DOMAINS):
            self.site(f"d{number}.test")
        self.site("probe.test")

    # The team

    def contacts(self, count=RECIPIENTS, name="r", **fields):
        """Adds contacts with these fields. Returns their addresses in the order of creation."""
        addresses = [f"{name}{number}@d{number % DOMAINS}.test" for number in range(count)]
        self.upsert(addresses, **fields)
        return addresses

    def upsert(self, addresses, **fields):
        for first in range(0, len(addresses), BATCH):
            items = [{"email": address, **fields} for address in addresses[first : first + BATCH]]
            self.ok("POST", "/contacts/batch?on_conflict=upsert", items)

    def ok(self, method, path, body=None):
        """Returns the body of a request that must succeed."""
        api = Api(self.server.port, timeout_s=120)
        try:
            return api.ok(method, path, body)
        finally:
            api.close()

    def refusal(self, method, path, body=None):
        """Returns `(status, name, message)` of a request that must be refused."""
        api = Api(self.server.port, timeout_s=120)
        try:
            status, decoded = api.call(method, path, body)
        finally:
            api.close()
        assert status >= 400, f"{method} {path} was accepted: {decoded}"
        return status, decoded["name"], decoded["message"]

    # Broadcasts

    def draft(self, **fields):
        """Creates a draft. Returns its id."""
        body = {
            "from": SENDER,
            "subject": "News for {{{FIRST_NAME|you}}}",
            "text": "Hello {{{FIRST_NAME|there}}}.\n\n{{{UNSUBSCRIBE_URL}}}\n",
            "name": "Fault",
            **fields,
        }
        return self.ok("POST", "/broadcasts", body)["id"]

    def draft_of_small_pages(self):
        """Creates a draft to contacts with `LONG_NAMES`. Returns its id."""
        text = "Hello {{{FIRST_NAME|there}}} {{{LAST_NAME|there}}}.\n\n{{{UNSUBSCRIBE_URL}}}\n"
        return self.draft(subject="News", text=text)

    def start(self, broadcast, **fields):
        """Sends a draft. Returns the response."""
        return self.ok("POST", f"/broadcasts/{broadcast}/send", fields)

    def send_to_all(self, **fields):
        """Creates and sends a broadcast. Returns its id."""
        return self.ok(
            "POST",
            "/broadcasts",
            {"from": SENDER, "subject": "News", "text": "Hello.\n\n{{{UNSUBSCRIBE_URL}}}\n", "send": True, **fields},
        )["id"]

    def cancel(self, broadcast):
        """Cancels a broadcast. Returns the number of emails that are not sent."""
        return self.ok("POST", f"/broadcasts/{broadcast}/cancel")["canceled_remaining"]

    def read(self, broadcast):
        return self.ok("GET", f"/broadcasts/{broadcast}")

    def pages(self, path):
        """Yields every row of a list."""
        after = ""
        while True:
            page = self.ok("GET", f"{path}{'&' if '?' in path else '?'}limit={PAGE}{after}")
            yield from page["data"]
            if not page["has_more"]:
                return
            after = f"&after={page['data'][-1]['id']}"

    def emails(self, broadcast):
        """Returns the emails of a broadcast: a list of `(address, last event)`."""
        return [(row["to"][0], row["last_event"]) for row in self.pages(f"/emails?broadcast_id={broadcast}")]

    def newest_email(self, broadcast):
        """Returns the address of the email that was queued last; `None` before the first."""
        rows = self.ok("GET", f"/emails?broadcast_id={broadcast}&limit=1")["data"]
        return rows[0]["to"][0] if rows else None

    def wait_for_fan_out(self, broadcast, last):
        """Waits until the email to `last` is queued, the contact that was created last."""
        seen = []

        def is_whole():
            seen[:] = [self.newest_email(broadcast)]
            return seen == [last]

        wait_until(is_whole, DEADLINE_S, lambda: f"the email to {last}; newest {seen}\n{self.server.log_tail()}", 0.05)

    def wait_for_status(self, broadcast, status):
        seen = {}

        def reached():
            seen.update(self.read(broadcast))
            return seen["status"] == status

        def described():
            return f"{status}; last read {seen}; {self.count(broadcast)} arrived\n{self.server.log_tail()}"

        wait_until(reached, DEADLINE_S, described, pause_s=0.1)
        return seen

    def wait_for_outcomes(self, broadcast):
        """Waits until each email of a broadcast has its final status. Returns the emails."""
        rows = []

        def are_final():
            rows[:] = self.emails(broadcast)
            return all(event in FINAL for _, event in rows)

        def described():
            left = collections.Counter(event for _, event in rows if event not in FINAL)
            return f"the outcome of all emails; left {dict(left)}\n{self.server.log_tail()}"

        wait_until(are_final, DEADLINE_S, described, pause_s=0.5)
        return rows

    def wait_for_page(self, broadcast, newest):
        """Waits until another email than the one to `newest` was queued last."""
        wait_until(lambda: self.newest_email(broadcast) != newest, DEADLINE_S, f"a page after {newest}", pause_s=0.001)

    # The queue and the process

    def pause(self):
        """Holds the whole queue, also after a restart. Fan-out continues."""
        self.server.cli("queue", "pause", "--all")

    def resume(self):
        self.server.cli("queue", "resume", "--all")

    def kill(self):
        self.kills.append(time.time())
        self.server.kill()

    def restart_after_kill(self):
        self.kill()
        self.server.start()

    def probe(self):
        """Sends an email outside any broadcast, and waits until it arrives. The queue moves again then."""
        self.probes += 1
        recipient = f"probe{self.probes}@probe.test"
        assert self.send(recipient), self.refused
        self.wait_for([recipient], 60)

    # Counts

    def counts(self, broadcast):
        """Returns the stored counts of a broadcast, also while no server runs."""
        return json.loads(self.server.cli("broadcast", "show", broadcast, "--json"))["counts"]

    def stored(self, broadcast):
        """Returns the number of recipients whose email is stored: the progress of the fan-out."""
        counts = self.counts(broadcast)
        return sum(counts[state] for state in STATES)

    def count(self, broadcast):
        """Returns the number of recipients with a message of this broadcast."""
        return len(self.sinks.of_broadcast[broadcast])

    def wait_for_count(self, broadcast, count):
        def described():
            return f"{count} arrivals; {self.count(broadcast)} so far\n{self.server.log_tail()}"

        wait_until(lambda: self.count(broadcast) >= count, DEADLINE_S, described, pause_s=0.002)

    def repeated(self, broadcast):
        """Returns the ages at a kill of repeated deliveries, and the recipients whose repeat no kill explains."""
        ages, wrong = [], []
        for recipient, arrivals in self.sinks.of_broadcast[broadcast].items():
            for earlier, later in zip(arrivals, arrivals[1:], strict=False):
                between = [kill for kill in self.kills if kill < later.at and kill > earlier.at - COMMIT_WINDOW_S]
                age = min((kill - earlier.at for kill in between), default=None)
                if age is None or age > COMMIT_WINDOW_S or later.message_id != earlier.message_id:
                    wrong.append(recipient)
                else:
                    ages.append(max(0.0, age))
        return ages, wrong

    def audit(self, name, broadcast, audience, *, gone=(), canceled=0, skipped=None):
        """Prints and checks the counts of a broadcast that has ended.

        `gone` are the recipients who must not receive it. `canceled` is the `canceled_remaining` of the cancel. `skipped`
        is the number of those who left and were not canceled: all of `gone` by default.
        """
        audience, gone = set(audience), set(gone)
        rows = self.wait_for_outcomes(broadcast)
        facts = self.read(broadcast)
        arrived = set(self.sinks.of_broadcast[broadcast])
        events = collections.Counter(event for _, event in rows)
        ages, wrong = self.repeated(broadcast)
        sent, counts = facts["sent_count"], self.counts(broadcast)
        expected, skipped = len(gone) if skipped is None else skipped, len(audience) - sent - canceled
        oldest = f", the oldest {max(ages) * 1000:.0f} ms before a kill" if ages else ""
        print(
            f"{name}: {len(audience)} recipients = {sent} sent + {canceled} canceled + {skipped} skipped; "
            f"{len(arrived)} arrived, {len(ages)} repeated in the commit window{oldest}, {len(wrong)} outside it, "
            f"{len(self.kills)} kills; emails {dict(sorted(events.items()))}",
            flush=True,
        )
        strangers = arrived - audience
        assert not strangers, f"{len(strangers)} arrived outside the audience: {sorted(strangers)[:5]}"
        assert not arrived & gone, f"{len(arrived & gone)} who left received it: {sorted(arrived & gone)[:5]}"
        assert not wrong, f"{len(wrong)} received it twice: {sorted(wrong)[:5]}"
        emails = collections.Counter(address for address, _ in rows if address != ERASED)
        twice = [address for address, number in emails.items() if number > 1]
        assert not twice, f"{len(twice)} recipients have two emails: {twice[:5]}"
        assert sent == len(arrived), f"sent_count is {sent}, and {len(arrived)} recipients received it"
        if not canceled:
            lost = audience - arrived - gone
            assert not lost, f"{len(lost)} never received it: {sorted(lost)[:5]}"
        assert skipped == expected, f"{skipped} were skipped, and {expected} had left"
        stored = {state: counts[state] for state in STATES if counts[state]}
        assert stored == events and counts["attempted"] == sent, f"counts {counts}, emails {events}, {sent} sent"
        return facts
