"""Instants of a recording as people type them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from crewtop.model.errors import CrewtopError

_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?(Z?)", re.ASCII)


class InstantError(CrewtopError):
    """What was typed is no instant, or not one of the recording; in one line."""


def instant_of(typed: str, begin: datetime, end: datetime, *, utc: bool = True) -> datetime:
    """The instant that is meant by 14:03, 14:03:10 or a date and time, in UTC or in this machine's time.

    A time alone is the newest one between begin and end. Raises InstantError where there is none between these.
    """
    typed = typed.strip()
    found = _of_time(typed, begin, end, utc=utc) if _TIME.fullmatch(typed) else _of_date(typed, utc=utc)
    if not begin - timedelta(seconds=1) < found < end + timedelta(seconds=1):
        raise InstantError(f"{typed} is not in the recording: it holds {_said(begin, utc)} to {_said(end, utc)}")
    return max(begin, min(found, end))


def _of_time(typed: str, begin: datetime, end: datetime, *, utc: bool) -> datetime:
    match = _TIME.fullmatch(typed)
    assert match is not None
    zone = UTC if utc or match[4] else None
    last = end.astimezone(zone)
    try:
        found = last.replace(hour=int(match[1]), minute=int(match[2]), second=int(match[3] or 0), microsecond=0)
    except ValueError:
        raise InstantError(f"{typed} is no time of day: use one from 00:00 to 23:59:59") from None
    return (
        found - timedelta(days=1) if found > end and found - timedelta(days=1) > begin - timedelta(seconds=1) else found
    )


def _of_date(typed: str, *, utc: bool) -> datetime:
    try:
        found = datetime.fromisoformat(typed)
    except ValueError:
        raise InstantError(f"{typed!r} is no time: use one like 14:03:10 or 2026-12-24T18:00:00") from None
    if found.tzinfo is None:
        return found.replace(tzinfo=UTC) if utc else found.astimezone()
    return found


def _said(at: datetime, utc: bool) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}" if utc else f"{at.astimezone():%Y-%m-%d %H:%M:%S}"
