"""The webhook receiver of the webhook suite and bench: a small Go program with configurable responses."""

import http.client
import json
import pathlib
import subprocess

from deadline import wait_until
from ports import free_port
from server import TARGET

SOURCE = pathlib.Path(__file__).resolve().parent / "receiver"
BUILD_SECONDS = 180


class Receiver:
    """A server on loopback that accepts webhooks under /e/NAME until it is stopped."""

    def __init__(self):
        binary = TARGET / "receiver"
        subprocess.run(["go", "build", "-o", binary, "."], cwd=SOURCE, check=True, timeout=BUILD_SECONDS)
        self.port = free_port()
        self.process = subprocess.Popen([binary, str(self.port)], start_new_session=True)
        wait_until(self._is_ready, 10, "the receiver to respond")

    def _is_ready(self):
        try:
            return self.report() is not None
        except OSError:
            return False

    def _request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body and json.dumps(body))
            response = connection.getresponse()
            text = response.read()
            assert response.status == 200, text
            return json.loads(text)
        finally:
            connection.close()

    def url(self, name):
        return f"http://127.0.0.1:{self.port}/e/{name}"

    def configure(self, name, mode, **more):
        """Sets the responses of NAME. The fields are those of `behaviour` in receiver/main.go."""
        self._request("PUT", "/control", {name: {"mode": mode, **more}})

    def report(self):
        """Returns the counts of each NAME that was configured or has received a request."""
        return self._request("GET", "/report")

    def counts(self, name):
        """Returns the counts of one NAME, zero before its first request."""
        zero = {"requests": 0, "ids": 0, "answered": 0, "changed": 0, "verified": {}, "repeated": 0}
        return self.report().get(name, zero)

    def bodies(self, name):
        """Returns `times` and `body` by webhook-id. Empty for a NAME that was configured without secrets."""
        return self._request("GET", f"/bodies/{name}")

    def matches(self, names, field, expected):
        """Returns for each name whether this field of its counts equals `expected`."""
        report = self.report()
        return [report.get(name, {}).get(field) == expected for name in names]

    def stop(self):
        self.process.kill()
        self.process.wait()
