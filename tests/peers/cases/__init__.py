"""The cases, each a function that takes the `World` and whose name is a sentence."""

CASES = []


def case(function):
    """Registers a case."""
    CASES.append(function)
    return function


def equal(actual, expected, what):
    """Asserts equality and says both sides."""
    assert actual == expected, f"{what}: expected {expected!r}, got {actual!r}"


from cases import composed, postfix_cases, replies, routing, sessions, stopping  # noqa: E402, F401
