"""The two lines on top of every view: what is connected, how it does, and where the operator is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crewtop import words
from crewtop.model.snapshot import Health, Snapshot
from crewtop.tui.actions import TABS, View, key_name
from crewtop.tui.keymap import Keymap
from crewtop.tui.manner import Manner, data
from crewtop.tui.paint import Line, Part, Role, Span, Spans, bar, joined, spread, width

SHORT_CELLS = 100
"""Below this width the first line says pg for postgres and stands closer."""


class Steady:
    """A figure that only changes when it means something: stays until the measure leaves half to double of it.

    Latency jitters with every question; without this the header would send bytes in every tick of an idle system.
    """

    def __init__(self) -> None:
        self.shown: float | None = None

    def take(self, measured: float | None) -> float | None:
        """The figure to show for a measure in seconds."""
        if measured is None or self.shown is None or not self.shown / 2 <= max(measured, 0.001) <= self.shown * 2:
            self.shown = None if measured is None else max(measured, 0.001)
        return self.shown


def top(
    snapshot: Snapshot | None,
    latencies: tuple[float | None, float | None],
    answering: bool,
    marks: Sequence[Span],
    interval: float,
    cells: int,
    manner: Manner,
) -> Line:
    """The first line. answering: the snapshot is fresh. marks, such as 'frozen', stand beside the clock."""
    badge = Span(" crewtop ", "badge", True)
    if snapshot is None:
        return Line(spread(joined(badge, "  ", Span("connecting", "muted")), _marks(marks), cells, manner.cut))
    parts = [Part(0, (badge,)), Part(1, (data(snapshot.where, "text", True),))]
    if snapshot.role:
        parts.append(Part(6, (data(f"as {snapshot.role}", "muted"),)))
    if snapshot.simulated:
        parts.append(Part(0, (Span("SIMULATED", "watch", True),)))
    short = cells < SHORT_CELLS
    parts += [*_stores(snapshot, latencies, answering, "pg" if short else "postgres", manner), *_workers(snapshot)]
    if snapshot.spend_pace.calls:
        parts.append(Part(4, (Span(manner.hourly(snapshot.spend_pace), "money"),)))
    clock = joined(
        Span(f"{manner.minute(snapshot.at)} ", "text"),
        Span(f"{manner.zone} ", "muted"),
        Span(f"{interval:g}s ", "faint"),
    )
    right = joined(_marks(marks), clock)
    room = cells - width(right) - 3
    return Line(spread(bar(parts, room, 2 if short else 3), right, cells, manner.cut))


def tabs(view: View, keymap: Keymap, cells: int, manner: Manner) -> Line:
    """The second line: the views, the open one marked, and the keys that work everywhere.

    Where it is narrow the keys but the one for help go, then titles are shortened, then only the open view has one.
    """
    open_tab = View.TASKS if view is View.DETAIL else view
    every, least = (_always(keymap, hints, manner) for hints in (ALWAYS, ALWAYS[-1:]))
    for titles, gap, keys in (
        (TITLES, 3, every),
        (TITLES, 2, every),
        (TITLES, 2, least),
        (TITLES | SHORT_TITLES, 2, least),
        (_only(open_tab), 2, every),
        (_only(open_tab), 2, least),
    ):
        spans = _titled(titles, open_tab, keymap, gap, manner)
        if width(spans) + 2 + width(keys) <= cells:
            break
    return Line(spread(spans, keys, cells, manner.cut))


TITLES = {target: title for _, title, target in TABS}

SHORT_TITLES = {View.OPERATIONS: "Ops"}
"""Enough for all of them to stand beside the key for help in 80 cells."""

ALWAYS = (("filter", " filter   "), ("palette", " command   "), ("help", " help "))
"""The commands whose keys are told, with their words; the last one always."""


def _only(view: View) -> dict[View, str]:
    return {view: (TITLES | SHORT_TITLES).get(view, "")}


def _titled(titles: Mapping[View, str], open_tab: View, keymap: Keymap, gap: int, manner: Manner) -> Spans:
    """The tabs: their keys, and titles where they have one."""
    spans: list[Span] = []
    for _, _, target in TABS:
        on = target is open_tab
        key = keymap.key(target)
        title = f" {titles[target]}" if titles.get(target) else ""
        spans += [
            Span(" " * (gap if spans else 2)),
            Span(key_name(key, manner.ascii_only) if key else "", "accent", on),
            Span(title, "text" if on else "muted", on),
        ]
    return tuple(spans)


def _always(keymap: Keymap, hints: Sequence[tuple[str, str]], manner: Manner) -> Spans:
    told = [(keymap.key(name), said) for name, said in hints]
    return joined(
        *(joined(Span(key_name(key, manner.ascii_only), "accent"), Span(said, "muted")) for key, said in told if key)
    )


def _stores(
    snapshot: Snapshot,
    latencies: tuple[float | None, float | None],
    answering: bool,
    postgres: str,
    manner: Manner,
) -> list[Part]:
    if not answering:
        return [Part(1, (Span(f"{postgres} no answer", "wrong", True),)), Part(3, (Span("redis ?", "muted"),))]
    first = Part(2, _store(postgres, snapshot.postgres, latencies[0]))
    if not snapshot.redis.up:
        pooled = "pooled · " if snapshot.pooled else ""
        return [first, Part(1, (Span(manner.own(f"{pooled}redis down · polling"), "watch", True),))]
    return [first, Part(3, _store("redis", snapshot.redis, latencies[1])), *_state_cache(snapshot)]


def _state_cache(snapshot: Snapshot) -> list[Part]:
    """In whole percent, so that it changes seldom; nothing where nobody asks."""
    rate = snapshot.state_cache.rate if snapshot.state_cache is not None else None
    if rate is None:
        return []
    return [Part(7, joined(Span("cache ", "muted"), Span(words.share(rate), "muted")))]


def _store(name: str, health: Health, latency: float | None) -> Spans:
    if not health.up:
        return (Span(f"{name} down", "wrong", True),)
    said = "?" if latency is None else "<1 ms" if latency <= 0.001 else words.latency(latency)
    slow: Role = "watch" if latency is not None and latency > 0.25 else "moving"
    return joined(Span(f"{name} ", "muted"), Span(said, slow))


def _workers(snapshot: Snapshot) -> list[Part]:
    alive = [worker for worker in snapshot.workers if worker.state in ("running", "draining")]
    if not alive:
        return [Part(2, (Span("no worker", "watch"),))]
    hosts = len({worker.host for worker in alive})
    busy, slots = sum(worker.taken for worker in alive), sum(worker.slots for worker in alive)
    return [
        Part(5, (Span(f"{words.count(hosts)} {'host' if hosts == 1 else 'hosts'}", "muted"),)),
        Part(2, joined(Span(words.count(busy), "text", True), Span(f"/{words.count(slots)} slots", "muted"))),
    ]


def _marks(marks: Sequence[Span]) -> Spans:
    return tuple(span for mark in marks for span in (mark, Span("  ")))
