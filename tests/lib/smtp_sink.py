"""`smtp-sink` of Postfix, a fast SMTP receiver, and the number of messages that it has received."""

import os
import re
import shutil
import socket
import subprocess
import threading
import time

from deadline import wait_until
from ports import free_port

PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


class SmtpSink:
    """Accepts and discards all messages. Counts them and records the times of the first and the last."""

    def __init__(self, port=None):
        self.port = port or free_port()
        self.count = 0
        self.first_at = self.last_at = None
        self.process = None

    @staticmethod
    def missing():
        return None if shutil.which("smtp-sink", path=PATH) else "smtp-sink of Postfix is not installed"

    def start(self):
        command = [shutil.which("smtp-sink", path=PATH), "-c"]
        if os.geteuid() == 0:
            command += ["-u", "nobody"]
        self.process = subprocess.Popen(
            [*command, f"127.0.0.1:{self.port}", "1024"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()
        wait_until(self._listens, 10, "smtp-sink to listen")
        return self

    def _listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def _watch(self):
        # smtp-sink prints "sess=N quit=N mesg=N" after every message. A read every 5 ms keeps the CPU
        # time of this thread low, because it shares the cores with the server under test.
        descriptor = self.process.stdout.fileno()
        while chunk := os.read(descriptor, 1 << 16):
            counts = re.findall(rb"mesg=(\d+)\r", chunk)
            if counts and int(counts[-1]) > self.count:
                self.last_at = time.monotonic()
                self.first_at = self.first_at or self.last_at
                self.count = int(counts[-1])
            time.sleep(0.005)

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
            self.thread.join(5)  # The thread ends after it has read the rest of the pipe.
            self.process.stdout.close()
            self.process = None
