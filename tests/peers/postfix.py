"""A private Postfix instance with its own configuration and queue, on one loopback address.

It accepts mail for all addresses except `unknown…@` and delivers it to one maildir, which the cases read
byte for byte. For a recipient `bounced…@` it returns a delivery status instead.
"""

import dataclasses
import os
import pathlib
import pwd
import re
import shutil
import socket
import subprocess
import tempfile

from deadline import wait_until
from faults import certificate

# The local part selects the reply. Mail for other local parts is delivered.
ACCESS = """
/^refused[.@]/ 550 5.7.1 Access denied
/^greylisted[.@]/ 450 4.2.0 Greylisted, see http://postgrey.example/help
"""


@dataclasses.dataclass(frozen=True)
class Delivered:
    """One file of the maildir, without the header lines that Postfix added."""

    recipient: str
    sender: str
    received: str  # Received header of Postfix, which contains the protocol and the TLS version.
    content: bytes


class Postfix:
    def __init__(self, address, port):
        self.address, self.port = address, port
        # Not below target/: the unprivileged daemons of Postfix need access to all parent directories.
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="ringmail-postfix-"))
        self.config = self.directory / "etc"
        self.maildir = self.directory / "mail" / "inbox"

    @staticmethod
    def missing():
        """Returns the reason why Postfix cannot run on this machine, `None` if it can."""
        if os.geteuid() != 0:
            return "Postfix starts only as root"
        if shutil.which("postfix", path=search_path()) is None:
            return "Postfix is not installed"
        return None

    def start(self):
        self._configure()
        self._postfix("check")
        self._postfix("start")
        wait_until(self._listens, 20, lambda: f"Postfix to listen\n{self.log_tail()}")
        return self

    def stop(self):
        if (self.config / "main.cf").exists():
            self._postfix("stop", check=False)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _configure(self):
        owner = pwd.getpwnam("nobody")
        self.directory.chmod(0o755)
        for name in ("etc", "queue", "data", "mail", "log"):
            (self.directory / name).mkdir()
        os.chown(self.directory / "data", pwd.getpwnam("postfix").pw_uid, -1)
        os.chown(self.directory / "mail", owner.pw_uid, owner.pw_gid)
        pem, key = certificate(self.config)
        (self.config / "access").write_text(ACCESS)
        (self.config / "mailboxes").write_text("!/^unknown[.@]/ inbox/\n")
        (self.config / "transport").write_text("/^bounced[.@]/ nobody:\n")
        settings = {
            "compatibility_level": "3.6",
            "queue_directory": self.directory / "queue",
            "data_directory": self.directory / "data",
            "daemon_directory": default("daemon_directory"),
            "command_directory": default("command_directory"),
            "mail_owner": "postfix",
            "setgid_group": "postdrop",
            "myhostname": "postfix.test",
            "mydestination": "",
            "local_transport": "error:none",
            "mynetworks": "127.0.0.0/8",
            "inet_interfaces": "127.0.0.1",  # master.cf contains the address, because no interface has it.
            "inet_protocols": "ipv4",
            "alias_maps": "",
            "disable_dns_lookups": "yes",
            # All addresses of all domains use the same maildir.
            "virtual_mailbox_domains": "regexp:{{/./ ok}}",
            "virtual_mailbox_maps": f"regexp:{self.config}/mailboxes",
            "virtual_mailbox_base": self.directory / "mail",
            "virtual_minimum_uid": "1",
            "virtual_uid_maps": f"static:{owner.pw_uid}",
            "virtual_gid_maps": f"static:{owner.pw_gid}",
            "virtual_transport": "virtual",
            "transport_maps": f"regexp:{self.config}/transport",
            "smtpd_recipient_restrictions": f"check_recipient_access regexp:{self.config}/access, permit_mynetworks, reject",
            "smtpd_tls_security_level": "may",
            "smtpd_tls_cert_file": pem,
            "smtpd_tls_key_file": key,
            "smtpd_tls_received_header": "yes",
            "smtpd_peername_lookup": "no",
            "smtpd_client_connection_count_limit": "0",
            "local_header_rewrite_clients": "",  # Postfix adds no missing headers.
            "message_size_limit": "60000000",
            "mailbox_size_limit": "0",
            "virtual_mailbox_limit": "0",
            "maillog_file": self.directory / "log" / "mail.log",
            "maillog_file_prefixes": self.directory,
        }
        (self.config / "main.cf").write_text("".join(f"{name} = {value}\n" for name, value in settings.items()))
        (self.config / "master.cf").write_text(
            f"{self.address}:{self.port} inet n - n - - smtpd\n"
            "cleanup unix n - n - 0 cleanup\n"
            "qmgr unix n - n 300 1 qmgr\n"
            "tlsmgr unix - - n 1000? 1 tlsmgr\n"
            "rewrite unix - - n - - trivial-rewrite\n"
            "bounce unix - - n - 0 bounce\n"
            "defer unix - - n - 0 bounce\n"
            "trace unix - - n - 0 bounce\n"
            "flush unix n - n 1000? 0 flush\n"
            "proxymap unix - - n - - proxymap\n"
            "error unix - - n - - error\n"
            "retry unix - - n - - error\n"
            "discard unix - - n - - discard\n"
            "virtual unix - n n - - virtual\n"
            # 67 is EX_NOUSER of sysexits.h. Postfix reports it as 5.1.1.
            "nobody unix - n n - - pipe user=nobody argv=/bin/sh -c {exit 67}\n"
            "anvil unix - - n - 1 anvil\n"
            "pickup unix n - n 60 1 pickup\n"
            "postlog unix-dgram n - n - 1 postlogd\n"
        )

    def _postfix(self, verb, check=True):
        # Postfix prints errors only to a terminal or to syslog. `script` provides a terminal.
        done = subprocess.run(
            ["script", "-qec", f"postfix -c {self.config} {verb}", "/dev/null"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
            env={**os.environ, "PATH": search_path(), "SHELL": "/bin/sh"},
        )  # fmt: skip
        if check and done.returncode != 0:
            raise AssertionError(f"postfix {verb} failed: {done.stderr}{done.stdout}\n{self.log_tail()}")

    def _listens(self):
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex((self.address, self.port)) == 0

    def log_tail(self, lines=20):
        path = self.directory / "log" / "mail.log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else "(no log)"

    def all_messages(self):
        """Yields all messages of the maildir."""
        for folder in ("new", "cur"):
            directory = self.maildir / folder
            for path in sorted(directory.iterdir()) if directory.exists() else []:
                yield read_delivered(path.read_bytes())

    def messages(self, recipient):
        """Returns the delivered messages for a recipient."""
        return [one for one in self.all_messages() if one.recipient == recipient]

    def wait_for_report(self, address, seconds=20):
        """Waits for the delivery status about mail for `address`. Its envelope sender is empty."""
        about = f"Final-Recipient: rfc822; {address}".encode()
        return wait_until(
            lambda: [one for one in self.all_messages() if not one.sender and about in one.content],
            seconds, lambda: f"a delivery status about {address}\n{self.log_tail()}", pause_s=0.05,
        )[0]  # fmt: skip

    def wait_for_message(self, recipient, seconds=20):
        """Waits for a message for `recipient`. Postfix delivers from its queue, after its 250 reply."""
        return wait_until(
            lambda: self.messages(recipient), seconds, lambda: f"mail for {recipient}\n{self.log_tail()}", pause_s=0.05
        )[0]


def read_delivered(data):
    """Parses a maildir file. It starts with Return-Path, X-Original-To, Delivered-To and Received."""
    text = data.replace(b"\r\n", b"\n")
    fields = {}
    while True:
        found = re.match(rb"(Return-Path|X-Original-To|Delivered-To|Received):[ \t]*(.*(?:\n[ \t].*)*)\n", text)
        if not found:
            break
        fields.setdefault(found[1].decode(), found[2].decode())
        text = text[found.end() :]
    return Delivered(
        recipient=fields.get("X-Original-To", fields.get("Delivered-To", "")),
        sender=fields.get("Return-Path", "").strip("<>"),
        received=fields.get("Received", ""),
        content=text.replace(b"\n", b"\r\n"),
    )


def search_path():
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def default(name):
    """Returns a built-in default of this Postfix, such as the directory of its daemons."""
    done = subprocess.run(
        ["postconf", "-dh", name], capture_output=True, text=True, check=True,
        env={**os.environ, "PATH": search_path()},
    )  # fmt: skip
    return done.stdout.strip()
