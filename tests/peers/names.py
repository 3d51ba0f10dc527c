"""An authoritative name server on loopback whose answers the cases write while it runs."""

import threading

from dnslib import CNAME, MX, QTYPE, RCODE, RR, A
from dnslib.server import DNSLogger, DNSServer

TTL_S = 60


class Names:
    """Records by name. A name without records is NXDOMAIN; a broken name is SERVFAIL."""

    def __init__(self, address="127.0.0.1"):
        self.lock = threading.Lock()
        self.records = {}
        self.broken = set()
        self.asked = []
        quiet = DNSLogger(log="-request,-reply,-truncated,-error,-data", prefix=False)
        # One port for both transports: a resolver repeats over TCP what was cut short over UDP.
        udp = DNSServer(self, address=address, port=0, logger=quiet)
        port = udp.server.server_address[1]
        tcp = DNSServer(self, address=address, port=port, tcp=True, logger=quiet)
        self.servers = [udp, tcp]
        for server in self.servers:
            server.start_thread()
        self.address = f"{address}:{port}"

    def stop(self):
        for server in self.servers:
            server.stop()
            server.server.server_close()

    def add(self, name, *data):
        """Adds records of any type to `name`."""
        with self.lock:
            self.records.setdefault(name.lower(), []).extend(data)

    def host(self, name, address):
        self.add(name, A(address))

    def mail_host(self, domain, address, preference=10, host=None):
        """Points mail for `domain` at one host with one address."""
        host = host or f"mx.{domain}"
        self.add(domain, MX(host + ".", preference))
        self.host(host, address)

    def alias(self, name, target):
        self.add(name, CNAME(target + "."))

    def refuse_mail(self, domain):
        """RFC 7505 §3: one MX record of preference 0 and the root name."""
        self.add(domain, MX(".", 0))

    def break_name(self, name):
        with self.lock:
            self.broken.add(name.lower())

    def mend_name(self, name):
        with self.lock:
            self.broken.discard(name.lower())

    def questions(self, name):
        """The types asked for `name` so far, in order."""
        with self.lock:
            return [kind for asked, kind in self.asked if asked == name.lower()]

    def resolve(self, request, handler):
        """Called by dnslib for every query."""
        question = request.q
        name = str(question.qname).rstrip(".").lower()
        kind = QTYPE[question.qtype]
        reply = request.reply()
        with self.lock:
            self.asked.append((name, kind))
            if name in self.broken:
                reply.header.rcode = RCODE.SERVFAIL
                return reply
            if name not in self.records and not any(held.endswith("." + name) for held in self.records):
                reply.header.rcode = RCODE.NXDOMAIN
                return reply
            # RFC 1034 §4.3.2: an alias is answered together with what it leads to.
            for _ in range(8):
                held = self.records.get(name, [])
                link = next((record for record in held if isinstance(record, CNAME)), None)
                if link is None or kind == "CNAME":
                    break
                reply.add_answer(RR(name, QTYPE.CNAME, rdata=link, ttl=TTL_S))
                name = str(link.label).rstrip(".").lower()
            for record in self.records.get(name, []):
                if type(record).__name__ == kind:
                    reply.add_answer(RR(name, question.qtype, rdata=record, ttl=TTL_S))
        return reply
