"""Instants of a recording as people type them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta

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
    in_utc = utc or bool(match[4])
    try:
        clock = time(int(match[1]), int(match[2]), int(match[3] or 0))
    except ValueError:
        raise InstantError(f"{typed} is no time of day: use one from 00:00 to 23:59:59") from None
    last = end.astimezone(UTC if in_utc else None).date()
    newest, before = (_zoned(datetime.combine(last - timedelta(days=back), clock), in_utc) for back in (0, 1))
    return before if newest > end and before > begin - timedelta(seconds=1) else newest


def _of_date(typed: str, *, utc: bool) -> datetime:
    try:
        found = datetime.fromisoformat(typed)
        return _zoned(found, utc) if found.tzinfo is None else found
    except (ValueError, OverflowError):
        raise InstantError(f"{typed!r} is no time: use one like 14:03:10 or 2026-12-24T18:00:00") from None


def _zoned(told: datetime, utc: bool) -> datetime:
    return told.replace(tzinfo=UTC) if utc else told.astimezone()


def _said(at: datetime, utc: bool) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}" if utc else f"{at.astimezone():%Y-%m-%d %H:%M:%S}"
