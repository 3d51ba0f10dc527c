"""Mail servers from Debian packages that conflict with Postfix. They are unpacked and run in a root directory of their own.

`unpack_package` of tests/lib/setup.sh has unpacked each package, with the libraries of its programs, below
`target/unpacked`. chroot gives a server the paths that are compiled into it, and users that the machine does not have.
"""

import os
import shutil
import signal
import stat
import subprocess

from faults import certificate
from mail_server import MailServer
from server import TARGET

UNPACKED = TARGET / "unpacked"
STOP_SECONDS = 10


class UnpackedServer(MailServer):
    """A server in a root directory. A subclass names its package, its users, its directories and its files."""

    package = ""
    users = {}  # User id by name. Each user has a group with the same name and id.
    directories = {}  # Owner by path of each directory that the server needs.
    command = ()
    key_owner = "root"  # User that reads the private key.

    def __init__(self, address, port, directory):
        self.root = directory / self.name
        super().__init__(address, port, self.root / "mail" / "inbox")
        self.log_path = directory / f"{self.name}.log"
        self.process = None

    @classmethod
    def is_unpacked(cls):
        return (UNPACKED / f"{cls.package}.complete").exists()

    def files(self):
        """Returns the text and the mode of each file of the configuration by its path."""
        raise NotImplementedError

    def launch(self):
        # Hard links save the copy: the server changes none of these files.
        shutil.copytree(UNPACKED / self.package, self.root, symlinks=True, copy_function=os.link)
        self.root.chmod(0o755)
        users = {"root": 0, "nobody": 65534, **self.users}
        common = {"mail": "nobody", "mail/inbox": "nobody", "tmp": "nobody", "run": "root"}
        for path, owner in {**common, **self.directories}.items():
            (self.root / path).mkdir(parents=True, exist_ok=True)
            os.chown(self.root / path, users[owner], users[owner])
        if not (self.root / "var" / "run").exists():
            (self.root / "var" / "run").symlink_to("../run")
        (self.root / "dev").mkdir()
        os.mknod(self.root / "dev" / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        (self.root / "dev" / "null").chmod(0o666)
        etc = self.root / "etc"
        etc.mkdir(exist_ok=True)
        self._write("etc/passwd", "".join(f"{name}:x:{number}:{number}::/:/bin/sh\n" for name, number in users.items()))
        self._write("etc/group", "".join(f"{name}:x:{number}:\n" for name, number in users.items()))
        self._write("etc/hosts", "127.0.0.1 localhost\n")
        _, key = certificate(etc)
        key.chmod(0o600)
        os.chown(key, users[self.key_owner], -1)
        for path, (text, mode) in self.files().items():
            self._write(path, text, mode)
        self._spawn()

    def _write(self, path, text, mode=0o644):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)  # The package may have a file with this name, which is a hard link.
        target.write_text(text)
        target.chmod(mode)

    def _spawn(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                ["chroot", self.root, *self.command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, env={"PATH": "/usr/sbin:/usr/bin"},
            )  # fmt: skip

    def stop(self):
        if self.process is not None:
            # The daemons of the server are in its session, and a queue run can still be in progress.
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
            self.process = None
        shutil.rmtree(self.root, ignore_errors=True)

    def log_tail(self, lines=20):
        if not self.log_path.exists():
            return "(no log)"
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])
