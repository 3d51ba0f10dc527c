"""Receivers whose certificate a test root has issued."""

import base64
import http.server
import ssl
import threading

from cases import case, equal
from server import ROOT

FIXTURES = ROOT / "src" / "http_client" / "tests" / "fixtures"


class SecureReceiver:
    """A TLS receiver on loopback that returns 200 and counts requests."""

    def __init__(self, certificate, key):
        self.requests = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            timeout = 20

            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                outer.requests += 1
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_arguments):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            def handle_error(self, *_arguments):
                pass  # The client refuses the handshake.

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server = Listener(("127.0.0.1", 0), Handler)
        # The thread that reads the request does the handshake, not the thread that accepts connections.
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, name="secure", daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def write_pem(directory):
    """Writes the root, the certificate and the key of the TLS tests as PEM. Returns their paths."""
    paths = []
    for name, label in [("root", None), ("hook.example", None), ("hook.example.key", "PRIVATE KEY")]:
        der = (FIXTURES / f"{name}.der").read_bytes()
        path = directory / f"{name}.pem"
        if label is None:
            path.write_text(ssl.DER_cert_to_PEM_cert(der))
        else:
            path.write_text(f"-----BEGIN {label}-----\n{base64.encodebytes(der).decode()}-----END {label}-----\n")
        paths.append(path)
    return paths


@case
def an_untrusted_certificate_fails_until_its_root_is_configured(world):
    server = world.server("tls").start()
    root, certificate, key = write_pem(server.directory)
    receiver = SecureReceiver(certificate, key)
    try:
        endpoint = world.subscribe(server, receiver.url, "email.delivered")
        delivery = endpoint.send_test()
        first = endpoint.wait_for_attempts(delivery, 1)[0]
        sentence = "no secure connection could be made: the certificate is from an issuer that is not trusted"
        equal((first["http_status_code"], first["response"]), (0, sentence), "the attempt")
        equal(receiver.requests, 0, "requests over an untrusted connection")
        server.stop()
        server.extra += ["--webhook-ca-file", str(root)]
        server.start()
        endpoint.replay(delivery)
        endpoint.wait_for_success(delivery)
        equal([one["http_status_code"] for one in endpoint.attempts(delivery)][-1], 200, "the last attempt")
        # Two requests if the retry was due between the start and the replay.
        assert receiver.requests in (1, 2), f"{receiver.requests} requests over the trusted connection"
        server.stop()
    finally:
        receiver.stop()
    return "1 attempt failed with an error message and 0 requests, 1 delivered with --webhook-ca-file"
