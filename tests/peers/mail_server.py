"""A mail server that other software implements, on one loopback address, and the maildir with its mail.

It accepts mail for all addresses except those that `LOCAL_PARTS` names, and delivers it to one maildir, which the cases
read byte for byte.
"""

import dataclasses
import re
import smtplib
import socket
import ssl

from deadline import wait_until

# The start of a local part selects the reply. Each server implements these in its own configuration.
LOCAL_PARTS = {
    "refused.": "550 5.7.1 Access denied",
    "unknown.": "550 5.1.1, because the mailbox does not exist",
    "greylisted.": "a temporary refusal of the first RCPT, then 250",
    "bounced.": "250, and then a delivery status that reports a failure",
}
# Headers that a server adds above the message, up to its Received header. Names differ between servers.
ADDED = re.compile(
    rb"(?i)(Return-Path|X-Original-To|Delivered-To|Envelope-To|Delivery-Date|Received):[ \t]*(.*(?:\n[ \t].*)*)\n"
)


@dataclasses.dataclass(frozen=True)
class Delivered:
    """One file of the maildir, without the header lines that the server added."""

    recipient: str
    sender: str
    received: str  # Received header of the server, which contains the protocol and the TLS version.
    content: bytes

    @property
    def has_tls(self):
        return "TLS" in self.received


class MailServer:
    """A mail server, as the cases use it. A subclass implements `launch`, `stop` and `log_tail`."""

    name = ""
    offers_smtputf8 = True
    # Whether its reports about `bounced.` name the mailbox as the reason, with a status or in the text.
    reports_mailbox = True

    def __init__(self, address, port, maildir):
        self.address, self.port, self.maildir = address, port, maildir
        self.has_tls = None  # Whether its TLS handshake succeeds. Known after `start`.

    def start(self):
        self.launch()
        wait_until(self._listens, 20, lambda: f"{self.name} to listen\n{self.log_tail()}")
        self.has_tls = self._completes_tls()
        return self

    def _listens(self):
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex((self.address, self.port)) == 0

    def _completes_tls(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        client = smtplib.SMTP(self.address, self.port, timeout=20)
        try:
            client.starttls(context=context)
            return True
        except ssl.SSLError:
            return False
        finally:
            client.close()

    def all_messages(self):
        """Yields all messages of the maildir."""
        for folder in ("new", "cur"):
            directory = self.maildir / folder
            for path in sorted(directory.iterdir()) if directory.exists() else []:
                yield read_delivered(path.read_bytes())

    def messages(self, recipient):
        """Returns the delivered messages for a recipient."""
        return [one for one in self.all_messages() if one.recipient == recipient]

    def wait_for_message(self, recipient, seconds=20):
        """Waits for a message for `recipient`. A server delivers from its queue, after its 250 reply."""
        what = lambda: f"mail for {recipient} at {self.name}\n{self.log_tail()}"  # noqa: E731
        return wait_until(lambda: self.messages(recipient), seconds, what, pause_s=0.05)[0]

    def wait_for_report(self, address, seconds=20):
        """Waits for the delivery status about mail for `address`. Its envelope sender is empty."""
        about = re.compile(rb"(?i)final-recipient: *rfc822; *" + re.escape(address.encode()))
        what = lambda: f"a delivery status about {address} of {self.name}\n{self.log_tail()}"  # noqa: E731
        found = lambda: [one for one in self.all_messages() if not one.sender and about.search(one.content)]  # noqa: E731
        return wait_until(found, seconds, what, pause_s=0.05)[0]


def read_delivered(data):
    """Parses a maildir file: the headers of the server, up to and including Received, and the message."""
    text = data.replace(b"\r\n", b"\n")
    fields = {}
    while "received" not in fields and (found := ADDED.match(text)):
        fields.setdefault(found[1].decode().lower(), found[2].decode())
        text = text[found.end() :]
    recipients = [fields[name] for name in ("x-original-to", "envelope-to", "delivered-to") if name in fields]
    return Delivered(
        recipient=recipients[0] if recipients else "",
        sender=fields.get("return-path", "").strip("<>"),
        received=fields.get("received", ""),
        content=text.replace(b"\n", b"\r\n"),
    )
