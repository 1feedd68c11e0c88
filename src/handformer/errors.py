"""The error for what a user can do wrong."""


class InputError(ValueError):
    """One line: the thing that can't be used, its value, what was expected, and the cure."""
