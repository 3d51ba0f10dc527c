"""Free ports for the servers of the suites."""

import random
import socket

# Below the ports that Linux gives to outgoing connections (32,768 to 60,999), so that no connection takes the port
# before its server listens.
PORTS = range(15_000, 32_000)
ATTEMPTS = 100
# Marks of the ports that this process has reserved.
RESERVED = []


def free_port(*addresses):
    """Returns a port that has no TCP or UDP socket on any of the addresses. The default address is 127.0.0.1.

    No other call returns it until this process ends, also in another suite: a server that restarts needs its port again.
    """
    addresses = addresses or ("127.0.0.1",)
    for _ in range(ATTEMPTS):
        port = random.choice(PORTS)
        if all(is_free(address, port) for address in addresses) and reserve(port):
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


def reserve(port):
    """Reserves a port for this process. Returns False if a process has reserved it."""
    mark = socket.socket(socket.AF_UNIX)
    try:
        # A name that begins with NUL is no file, and is free again when the process has ended.
        mark.bind(f"\0ringmail-test-port-{port}")
    except OSError:
        mark.close()
        return False
    RESERVED.append(mark)
    return True
