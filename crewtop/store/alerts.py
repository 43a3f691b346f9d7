"""Alerts as the database keeps them: who judges, how they stand, what is to be delivered, what is silenced."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import asyncpg

from crewtop.model.alerts import Alert, Event, Silence, Step
from crewtop.store.database import Database, columns, statement

RETRY_SECONDS = (20.0, 300.0)
"""After a failed delivery, doubling from the first to the second."""

OWED_SECONDS = 86_400.0
"""What could not be delivered for a day is given up."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to be delivered to a target of [alerts.deliver], by its name. delivered: that was done already."""

    alert: Alert
    event: Event
    target: str
    delivered: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    """An alert with how many of its notices were not delivered, and the last error of those."""

    alert: Alert
    undelivered: int
    error: str | None


@dataclass(frozen=True, slots=True)
class Listing:
    """Alerts and silences as they stand at an instant of the database's clock.

    judge: the worker that judges then, if any; judge_delivers: it has [alerts.deliver].
    """

    at: datetime
    alerts: tuple[Listed, ...]
    silences: tuple[Silence, ...]
    judge: str | None = None
    judge_delivers: bool = False


async def take_watch(database: Database, worker_id: str, seconds: float, *, delivers: bool) -> bool:
    """Whether this worker, which has sent a heartbeat, is the one that judges for the next so many seconds."""
    row = await database.fetchrow("take_watch", worker_id, seconds, delivers)
    return row is not None and bool(row["mine"])


async def release_watch(database: Database, worker_id: str) -> None:
    """Let another worker judge at once."""
    await database.fetch("release_watch", worker_id)


async def write(database: Database, worker_id: str, step: Step, notices: Sequence[Notice]) -> bool:
    """Write what a look changed, in one transaction; answers False, and writes nothing, where another judges now.

    The end of an alert is owed to whoever its beginning was.
    """
    async with database.connection() as connection, connection.transaction():
        if not await connection.fetchval(statement("hold_watch"), worker_id):
            return False
        if step.dropped:
            await connection.execute(statement("drop_alerts"), list(step.dropped))
        await _put(connection, step.changed, notices)
    return True


async def write_ended(database: Database, ended: Sequence[Alert], notices: Sequence[Notice]) -> None:
    """Write alerts that have ended, whoever judges now: they stand in nobody's way. Ends are owed as by write."""
    async with database.connection() as connection, connection.transaction():
        await _put(connection, ended, notices)


async def _put(
    connection: asyncpg.Connection[asyncpg.Record], alerts: Sequence[Alert], notices: Sequence[Notice]
) -> None:
    if alerts:
        await connection.execute(statement("put_alerts"), json.dumps([_data(each) for each in alerts]))
    if notices:
        rows = [(notice.alert.id, notice.event, notice.target, notice.delivered) for notice in notices]
        await connection.execute(statement("owe_notices"), *columns(rows, 4))
    if ended := [each.id for each in alerts if each.state == "ended"]:
        await connection.execute(statement("owe_ends"), ended)


async def take_notices(database: Database, target: str, limit: int) -> list[Notice]:
    """At most so many that are due for a target, each taken by one caller, and due again later unless it is marked."""
    rows = await database.fetch("take_notices", target, limit, *RETRY_SECONDS)
    return [Notice(alert(dict(row)), row["event"], row["target"]) for row in rows]


async def mark_notice(database: Database, notice: Notice, error: str | None) -> None:
    """Say what became of a delivery; error None: it was made."""
    await database.fetch("mark_notice", notice.alert.id, notice.event, notice.target, error, OWED_SECONDS)


async def listing(database: Database, limit: int) -> Listing:
    """The newest alerts, those that fire first, and the silences in force, the newest first."""
    async with database.connection() as connection:
        at: datetime = await connection.fetchval("SELECT now()")
        judge = await connection.fetchrow(statement("who_judges"))
        alerts = await connection.fetch(statement("list_alerts"), limit)
        silences = await connection.fetch(statement("list_silences"))
    listed = tuple(Listed(alert(dict(row)), row["undelivered"], row["error"]) for row in alerts)
    judging = (judge["worker_id"], judge["delivers"]) if judge else (None, False)
    return Listing(at, listed, tuple(silence(dict(row)) for row in silences), *judging)


async def put_silence(
    database: Database,
    rule: str,
    subject: str,
    seconds: float | None,
    actor: str,
    reason: str | None,
    alert_id: str | None = None,
) -> Silence:
    """Silence what rule and subject, patterns both, fit: for so many seconds; None: until the alert ends."""
    row = await database.fetchrow("put_silence", rule, subject, seconds, alert_id, actor, reason)
    if row is None:
        raise AssertionError("an insert answers its row")
    return silence(dict(row))


async def lift_silences(
    database: Database, silence_id: int | None, rule: str = "*", subject: str = "*"
) -> list[Silence]:
    """End a silence by its id, or by exactly its patterns; answers those that were in force."""
    return [silence(dict(row)) for row in await database.fetch("lift_silences", silence_id, rule, subject)]


def alert(row: Mapping[str, Any]) -> Alert:
    """An alert of its row, whose stamps may be text."""
    plain = ("rule", "subject", "watches", "severity", "state", "words", "queue", "value", "told")
    return Alert(
        id=str(row["id"]),
        since=_required(row["since"]),
        fired_at=_stamp(row["fired_at"]),
        clear_since=_stamp(row["clear_since"]),
        ended_at=_stamp(row["ended_at"]),
        **{name: row[name] for name in plain},
    )


def silence(row: Mapping[str, Any]) -> Silence:
    """A silence of its row, whose stamps may be text."""
    return Silence(
        id=row["id"],
        rule=row["rule"],
        subject=row["subject"],
        until=_stamp(row["until"]),
        alert_id=str(row["alert_id"]) if row["alert_id"] is not None else None,
        by=row["actor"],
        reason=row["reason"],
        at=_required(row["at"]),
    )


def _data(each: Alert) -> dict[str, Any]:
    return {name: v.isoformat() if isinstance(v, datetime) else v for name, v in asdict(each).items()}


def _stamp(value: str | datetime | None) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def _required(value: str | datetime) -> datetime:
    return datetime.fromisoformat(value) if isinstance(value, str) else value
