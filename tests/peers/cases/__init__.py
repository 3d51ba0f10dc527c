"""The cases: functions that take the `World`. Each name is a sentence."""

CASES = []


def case(function):
    """Registers a case."""
    CASES.append(function)
    return function


def case_of_each_server(function):
    """Registers a case for each mail server: Postfix, Exim and OpenSMTPD. The function takes the server too."""
    for name in ("postfix", "exim", "opensmtpd"):

        def run(world, name=name):
            function(world, world.mail_servers[name])

        run.__name__ = f"{function.__name__}: {name}"
        run.server = name
        CASES.append(run)
    return function


def equal(actual, expected, what):
    """Asserts equality. The message contains both values."""
    assert actual == expected, f"{what}: expected {expected!r}, got {actual!r}"


from cases import composed, mail_servers, replies, routing, sessions, stopping  # noqa: E402, F401
