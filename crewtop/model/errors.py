"""Errors that cross rooms. Each message is one line: the thing, the value, what is allowed, the next step."""


class CrewtopError(Exception):
    """A mistake that a user can mend; shown without a traceback."""


class Unavailable(CrewtopError):
    """A store cannot answer now; the message says which and why."""


class Refused(CrewtopError, ValueError):
    """Input that is refused before anything is written."""


class TerminalError(Exception):
    """A failure of a run that another attempt would meet again. Its message is made for operators."""
