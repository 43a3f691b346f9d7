"""`crewtop alerts`: what fires, what is silenced, and whether anybody would be told."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase

import typer

from crewtop import operations, words
from crewtop.commands.read import ascii_only, put_out, width
from crewtop.config import Configuration
from crewtop.model.alert_rules import FIGURES
from crewtop.model.alerts import Alert, Rule, Silence, silence_of
from crewtop.model.durations import NOTHING, seconds_of
from crewtop.model.errors import Refused
from crewtop.monitor.notices import NotDelivered, deliver, message
from crewtop.plain.data import to_json
from crewtop.plain.paper import Column, Paper
from crewtop.store import alerts as store
from crewtop.store.alerts import Listed, Listing
from crewtop.stores import stores
from crewtop.text import shown

LONGEST_SECONDS = 366 * 86_400

UNCUT = 10_000
"""Cells of a line in a pipe, which cuts no word of an alert."""


async def print_alerts(configuration: Configuration, limit: int, *, as_json: bool) -> int:
    """List the newest alerts, those that fire first, then the silences in force and the rules of this configuration."""
    rules = configuration.settings.alerts.rows()
    async with stores(configuration.settings, "crewtop", connections=1, timeout=10.0, prepared=False) as opened:
        found = await store.listing(opened.database, limit)
    if as_json:
        rest = {"silences": to_json(found.silences), "judge": found.judge, "rules": to_json(list(rules.values()))}
        put_out({"alerts": to_json(found.alerts), **rest})
        return 0
    paper = Paper(width(pipe=UNCUT), ascii_only())
    told = _table(found, paper) if found.alerts else ["no alert has fired in the last 30 days"]
    if found.silences:
        told += ["", *_silences(found, paper)]
    told += ["", _heading(found), *_rules(list(rules.values()), paper), "", _whom(configuration, found)]
    put_out("\n".join(told))
    return 0


async def silence(configuration: Configuration, rule: str, queue: str, length: str, reason: str | None) -> int:
    """Silence what fits. Raises Refused for a length that is none."""
    seconds = seconds_of(length)
    if seconds is None or not 0 < seconds <= LONGEST_SECONDS:
        raise Refused(f"--for {length} is no duration: use 1s to 366d, such as 30m, 8h, 2d")
    async with stores(configuration.settings, "crewtop operator", connections=1, timeout=10.0) as opened:
        made = await operations.silence(opened.database, rule, queue, float(seconds), reason=reason)
    names = configuration.settings.alerts.rows()
    if not any(fnmatchcase(name, rule) for name in names):
        typer.echo(f"note: no rule is called {shown(rule)} here: there are {shown(', '.join(names))}", err=True)
    typer.echo(f"silence {made.id}: nobody is told of {shown(rule)} on {shown(queue)} for {length}")
    return 0


async def unsilence(configuration: Configuration, rule: str, queue: str, silence_id: int | None) -> int:
    """End silences, by id or by exactly their patterns. Raises Refused where none is in force."""
    async with stores(configuration.settings, "crewtop operator", connections=1, timeout=10.0) as opened:
        lifted = await operations.unsilence(opened.database, silence_id, rule, queue)
    for each in lifted:
        typer.echo(f"silence {each.id} is over: {shown(each.rule)} on {shown(each.subject)}")
    return 0


async def test(configuration: Configuration) -> int:
    """Deliver a test to each target at once; answers 1 if one failed. Raises Refused where there is none."""
    targets = configuration.settings.alerts.deliver
    if not targets:
        raise Refused("there is nobody to tell: name a webhook or a command in [alerts.deliver.<name>] of crewtop.toml")
    now = datetime.now(UTC)
    said = f"a test of crewtop's alerts by {operations.operator()}"
    alert = Alert(str(uuid.uuid4()), "test", "test", "test", "watch", "firing", now, said, fired_at=now)

    async def one(name: str) -> str | None:
        try:
            await deliver(targets[name], message(alert, "test", "crewtop"))
        except NotDelivered as error:
            return str(error)
        return None

    errors = await asyncio.gather(*map(one, targets))
    for name, error in zip(targets, errors, strict=True):
        typer.echo(f"{shown(name)}: {f'not delivered: {error}' if error else 'delivered'}", err=error is not None)
    return 1 if any(errors) else 0


def _table(found: Listing, paper: Paper) -> list[str]:
    rows = [row.alert for row in found.alerts]
    return paper.table(
        [
            Column("STATE", [_state(alert, found) for alert in rows]),
            Column("RULE", [paper.safe(alert.rule) for alert in rows]),
            Column("OF", [paper.safe(alert.subject) for alert in rows], stretch=True),
            Column("SINCE", [words.stamp(alert.fired_at or alert.since) for alert in rows], drop=3),
            Column("FOR", [_lasts(alert, found.at) for alert in rows], right=True, drop=2),
            Column("WHAT", [paper.safe(alert.words) for alert in rows], stretch=True, narrowest=34),
            Column("TOLD", [paper.own(_told(row)) for row in found.alerts], stretch=True, drop=1),
        ]
    )


def _state(alert: Alert, found: Listing) -> str:
    quiet = alert.state != "ended" and silence_of(alert, found.silences, found.at) is not None
    return f"{alert.state}, silenced" if quiet else alert.state


def _lasts(alert: Alert, at: datetime) -> str:
    began = alert.fired_at or alert.since
    return words.duration(((alert.ended_at or at) - began).total_seconds())


def _told(row: Listed) -> str:
    if row.undelivered:
        return f"not yet: {shown(row.error)}" if row.error else "not yet"
    return "yes" if row.alert.told else NOTHING


def _silences(found: Listing, paper: Paper) -> list[str]:
    silences = found.silences
    return paper.table(
        [
            Column("SILENCE", [str(each.id) for each in silences], right=True),
            Column("RULE", [paper.safe(each.rule) for each in silences]),
            Column("OF", [paper.safe(each.subject) for each in silences], stretch=True),
            Column("LASTS", [_left(each, found.at) for each in silences]),
            Column("BY", [paper.safe(each.by) for each in silences], stretch=True, drop=1),
            Column("REASON", [paper.safe(each.reason or "") for each in silences], stretch=True, drop=2),
        ]
    )


def _left(each: Silence, at: datetime) -> str:
    return "until it ends" if each.until is None else words.duration((each.until - at).total_seconds())


def _rules(rules: Sequence[Rule], paper: Paper) -> list[str]:
    return paper.table(
        [
            Column("RULE", [paper.safe(rule.name) for rule in rules]),
            Column("WATCHES", [_watched(rule) for rule in rules]),
            Column("QUEUES", [paper.safe(rule.queue) for rule in rules], drop=1),
            Column("FOR", [words.duration(rule.for_seconds) for rule in rules], right=True),
            Column("CLEARS AFTER", [words.duration(rule.clear_seconds) for rule in rules], right=True, drop=2),
            Column("TELLS", [paper.safe(_tells(rule)) for rule in rules], stretch=True, drop=3),
        ]
    )


def _watched(rule: Rule) -> str:
    return f"{rule.watches} > {rule.above:g}" if rule.watches in FIGURES and rule.above is not None else rule.watches


def _tells(rule: Rule) -> str:
    return "all" if rule.deliver is None else ", ".join(rule.deliver) or "the screen"


def _heading(found: Listing) -> str:
    judge = f"worker {shown(found.judge)} judges, by its own" if found.judge else "no worker judges now"
    return f"the rules of this machine: {judge}"


def _whom(configuration: Configuration, found: Listing) -> str:
    targets = configuration.settings.alerts.deliver
    if targets:
        kinds = (
            f"{shown(name)} ({'webhook' if to.webhook is not None else 'command'})" for name, to in targets.items()
        )
        return f"this machine tells, beside the screen: {', '.join(kinds)}"
    if found.judge and found.judge_delivers:
        return f"this machine names nobody to tell beside the screen; worker {shown(found.judge)} does"
    return "this machine names nobody to tell beside the screen: [alerts.deliver.<name>] of crewtop.toml does"
