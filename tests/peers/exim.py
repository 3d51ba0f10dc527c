"""A private Exim, with its own configuration."""

from unpacked import UnpackedServer

CONFIGURATION = r"""
primary_hostname = exim.test
local_interfaces = {address}
daemon_smtp_ports = {port}
spool_directory = /spool
log_file_path = /log/%slog
exim_path = /usr/sbin/exim4
never_users =
keep_environment =
host_lookup =
rfc1413_query_timeout = 0s
smtp_accept_max = 0
smtp_accept_queue_per_connection = 0
message_size_limit = 60M
tls_advertise_hosts = *
tls_certificate = /etc/peer.pem
tls_privatekey = /etc/peer.key
smtputf8_advertise_hosts = *
acl_smtp_rcpt = recipients
acl_smtp_data = messages

begin acl
recipients:
  deny local_parts = ^refused\\.
       message = 550 5.7.1 Access denied
  deny local_parts = ^unknown\\.
       message = 550 5.1.1 No such mailbox
  # The condition is false until a second after the first RCPT.
  defer local_parts = ^greylisted\\.
       !seen = -1s / key=$local_part@$domain
       message = 451 4.7.1 Greylisted, please try again later
  accept
messages:
  accept

begin routers
bounced:
  driver = redirect
  local_parts = ^bounced\\.
  allow_fail
  data = :fail: 550 5.1.1 No such mailbox
everyone:
  driver = accept
  transport = maildir

begin transports
maildir:
  driver = appendfile
  directory = /mail/inbox
  maildir_format
  user = nobody
  envelope_to_add
  return_path_add
"""


class Exim(UnpackedServer):
    name = "exim"
    package = "exim4-daemon-heavy"
    users = {"Debian-exim": 997}
    directories = {"spool": "Debian-exim", "log": "Debian-exim", "etc/exim4": "root"}
    command = ("/usr/sbin/exim4", "-bdf", "-q5s")
    key_owner = "Debian-exim"

    def files(self):
        # With `-C`, Exim gives up the privileges that it needs to deliver mail, so the file has the built-in name.
        text = CONFIGURATION.format(address=self.address, port=self.port)
        return {"etc/exim4/exim4.conf": (text, 0o644)}

    def log_tail(self, lines=20):
        texts = [path.read_text(errors="replace") for path in sorted((self.root / "log").glob("*log"))]
        return "\n".join([super().log_tail(lines), *"".join(texts).splitlines()[-lines:]])
