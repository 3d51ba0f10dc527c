"""The cases: functions that take the `World`. Each name is a sentence."""

CASES = []


def case(function):
    """Registers a case."""
    CASES.append(function)
    return function


def equal(actual, expected, what):
    """Asserts equality. The message contains both values."""
    assert actual == expected, f"{what}: expected {expected!r}, got {actual!r}"


from cases import composed, postfix_cases, replies, routing, sessions, stopping  # noqa: E402, F401
