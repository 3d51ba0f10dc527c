"""The customer's server of the webhook suite and bench: a small Go program, built once, told what to answer."""

import http.client
import json
import pathlib
import subprocess

from deadline import wait_until
from server import TARGET, free_port

SOURCE = pathlib.Path(__file__).resolve().parent / "receiver"
BUILD_SECONDS = 180


class Receiver:
    """A server on loopback that takes webhooks under /e/NAME, until it is stopped."""

    def __init__(self):
        binary = TARGET / "receiver"
        subprocess.run(["go", "build", "-o", binary, "."], cwd=SOURCE, check=True, timeout=BUILD_SECONDS)
        self.port = free_port()
        self.process = subprocess.Popen([binary, str(self.port)], start_new_session=True)
        wait_until(self._answers, 10, "the receiver to answer")

    def _answers(self):
        try:
            return self.report() is not None
        except OSError:
            return False

    def _ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body and json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == 200, text
            return json.loads(text)
        finally:
            connection.close()

    def url(self, name):
        return f"http://127.0.0.1:{self.port}/e/{name}"

    def tell(self, name, mode, **more):
        """How NAME answers from here on; see the program's `behaviour`."""
        self._ask("PUT", "/control", {name: {"mode": mode, **more}})

    def report(self):
        """NAME -> what it got."""
        return self._ask("GET", "/report")

    def of(self, name):
        nothing = {"requests": 0, "ids": 0, "answered": 0, "changed": 0, "verified": {}, "repeated": 0}
        return self.report().get(name, nothing)

    def bodies(self, name):
        """webhook-id -> `times` and `body`, of a NAME that was told secrets."""
        return self._ask("GET", f"/bodies/{name}")

    def of_all(self, names, field, wanted):
        """Whether each of the names has come to that number of a field."""
        report = self.report()
        return [report.get(name, {}).get(field) == wanted for name in names]

    def stop(self):
        self.process.kill()
        self.process.wait()
