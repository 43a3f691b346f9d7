"""Sizes and lengths of time as people type them."""

from __future__ import annotations

import re

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE | re.ASCII)
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)", re.IGNORECASE | re.ASCII)
_THOUSANDS = " kmgt"
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


def size_of(typed: str) -> int:
    """Bytes of a text such as '500 MB', '2G' or '1048576'; a kilobyte is 1,000. Raises ValueError."""
    match = _SIZE.fullmatch(typed.strip())
    if match is None:
        raise ValueError(f"{typed!r} is no size: use one such as 500 MB or 2 GB")
    return int(float(match[1]) * 1_000 ** (_THOUSANDS.index(match[2].lower()) if match[2] else 0))


def length_of(typed: str) -> float:
    """Seconds of a text such as '90', '30s', '10m', '1h' or '2d'. Raises ValueError."""
    match = _LENGTH.fullmatch(typed.strip())
    if match is None:
        raise ValueError(f"{typed!r} is no length of time: use one such as 30s, 10m or 1h")
    return float(match[1]) * _SECONDS[match[2].lower()]
