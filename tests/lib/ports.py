"""Free ports for the servers of the suites."""

import random
import socket

# Below the ports that Linux gives to outgoing connections (32,768 to 60,999), so that no connection takes the port
# before its server listens.
PORTS = range(15_000, 32_000)
ATTEMPTS = 100


def free_port(*addresses):
    """Returns a port that has no TCP or UDP socket on any of the addresses. The default address is 127.0.0.1.

    Another suite takes the same port at the same time only by chance.
    """
    addresses = addresses or ("127.0.0.1",)
    for _ in range(ATTEMPTS):
        port = random.choice(PORTS)
        if all(is_free(address, port) for address in addresses):
            return port
    raise AssertionError(f"no free port on {', '.join(addresses)}")


def is_free(address, port):
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        try:
            tcp.bind((address, port))
            udp.bind((address, port))
        except OSError:
            return False
        return True
