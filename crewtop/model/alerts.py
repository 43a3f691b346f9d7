"""Alerts: how what is seen of a rule becomes something that somebody is told, once, and its end.

    (nothing) -> pending -> firing <-> clearing -> ended

Pure: no clock and no I/O. What is seen comes from model/alert_rules.py, and the database keeps how it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Literal

from crewtop.model.durations import coarse, left

Severity = Literal["wrong", "watch"]
State = Literal["pending", "firing", "clearing", "ended"]
Event = Literal["fired", "ended", "test"]

MOST_STANDING = 500
"""Alerts that may stand at once; what comes beyond is not taken up until others have ended."""

SUBJECT_CHARACTERS = 300
WORDS_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True)
class Rule:
    """When somebody is told, and whom.

    watches: a kind of problem (model/problems.py) or a figure (model/alert_rules.py). above: a figure fires above it,
    and clears at clear_below or less; between the two it stays as it is. queue: a pattern of names of queues; other
    than '*' it leaves out what is of no queue. for_seconds: how long it has to last before it fires; clear_seconds:
    how long it has to be over. severity None: the problem's own. deliver: names of deliveries; None: all.
    """

    name: str
    watches: str
    above: float | None = None
    clear_below: float | None = None
    queue: str = "*"
    for_seconds: float = 60.0
    clear_seconds: float = 300.0
    severity: Severity | None = None
    deliver: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Sign:
    """What a rule sees of a subject now. high False: a figure between its two bounds."""

    rule: str
    subject: str
    watches: str
    words: str
    severity: Severity
    queue: str | None = None
    value: float | None = None
    high: bool = True


@dataclass(frozen=True, slots=True)
class Seen:
    """All signs of an instant, and which rules could not be judged: of these nothing begins, and nothing ends."""

    signs: tuple[Sign, ...]
    unknown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Alert:
    """A rule's alert about one subject. since: when it began to be pending; told: its beginning is or was delivered."""

    id: str
    rule: str
    subject: str
    watches: str
    severity: Severity
    state: State
    since: datetime
    words: str
    queue: str | None = None
    value: float | None = None
    fired_at: datetime | None = None
    clear_since: datetime | None = None
    ended_at: datetime | None = None
    told: bool = False

    @property
    def fires(self) -> bool:
        """Whether it has fired and not ended."""
        return self.state in ("firing", "clearing")

    def standing(self, at: datetime, silence: Silence | None = None) -> str:
        """Whose rule it is, as silences name it, for how long it fires, and who silenced it; '' before it fires."""
        if not self.fires or self.fired_at is None:
            return ""
        said = f"alert '{self.rule}' for {coarse((at - self.fired_at).total_seconds())}"
        return f"{said}, {silence.standing(at)}" if silence is not None else said


@dataclass(frozen=True, slots=True)
class Silence:
    """Nobody is told of what it covers. rule and subject are patterns.

    until: it ends then; None: with the alert alert_id. by: who silenced it, and why.
    """

    id: int
    rule: str
    subject: str
    until: datetime | None
    alert_id: str | None
    by: str
    reason: str | None
    at: datetime

    def covers(self, alert: Alert, now: datetime) -> bool:
        """Whether it keeps this alert quiet now."""
        in_force = now < self.until if self.until is not None else alert.id == self.alert_id
        return in_force and fnmatchcase(alert.rule, self.rule) and fnmatchcase(alert.subject, self.subject)

    def standing(self, at: datetime) -> str:
        """How long it lasts, and whose it is."""
        how_long = f"for {left((self.until - at).total_seconds())}" if self.until is not None else "until it ends"
        return f"silenced {how_long} by {self.by}"


def storable(text: str, characters: int) -> str:
    """The beginning of a text as PostgreSQL can hold it: it may come from Redis, where anybody may have written it."""
    return text[:characters].encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def exactly(name: str) -> str:
    """The pattern that fits this name alone."""
    return re.sub(r"[*?[]", r"[\g<0>]", name)


