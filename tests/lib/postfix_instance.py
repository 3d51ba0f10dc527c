"""A private instance of the installed Postfix, with its own configuration and queue."""

import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

# Services of master.cf that every instance needs.
SERVICES = (
    "cleanup unix n - n - 0 cleanup",
    "qmgr unix n - n 300 1 qmgr",
    "tlsmgr unix - - n 1000? 1 tlsmgr",
    "rewrite unix - - n - - trivial-rewrite",
    "bounce unix - - n - 0 bounce",
    "defer unix - - n - 0 bounce",
    "trace unix - - n - 0 bounce",
    "flush unix n - n 1000? 0 flush",
    "proxymap unix - - n - - proxymap",
    "error unix - - n - - error",
    "retry unix - - n - - error",
    "discard unix - - n - - discard",
    "anvil unix - - n - 1 anvil",
    "pickup unix n - n 60 1 pickup",
    "postlog unix-dgram n - n - 1 postlogd",
)


class PostfixInstance:
    """The directory of an instance and its processes. It starts only as root."""

    def __init__(self):
        # Not below target/: the unprivileged daemons of Postfix need access to all parent directories.
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="ringmail-postfix-"))
        self.config = self.directory / "etc"

    @staticmethod
    def missing():
        """Returns the reason why Postfix cannot run on this machine, `None` if it can."""
        if os.geteuid() != 0:
            return "Postfix starts only as root"
        if shutil.which("postfix", path=search_path()) is None:
            return "Postfix is not installed"
        return None

    def make_directories(self, *names):
        self.directory.chmod(0o755)
        for name in ("etc", "queue", "data", "log", *names):
            (self.directory / name).mkdir()
        os.chown(self.directory / "data", pwd.getpwnam("postfix").pw_uid, -1)

    def configure(self, settings, services):
        """Writes main.cf and master.cf. `settings` override the settings that all instances have."""
        common = {
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
            "smtpd_peername_lookup": "no",
            "smtpd_client_connection_count_limit": "0",
            "maillog_file": self.directory / "log" / "mail.log",
            "maillog_file_prefixes": self.directory,
        }
        lines = "".join(f"{name} = {value}\n" for name, value in {**common, **settings}.items())
        (self.config / "main.cf").write_text(lines)
        (self.config / "master.cf").write_text("\n".join([*services, ""]))

    def start(self):
        self.command("check")
        self.command("start")

    def stop(self):
        if (self.config / "main.cf").exists():
            self.command("stop", check=False)
        shutil.rmtree(self.directory, ignore_errors=True)

    def command(self, verb, check=True):
        """Runs `postfix VERB`."""
        # Postfix prints errors only to a terminal or to syslog. `script` provides a terminal.
        done = subprocess.run(
            ["script", "-qec", f"postfix -c {self.config} {verb}", "/dev/null"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
            env={**os.environ, "PATH": search_path(), "SHELL": "/bin/sh"},
        )  # fmt: skip
        if check and done.returncode != 0:
            raise AssertionError(f"postfix {verb} failed: {done.stderr}{done.stdout}\n{self.log_tail()}")

    def log_tail(self, lines=20):
        path = self.directory / "log" / "mail.log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else "(no log)"


def search_path():
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def default(name):
    """Returns a built-in default of this Postfix, such as the directory of its daemons."""
    done = subprocess.run(
        ["postconf", "-dh", name], capture_output=True, text=True, check=True,
        env={**os.environ, "PATH": search_path()},
    )  # fmt: skip
    return done.stdout.strip()
