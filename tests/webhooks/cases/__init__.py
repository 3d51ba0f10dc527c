"""The cases: functions that take the `World` and return their counts. Each name is a sentence."""

WAITING = []
LOADING = []


def case(function):
    """Registers a case that mostly waits. It runs concurrently with others."""
    WAITING.append(function)
    return function


def loads(function):
    """Registers a case that loads the machine. No other one of them runs at the same time."""
    LOADING.append(function)
    return function


def equal(actual, expected, what):
    """Asserts equality. The message contains both values."""
    assert actual == expected, f"{what}: expected {expected!r}, got {actual!r}"


def within(seconds, low, high, what):
    """Asserts that a wait that the server recorded is in `[low, high)`."""
    assert low <= seconds < high, f"{what}: expected {low} to {high} s, got {seconds} s"


from cases import answers, load, secure  # noqa: E402, F401
