"""How lengths of time are said. Unknown is '?', nothing to say is '-'."""

from __future__ import annotations

import math
import re

UNKNOWN = "?"
NOTHING = "-"

UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
"""Seconds of each unit, as one types them."""

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3_600, 86_400, 31_536_000


def duration(seconds: float | None) -> str:
    """A length of time or an age, in at most two units: '40ms', '0.2s', '9s', '4m12s', '2h05m', '3d4h', '12y'.

    What lies in the future reads 'in 1d'. None is '-'; what is no number is '?'.
    """
    if seconds is None:
        return NOTHING
    if math.isnan(seconds):
        return UNKNOWN
    if seconds <= -0.0005:
        return "in " + _length(-seconds)
    return _length(max(seconds, 0.0))


def seconds_of(typed: str) -> int | None:
    """A duration as one types it, such as 90s, 5m, 2h, 3d or 1w, in seconds; None where it is none."""
    match = re.fullmatch(r"([0-9]{1,10})([smhdw])", typed)
    return int(match[1]) * UNITS[match[2]] if match else None


def coarse(age: float) -> str:
    """An age in steps of 10 s, then minutes, then ten minutes, then hours.

    Ages grow while nothing happens. In steps they leave an idle screen alone: it sends no bytes between them.
    """
    if age < 10:
        return "<10s"
    step = 10 if age < 60 else 60 if age < 3_600 else 600 if age < 86_400 else 3_600
    return duration(age // step * step)


def left(seconds: float) -> str:
    """What is left of a time, in steps of 10 s, then minutes, as coarse is: '30s' from 30 s down to just above 20 s."""
    step = 10 if seconds <= 60 else 60
    return duration(float(-(-max(seconds, 1.0) // step) * step))


def countdown(seconds: float) -> str:
    """What is left of a wait, to the second, rounded up: '00:27', '05:00', '1:02:03'."""
    whole = math.ceil(max(0.0, min(seconds, float(_YEAR))))
    hours = f"{whole // _HOUR}:" if whole >= _HOUR else ""
    return f"{hours}{whole % _HOUR // _MINUTE:02}:{whole % _MINUTE:02}"


def _length(seconds: float) -> str:
    if seconds < 0.0995:
        milliseconds = round(seconds * 1_000)
        return f"{milliseconds}ms" if milliseconds else "0s"
    if seconds < 9.95:
        return f"{seconds:.1f}".removesuffix(".0") + "s"
    if seconds >= 1_000 * _YEAR:
        return ">999y"
    return _two_units(int(seconds + 0.05))


def _two_units(seconds: int) -> str:
    if seconds < _MINUTE:
        return f"{seconds}s"
    if seconds < _HOUR:
        major, minor = f"{seconds // _MINUTE}m", f"{seconds % _MINUTE:02}s"
    elif seconds < _DAY:
        major, minor = f"{seconds // _HOUR}h", f"{seconds % _HOUR // _MINUTE:02}m"
    elif seconds < 100 * _DAY:
        major, minor = f"{seconds // _DAY}d", f"{seconds % _DAY // _HOUR}h"
    elif seconds < 2 * _YEAR:
        return f"{seconds // _DAY}d"
    else:
        return f"{seconds // _YEAR}y"
    return major if int(minor[:-1]) == 0 else major + minor
