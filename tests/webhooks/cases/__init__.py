"""The cases, each a function that takes the `World`, returns its counts, and whose name is a sentence."""

TOGETHER = []
ALONE = []


def case(function):
    """Registers a case that mostly waits."""
    TOGETHER.append(function)
    return function


def alone(function):
    """Registers a case that loads the machine."""
    ALONE.append(function)
    return function


def equal(actual, expected, what):
    """Asserts equality and says both sides."""
    assert actual == expected, f"{what}: expected {expected!r}, got {actual!r}"


def within(seconds, low, high, what):
    """Asserts that a wait which the server wrote down lies in `[low, high)`."""
    assert low <= seconds < high, f"{what}: expected {low} to {high} s, got {seconds} s"


from cases import answers, load, secure  # noqa: E402, F401
