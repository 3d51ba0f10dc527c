"""A private Postfix that delivers to a maildir, on one loopback address."""

import os
import pwd
import socketserver
import threading

from faults import certificate
from mail_server import MailServer
from postfix_instance import SERVICES, PostfixInstance

ACCESS = "/^refused[.@]/ 550 5.7.1 Access denied\n"


class Greylisting(socketserver.ThreadingTCPServer):
    """A policy server of Postfix (SMTPD_POLICY_README) that refuses the first RCPT of each recipient `greylisted…@`."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Policy)
        self.seen = set()
        threading.Thread(target=self.serve_forever, name="greylisting", daemon=True).start()

    def action(self, recipient):
        if not recipient.startswith("greylisted.") or recipient in self.seen:
            return "DUNNO"
        self.seen.add(recipient)
        return "451 4.7.1 Greylisted, please try again later"


class Policy(socketserver.StreamRequestHandler):
    """One connection of Postfix: requests of `name=value` lines, each ended by an empty line."""

    def handle(self):
        attributes = {}
        for line in self.rfile:
            name, _, value = line.decode().rstrip("\n").partition("=")
            if name:
                attributes[name] = value
                continue
            self.wfile.write(f"action={self.server.action(attributes['recipient'])}\n\n".encode())
            attributes = {}


class Postfix(MailServer):
    name = "postfix"

    def __init__(self, address, port):
        self.instance = PostfixInstance()
        super().__init__(address, port, self.instance.directory / "mail" / "inbox")
        self.greylisting = Greylisting()

    def launch(self):
        owner, config = pwd.getpwnam("nobody"), self.instance.config
        self.instance.make_directories("mail")
        os.chown(self.instance.directory / "mail", owner.pw_uid, owner.pw_gid)
        pem, key = certificate(config)
        (config / "access").write_text(ACCESS)
        (config / "mailboxes").write_text("!/^unknown[.@]/ inbox/\n")
        (config / "transport").write_text("/^bounced[.@]/ nobody:\n")
        settings = {
            # All addresses of all domains use the same maildir.
            "virtual_mailbox_domains": "regexp:{{/./ ok}}",
            "virtual_mailbox_maps": f"regexp:{config}/mailboxes",
            "virtual_mailbox_base": self.instance.directory / "mail",
            "virtual_minimum_uid": "1",
            "virtual_uid_maps": f"static:{owner.pw_uid}",
            "virtual_gid_maps": f"static:{owner.pw_gid}",
            "virtual_transport": "virtual",
            "transport_maps": f"regexp:{config}/transport",
            "smtpd_recipient_restrictions": (
                f"check_recipient_access regexp:{config}/access, "
                f"check_policy_service inet:127.0.0.1:{self.greylisting.server_address[1]}, permit_mynetworks, reject"
            ),
            "smtpd_tls_security_level": "may",
            "smtpd_tls_cert_file": pem,
            "smtpd_tls_key_file": key,
            "smtpd_tls_received_header": "yes",
            "local_header_rewrite_clients": "",  # Postfix adds no missing headers.
            "message_size_limit": "60000000",
            "mailbox_size_limit": "0",
            "virtual_mailbox_limit": "0",
        }
        services = [
            f"{self.address}:{self.port} inet n - n - - smtpd",
            "virtual unix - n n - - virtual",
            # 67 is EX_NOUSER of sysexits.h. Postfix reports it as 5.1.1.
            "nobody unix - n n - - pipe user=nobody argv=/bin/sh -c {exit 67}",
            *SERVICES,
        ]
        self.instance.configure(settings, services)
        self.instance.start()

    def stop(self):
        self.greylisting.shutdown()
        self.greylisting.server_close()
        self.instance.stop()

    def log_tail(self, lines=20):
        return self.instance.log_tail(lines)