def silence_of(alert: Alert, silences: Sequence[Silence], now: datetime) -> Silence | None:
    """The silence that keeps an alert quiet now, the longest of several."""
    covering = [silence for silence in silences if silence.covers(alert, now)]
    return max(covering, key=lambda each: (each.until is None, each.until or now), default=None)


@dataclass(frozen=True, slots=True)
class Step:
    """What one look changes. dropped: ids of what was pending and came to nothing; tell: what is to be delivered."""

    changed: tuple[Alert, ...] = ()
    dropped: tuple[str, ...] = ()
    tell: tuple[tuple[Alert, Event], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.dropped)


def advance(
    standing: Sequence[Alert],
    seen: Seen,
    rules: Mapping[str, Rule],
    silences: Sequence[Silence],
    now: datetime,
    fresh_id: Callable[[], str],
    *,
    mute: bool = False,
) -> Step:
    """What becomes of the alerts that stand, by what is seen now.

    An alert is told when it has fired and is not silenced, which may be later; its end is told if it was. Alerts of
    rules that are no more end. fresh_id makes a name, unique for ever, for each new alert. mute: whoever asks has
    nobody to tell; what fires is told later, by who has.
    """
    signs = {(sign.rule, sign.subject): sign for sign in seen.signs if sign.rule in rules}
    after: list[Alert | None] = []
    for alert in standing:
        sign = signs.pop((alert.rule, alert.subject), None)
        after.append(_next(alert, sign, rules.get(alert.rule), alert.rule in seen.unknown, now))
    room = max(0, MOST_STANDING - len(standing))
    new = [_begun(sign, rules[sign.rule], now, fresh_id) for sign in signs.values() if sign.high][:room]
    tell: list[tuple[Alert, Event]] = []
    changed: list[Alert] = []
    for before, then in [*zip(standing, after, strict=True), *((None, alert) for alert in new)]:
        if then is None:
            continue
        if then.state == "firing" and not then.told and not mute and silence_of(then, silences, now) is None:
            then = replace(then, told=True)
            tell.append((then, "fired"))
        if then.state == "ended" and then.told:
            tell.append((then, "ended"))
        if then != before:
            changed.append(then)
    dropped = tuple(before.id for before, then in zip(standing, after, strict=True) if then is None)
    return Step(tuple(changed), dropped, tuple(tell))


def _begun(sign: Sign, rule: Rule, now: datetime, fresh_id: Callable[[], str]) -> Alert:
    begun = Alert(
        fresh_id(), sign.rule, sign.subject, sign.watches, sign.severity, "pending", now, sign.words, sign.queue,
        sign.value,
    )  # fmt: skip
    return _lasting(begun, rule, now)


def _next(alert: Alert, sign: Sign | None, rule: Rule | None, unknown: bool, now: datetime) -> Alert | None:
    """The alert a moment later; None: it was pending, and came to nothing."""
    if rule is None:
        return _over(alert, now)
    if sign is not None:
        alert = replace(
            alert, words=sign.words, severity=sign.severity, value=sign.value, queue=sign.queue, watches=sign.watches
        )
    if unknown and sign is None:
        return _stays(alert)
    if sign is None:
        return _clearing(alert, rule, now)
    if alert.state == "pending":
        return _lasting(alert, rule, now) if sign.high else None
    return _stays(alert)


def _stays(alert: Alert) -> Alert:
    return replace(alert, state="firing", clear_since=None) if alert.state == "clearing" else alert


def _lasting(alert: Alert, rule: Rule, now: datetime) -> Alert:
    if now - alert.since < timedelta(seconds=rule.for_seconds):
        return alert
    return replace(alert, state="firing", fired_at=now)


def _clearing(alert: Alert, rule: Rule, now: datetime) -> Alert | None:
    if alert.state == "pending":
        return None
    since = alert.clear_since or now
    if now - since >= timedelta(seconds=rule.clear_seconds):
        return _over(alert, now)
    return replace(alert, state="clearing", clear_since=since)


def _over(alert: Alert, now: datetime) -> Alert | None:
    return replace(alert, state="ended", ended_at=now) if alert.fires else None
