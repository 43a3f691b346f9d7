"""`crewtop schedules`: recurring tasks, as the workers have them and as this configuration has them."""

from __future__ import annotations

import json

from crewtop import words
from crewtop.commands.read import ascii_only, put_out, width
from crewtop.config import Configuration
from crewtop.plain.data import to_json
from crewtop.plain.paper import Column, Paper
from crewtop.store import schedules as store
from crewtop.store.schedules import Listed
from crewtop.stores import stores
from crewtop.text import masked_body

UNSEEN_SECONDS = 300.0
"""A schedule that no worker has had for so long does not fire."""


async def print_schedules(configuration: Configuration, *, as_json: bool) -> int:
    """List every schedule that a worker has or had, and those of this configuration that none has yet."""
    settings = configuration.settings
    async with stores(settings, "crewtop", connections=1, timeout=10.0, prepared=False) as opened:
        listed = await store.every_schedule(opened.database)
    missing = sorted(settings.schedules.keys() - {row.name for row in listed})
    if as_json:
        put_out({"schedules": [_as_data(row) for row in listed], "not_seen": missing})
        return 0
    put_out("\n".join(_text(listed, missing)))
    return 0


def _text(listed: list[Listed], missing: list[str]) -> list[str]:
    if not listed and not missing:
        return ["no schedules: add [schedules.<name>] with cron and crew to crewtop.toml, and start a worker"]
    paper = Paper(width(), ascii_only())
    rows = [(row, row.definition) for row in listed]
    table = paper.table(
        [
            Column("NAME", [paper.safe(row.name) for row, _ in rows], stretch=True),
            Column("CRON", [paper.safe(own["cron"]) for _, own in rows]),
            Column("ZONE", [paper.safe(own["zone"]) for _, own in rows], drop=3),
            Column("NEXT", [_next(row) for row, _ in rows]),
            Column(
                "LAST", [words.NOTHING if row.last_at is None else words.stamp(row.last_at) for row, _ in rows], drop=2
            ),
            Column("TASK", [_last_task(row) for row, _ in rows]),
            Column("CREW", [paper.safe(own["crew"]) for _, own in rows], stretch=True),
            Column("QUEUE", [paper.safe(own["queue"]) for _, own in rows], stretch=True, drop=4),
            Column("MISSED", [own["missed"] for _, own in rows], drop=5),
        ]
    )
    waiting = [f"{paper.safe(name)}: no worker has it yet: restart one with this configuration" for name in missing]
    return [*(table if listed else []), *waiting]


def _next(row: Listed) -> str:
    if not row.definition["enabled"]:
        return "off"
    if (row.at - row.seen_at).total_seconds() > UNSEEN_SECONDS:
        return "no worker has it"
    return words.stamp(row.next_at)


def _last_task(row: Listed) -> str:
    if row.last_task is None:
        return words.NOTHING
    return f"{row.last_task} {row.last_status or 'pruned'}"


def _as_data(row: Listed) -> dict[str, object]:
    plain = ("name", "next_at", "last_at", "last_task", "last_status", "seen_at")
    own = {name: to_json(value) for name, value in row.definition.items() if name != "inputs"}
    own["inputs"] = masked_body(json.dumps(row.definition["inputs"], ensure_ascii=False))
    return {name: to_json(getattr(row, name)) for name in plain} | own
