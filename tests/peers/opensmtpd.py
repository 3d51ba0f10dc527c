"""A private OpenSMTPD, with its own configuration.

It offers neither PIPELINING nor SMTPUTF8. TLS handshakes with the package of Debian 12 fail, because OpenSMTPD 6.8 cannot
use the private key with OpenSSL 3. Each server that runs it fails in this way, so the cases expect clear text from it.
"""

from unpacked import UnpackedServer

CONFIGURATION = """
pki peer cert "/etc/peer.pem"
pki peer key "/etc/peer.key"
filter "replies" proc-exec "/replies"
smtp max-message-size "60M"
listen on {address} port {port} tls pki peer hostname opensmtpd.test filter "replies"
action "bounce" mda "exit 67" virtual {{ "@" = nobody }}
action "inbox" maildir "/mail/inbox" virtual {{ "@" = nobody }}
match from any for rcpt-to regex "^bounced[.]" action "bounce"
match from any for any action "inbox"
"""

# The protocol is that of smtpd-filters(7). A file below /seen marks a recipient that was greylisted.
FILTER = r"""#!/bin/sh
while IFS='|' read -r kind version time subsystem phase session token argument; do
    case "$kind|$version" in
    "config|ready")
        echo "register|filter|smtp-in|rcpt-to"
        echo "register|ready"
        ;;
    filter\|*)
        result=proceed
        case $argument in
        refused.*) result="reject|550 5.7.1 Access denied" ;;
        unknown.*) result="reject|550 5.1.1 No such mailbox" ;;
        greylisted.*)
            if ! [ -e "/seen/$argument" ]; then
                : >"/seen/$argument"
                result="reject|451 4.7.1 Greylisted, please try again later"
            fi
            ;;
        esac
        echo "filter-result|$session|$token|$result"
        ;;
    esac
done
"""


class OpenSmtpd(UnpackedServer):
    name = "opensmtpd"
    package = "opensmtpd"
    users = {"opensmtpd": 996, "opensmtpq": 995}
    directories = {"seen": "opensmtpd", "var/spool": "root", "var/lib/opensmtpd/empty": "root"}
    command = ("/usr/sbin/smtpd", "-d", "-f", "/etc/smtpd.conf")
    offers_smtputf8 = False
    reports_mailbox = False  # The status is 5.3.0, and the text is "exited abnormally".

    def files(self):
        return {
            "etc/smtpd.conf": (CONFIGURATION.format(address=self.address, port=self.port), 0o644),
            "etc/mailname": ("opensmtpd.test\n", 0o644),
            "replies": (FILTER, 0o755),
        }
