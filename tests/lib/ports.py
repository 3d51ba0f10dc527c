"""Free ports for the servers of the suites."""

import errno
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
        # Reserved first: `is_free` binds the port, which must not be that of a server that is about to listen.
        if reserve(port) and all(is_free(address, port) for address in addresses):
            return port
    raise AssertionError(f"no free port on {', '.join(addresses)}")


def on_free_port(listen, *addresses):
    """Calls `listen(port)` with a free port of the addresses. Returns the port and the result.

    A resolver sends its queries from random ports. It can take the port before `listen` binds it: then another port is
    tried. `listen` must close what it has opened when it fails.
    """
    for _ in range(ATTEMPTS):
        port = free_port(*addresses)
        try:
            return port, listen(port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    raise AssertionError(f"no port to listen at on {', '.join(addresses)}")


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
