"""An HTTP server on loopback that stores the requests it receives, with unchanged bodies."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Delivery:
    def __init__(self, path, headers, body):
        self.path = path
        self.headers = headers
        # The API shows the id without the prefix.
        self.id = headers.get("svix-id", "").removeprefix("msg_")
        self.body = body
        self.event = json.loads(body)


class Receiver:
    def __init__(self):
        self.deliveries = []
        self.responses = {}
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.deliveries.append(Delivery(self.path, headers, body))
                status, text = receiver.responses.get(self.path, (200, "received"))
                self.send_response(status)
                self.send_header("content-type", "text/plain")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def url(self, path):
        return f"http://127.0.0.1:{self.server.server_port}{path}"

    def at(self, path):
        return [delivery for delivery in list(self.deliveries) if delivery.path == path]

    def until(self, path, accept, timeout_s=60):
        """Polls until `accept` returns true for the deliveries to `path`. Returns them."""
        deadline = time.monotonic() + timeout_s
        while not accept(deliveries := self.at(path)):
            seen = [delivery.event["type"] for delivery in deliveries]
            assert time.monotonic() < deadline, f"not all deliveries within {timeout_s} s; received {seen}"
            time.sleep(0.02)
        return deliveries


def types_of(deliveries):
    return {delivery.event["type"] for delivery in deliveries}
