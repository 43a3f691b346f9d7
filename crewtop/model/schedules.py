"""When a recurring task is due: cron expressions in a time zone, and what becomes of ticks that were missed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

Missed = Literal["skip", "once", "all"]
"""What becomes of ticks that passed while nobody looked: none, one task for all of them, or a task for each."""

MISSED_AFTER = timedelta(seconds=60)
"""A tick that is seen later than this was missed: workers look at the second, and a short outage is no miss."""

MOST_MADE_UP = 100
"""How many missed ticks are made up under "all": the newest ones."""

FIELDS = "minute 0-59, hour 0-23, day of month 1-31, month 1-12, day of week 0-7 (0 and 7 are Sunday)"


def ticks(cron: str, zone: str, after: datetime) -> Iterator[datetime]:
    """The ticks that come after an instant, in UTC, each once and in order.

    Summer time is dealt with as Debian's cron does it: what is due at an hour that the clock skips runs when it has
    skipped it; what is due at an hour that the clock repeats runs once, unless it is due every hour or minute anyway.
    """
    last = after
    for tick in CronSim(cron, after.astimezone(_zone(zone))):
        at = tick.astimezone(UTC)
        # Two local times may fall on one instant, and a repeated hour is gone through from its start.
        if at > last:
            last = at
            yield at


def due(cron: str, zone: str, missed: Missed, since: datetime, now: datetime) -> list[datetime]:
    """The ticks to put in now, where since is the first that has not been put in yet. None may be due at all."""
    if missed == "skip":
        return list(_between(cron, zone, max(since, now - MISSED_AFTER), now))
    return list(deque(_between(cron, zone, since, now), 1 if missed == "once" else MOST_MADE_UP))


def check(cron: str, zone: str) -> None:
    """Raise ValueError, saying what is allowed, for what is no cron expression of five fields, or no time zone."""
    try:
        _zone(zone)
    except (LookupError, ValueError, OSError):
        raise ValueError(f'zone {zone!r} is unknown: use an IANA name such as "Europe/Berlin", or "UTC"') from None
    wrong = None if len(cron.split()) == 5 else f"{len(cron.split())} fields"
    try:
        if wrong is None and next(ticks(cron, zone, datetime.now(UTC)), None) is None:
            wrong = "it never comes"
    except CronSimError as error:
        wrong = str(error)
    if wrong is not None:
        raise ValueError(f"cron {cron!r} cannot be used ({wrong}): use five fields, {FIELDS}")


def _between(cron: str, zone: str, since: datetime, now: datetime) -> Iterator[datetime]:
    for tick in ticks(cron, zone, since - timedelta(seconds=1)):
        if tick > now:
            return
        yield tick


def _zone(name: str) -> tzinfo:
    # CronSim goes through plain UTC ten times as fast.
    return UTC if name == "UTC" else ZoneInfo(name)
