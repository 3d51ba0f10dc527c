"""An authoritative name server on loopback. The cases change its records while it runs."""

import threading

from dnslib import CNAME, MX, QTYPE, RCODE, RR, A, DNSError, DNSRecord
from dnslib.server import DNSHandler, DNSLogger, DNSServer

from ports import on_free_port

TTL_S = 60
HEADER_BYTES = 12  # RFC 1035 §4.1.1. The question follows.
PREPARED = ("MX", "A", "AAAA")  # Types of prepared responses.


class PreparedHandler(DNSHandler):
    """Sends a prepared response, if there is one. Thousands of lookups then do not wait for this process."""

    def get_reply(self, data):
        return self.server.resolver.prepared_response(data) or super().get_reply(data)


class Names:
    """DNS records by name. A name without records returns NXDOMAIN, a failing name SERVFAIL."""

    def __init__(self, address="127.0.0.1"):
        self.lock = threading.Lock()
        self.records = {}
        self.failing = set()
        self.prepared = {}  # Responses by (name, type).
        self.outage = None  # "silent": no responses. "failing": SERVFAIL for all names.
        self.queries = []
        port, self.servers = on_free_port(lambda port: self._listen(address, port), address)
        for server in self.servers:
            server.start_thread()
        self.address = f"{address}:{port}"

    def _listen(self, address, port):
        """Listens at one port of UDP and TCP, because a resolver repeats a query over TCP after a truncated response."""
        quiet = DNSLogger(log="-request,-reply,-truncated,-error,-data", prefix=False)
        opened = []
        try:
            for tcp in (False, True):
                opened.append(DNSServer(self, address=address, port=port, tcp=tcp, logger=quiet, handler=PreparedHandler))
        except OSError:
            for server in opened:
                server.server.server_close()
            raise
        return opened

    def stop(self):
        for server in self.servers:
            server.stop()
            server.server.server_close()

    def add(self, name, *data):
        """Adds records of any type to a name."""
        with self.lock:
            self.records.setdefault(name.lower(), []).extend(data)
            for kind in PREPARED:
                self.prepared.pop((name.lower(), kind), None)

    def host(self, name, address):
        self.add(name, A(address))

    def mail_host(self, domain, address, preference=10, host=None):
        """Adds an MX record to a domain, and an address record to its host, unless the host has it already."""
        host = host or f"mx.{domain}"
        self.add(domain, MX(host + ".", preference))
        if A(address) not in self.records.get(host.lower(), []):
            self.host(host, address)

    def alias(self, name, target):
        self.add(name, CNAME(target + "."))

    def refuse_mail(self, domain):
        """Adds a null MX (RFC 7505 §3): preference 0 and the root name."""
        self.add(domain, MX(".", 0))

    def fail(self, name):
        """Makes queries for a name fail with SERVFAIL until `recover`."""
        with self.lock:
            self.failing.add(name.lower())

    def recover(self, name):
        """Ends the failure of a name."""
        with self.lock:
            self.failing.discard(name.lower())

    def questions(self, name):
        """Returns the types of all queries for a name, oldest first."""
        with self.lock:
            return [kind for queried, kind in self.queries if queried == name.lower()]

    def prepare(self, domain):
        """Prepares the responses to the queries for the mail hosts of a domain. They must not be aliases."""
        hosts = [str(record.label).rstrip(".") for record in self.records[domain] if isinstance(record, MX)]
        with self.lock:
            for name, kind in [(domain, "MX"), *((host, kind) for host in hosts for kind in ("A", "AAAA"))]:
                response = self.response(DNSRecord.question(name, kind), name, kind)
                self.prepared[name, kind] = bytes(response.pack())

    def prepared_response(self, query):
        """Returns the prepared response to a query with its id and its spelling of the name; `None` without one."""
        labels, at = [], HEADER_BYTES
        while length := query[at]:
            labels.append(query[at + 1 : at + 1 + length].decode("ascii", "replace").lower())
            at += 1 + length
        name, kind, end = ".".join(labels), QTYPE.get(int.from_bytes(query[at + 1 : at + 3], "big")), at + 5
        with self.lock:
            response = None if self.outage or self.failing else self.prepared.get((name, kind))
            if response is not None:
                self.queries.append((name, kind))
        return response and query[:2] + response[2:HEADER_BYTES] + query[HEADER_BYTES:end] + response[end:]

    def resolve(self, request, handler):
        """Returns the response to a query. dnslib calls it."""
        question = request.q
        name = str(question.qname).rstrip(".").lower()
        kind = QTYPE[question.qtype]
        with self.lock:
            self.queries.append((name, kind))
            if self.outage == "silent":
                raise DNSError("no response")  # dnslib then sends nothing.
            return self.response(request, name, kind)

    def response(self, request, name, kind):
        """Returns the response from the records. The caller holds the lock."""
        reply = request.reply()
        if name in self.failing or self.outage == "failing":
            reply.header.rcode = RCODE.SERVFAIL
            return reply
        if name not in self.records and not any(known.endswith("." + name) for known in self.records):
            reply.header.rcode = RCODE.NXDOMAIN
            return reply
        # RFC 1034 §4.3.2: a response to a query for an alias contains the records of its target.
        for _ in range(8):
            records = self.records.get(name, [])
            link = next((record for record in records if isinstance(record, CNAME)), None)
            if link is None or kind == "CNAME":
                break
            reply.add_answer(RR(name, QTYPE.CNAME, rdata=link, ttl=TTL_S))
            name = str(link.label).rstrip(".").lower()
        for record in self.records.get(name, []):
            if type(record).__name__ == kind:
                reply.add_answer(RR(name, request.q.qtype, rdata=record, ttl=TTL_S))
        return reply
