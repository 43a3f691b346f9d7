"""What happens, as it happens: what the view says, what its keys come to, and what is news in a snapshot."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from crewtop.model.filters import TaskFilter
from crewtop.model.live import DELETED, UNKNOWN, Happening, Happenings, LogLine, Transition
from crewtop.model.snapshot import Health, Snapshot
from crewtop.tui.actions import View
from crewtop.tui.effects import Copy, Effect, Go, Open
from crewtop.tui.manner import Manner
from crewtop.tui.options import ScreenOptions
from crewtop.tui.paint import width as cells_of
from crewtop.tui.session import Session
from crewtop.tui.views.eventrows import Wanted, searchable
from crewtop.tui.views.events import MOST, Events
from crewtop.tui.views.news import news
from crewtop.tui.wants import LiveEvents
from tests.tui.fixtures import BUSY, HAPPENED, HOSTILE, NOW, QUEUES, RUNNING, WORKERS, ago


def view(happened: tuple[Happening, ...] = HAPPENED, manner: Manner | None = None) -> Events:
    made = Events(manner or Manner())
    tell(made, *happened)
    return made


def tell(made: Events, *happened: Happening, lost: int = 0, note: str | None = None) -> None:
    assert made.stream is not None
    made.told(made.stream, Happenings(happened, lost, note))


def change(task_id: int, seconds: float = 0.0, **changes: object) -> Transition:
    base = Transition(NOW + timedelta(seconds=seconds), task_id, "support", "support", "pending", "running", "worker:a")
    return replace(base, **changes)  # type: ignore[arg-type]


def keys(made: Events, *pressed: str) -> Effect | None:
    effect = None
    for key in pressed:
        effect = made.do(key, 20)
    return effect


def text(made: Events, width: int = 160, height: int = 30) -> str:
    return "\n".join(line.text for line in made.lines(width, height))


def under_cursor(made: Events) -> str:
    return next(line.text for line in made.lines(200, 30) if line.ground == "cursor")


# What it says


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (HAPPENED[0], ["14:02:02", "48983", "product", "new → ◌ pending", "producer"]),
        (HAPPENED[1], ["49000", "nightly", "1,000 new → ◌ pending"]),
        (HAPPENED[2], ["pending → ▶ running", " db3-e5b077"]),
        (HAPPENED[4], ["running → ↻ retry", "RateLimitError: 429"]),
        (HAPPENED[6], ["pending → ⊘ cancelled", " dana@ops1", "duplicate"]),
        (HAPPENED[7], ["running → ✗ failed", "ToolError: order B-771 has no such line [/] see [bold]"]),
        (change(1, old_status="failed", new_status=DELETED), ["failed → deleted"]),
        (change(1, old_status="pending", new_status="pending"), ["◌ pending, changed"]),
        (change(1, old_status=UNKNOWN, crew=UNKNOWN, queue=UNKNOWN), [" -  ", "→ ▶ running"]),
    ],
)
def test_a_change_is_told_in_a_line(event: Happening, said: list[str]) -> None:
    row = under_cursor(view((event,)))
    for part in said:
        assert part in row


def test_the_newest_is_at_the_bottom_and_under_the_cursor() -> None:
    made = view()
    rows = made.lines(160, 30)
    assert rows[-1].ground == "cursor"
    assert "47799" in rows[-1].text
    tell(made, change(50_000))
    assert "50000" in made.lines(160, 30)[-1].text


def test_output_is_told_only_if_it_is_asked_for() -> None:
    made = view()
    assert "lookup_order" not in text(made)
    assert made.stream == LiveEvents(logs=False)
    keys(made, "log_lines")
    assert made.stream == LiveEvents(logs=True)
    assert "tool lookup_order('A-1009')" in text(made)
    keys(made, "log_lines")
    assert "lookup_order" not in text(made)


def test_why_there_are_none_stands_at_the_top_right_until_there_are() -> None:
    made = view(())
    tell(made, note="no live events: redis down")
    assert made.lines(80, 20)[0].text.rstrip().endswith("no live events: redis down")
    tell(made, change(1))
    assert "redis down" not in text(made)


def test_who_follows_anew_is_not_told_twice() -> None:
    made = view()
    before = text(made)
    tell(made, *HAPPENED[:3], *HAPPENED[4:], change(50_000))
    assert text(made).count("\n") == before.count("\n") + 1


def test_what_was_left_out_is_counted() -> None:
    made = view()
    tell(made, lost=40)
    tell(made, change(50_000), lost=2)
    assert "42 before this were not told" in text(made)


def test_it_keeps_the_newest_only_and_says_so() -> None:
    made = view(tuple(change(i, i) for i in range(1, MOST + 101)))
    keys(made, "first")
    assert " 101 " in under_cursor(made)
    assert "the newest 5,000" in made.lines(120, 20)[0].text


# Keys


@pytest.mark.parametrize(
    ("pressed", "effect"),
    [
        (("open",), Open(47_799)),
        (("up", "open"), Open(47_795)),
        (("copy",), Copy("47799")),
        (("first", "copy"), Copy("48983")),
        (("up", "last", "copy"), Copy("47799")),
    ],
)
def test_keys_on_an_event(pressed: tuple[str, ...], effect: Effect) -> None:
    assert keys(view(), *pressed) == effect


@pytest.mark.parametrize("pause", ["hold", "up", "first"])
def test_a_paused_list_stands_still_and_counts_what_is_new(pause: str) -> None:
    made = view()
    keys(made, pause)
    before = made.lines(120, 20)
    tell(made, *(change(50_000 + i, i) for i in range(42)))
    after = made.lines(120, 20)
    assert after[1:] == before[1:]
    assert "paused, 42 new" in after[0].text


@pytest.mark.parametrize("go_on", ["hold", "last", "back"])
def test_a_paused_list_goes_on_at_its_end(go_on: str) -> None:
    made = view()
    keys(made, "up", "up")
    tell(made, change(50_000))
    assert not made.at_rest
    keys(made, go_on)
    assert made.at_rest
    assert "50000" in under_cursor(made)
    assert "paused" not in text(made)


def test_what_is_read_does_not_leave_a_paused_list() -> None:
    made = view()
    keys(made, "first")
    tell(made, *(change(50_000 + i, i) for i in range(2 * MOST)))
    assert keys(made, "copy") == Copy("48983")
    assert "paused, 10,000 new" in text(made)


def test_an_event_of_a_slower_clock_does_not_move_the_cursor() -> None:
    made = view()
    keys(made, "up")
    chosen = keys(made, "copy")
    tell(made, change(50_000, -5))
    assert keys(made, "copy") == chosen
    keys(made, "last", "up", "up", "up")
    assert keys(made, "copy") == Copy("50000")


def test_a_click_holds_the_list_and_another_one_opens() -> None:
    made = view()
    y = next(i for i, line in enumerate(made.lines(120, 20)) if "47802" in line.text)
    assert made.click(y) is None
    assert not made.at_rest
    assert made.click(y) == Open(47_802)


@pytest.mark.parametrize(
    ("typed", "tasks"),
    [
        ("crew:support", [47_802, 48_940, 47_795, 47_799]),
        ("crew:support status:failed", [47_799]),
        ("status:running", [48_983, 47_802, 48_940, 47_799]),
        ("queue:nightly", [49_000]),
        ("DANA", [47_795]),
        ("ratelimit 429", [47_802]),
        ("support toolerror", [47_799]),
        ("order:B", []),
        ("crew:supp", []),
    ],
)
def test_a_filter_shows_what_it_wants(typed: str, tasks: list[int]) -> None:
    wanted = Wanted(typed)
    assert [e.task_id for e in HAPPENED if isinstance(e, Transition) and wanted(e, searchable(e))] == tasks


def test_a_filter_is_typed_applied_and_dropped() -> None:
    made = Session(ScreenOptions(), lambda: 0.0)
    made.take(BUSY)
    made.press("6")
    page = made.page
    assert isinstance(page, Events)
    tell(page, *HAPPENED)
    for key in ("/", *"status:failed", "enter"):
        made.press(key)
    assert "/ status:failed" in page.lines(80, 20)[0].text
    assert "47799" in text(page)
    assert "47795" not in text(page)
    tell(page, change(50_000), change(50_001, new_status="failed"))
    assert "50001" in text(page)
    assert "50000" not in text(page)
    for key in ("/", "x", "escape"):
        made.press(key)
    assert page.typed == "status:failed"
    made.press("escape")
    assert made.view is View.EVENTS
    assert "50000" in text(page)
    made.press("escape")
    assert made.view is View.OVERVIEW


def test_space_pauses_and_enter_opens_the_task() -> None:
    made = Session(ScreenOptions(), lambda: 0.0)
    made.take(BUSY)
    made.press("6")
    page = made.page
    assert isinstance(page, Events)
    tell(page, *HAPPENED)
    made.press("space")
    assert "paused" in "\n".join(line.text for line in made.frame(80, 24))
    made.press("enter")
    assert made.view is View.DETAIL


# News of snapshots


def later(**changes: object) -> Snapshot:
    return replace(BUSY, at=NOW + timedelta(seconds=1), **changes)  # type: ignore[arg-type]


def with_worker(state: str) -> Snapshot:
    return later(workers=(replace(WORKERS[0], state=state), *WORKERS[1:]))


DOWN = Health(False, None, "connection refused")
STUCK_GONE = tuple(replace(task, stuck=None) for task in RUNNING)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (BUSY, later(), []),
        (BUSY, later(redis=DOWN), ["redis is down: connection refused"]),
        (replace(BUSY, redis=DOWN), later(), ["redis is up again"]),
        (BUSY, later(postgres=DOWN, workers=(), queues=()), ["postgres is down: connection refused"]),
        (BUSY, with_worker("late"), ["db1-7c2e91 is late: it sends no heartbeat"]),
        (BUSY, with_worker("draining"), ["db1-7c2e91 drains: it claims nothing more"]),
        (BUSY, with_worker("stopped"), ["db1-7c2e91 stopped"]),
        (with_worker("late"), replace(later(), at=NOW + timedelta(seconds=2)), ["db1-7c2e91 works again"]),
        (BUSY, later(workers=WORKERS[1:]), ["db1-7c2e91 is gone"]),
        (replace(BUSY, workers=WORKERS[1:]), later(), ["db1-7c2e91 came with 12 slots"]),
        (replace(BUSY, queues=(replace(QUEUES[1], paused=False),)), later(queues=QUEUES[1:2]),
         ["research paused by dana@ops1: provider invoice unclear"]),
        (replace(BUSY, queues=QUEUES[1:2]), later(queues=(replace(QUEUES[1], paused=False),)), ["research goes on"]),
        (BUSY, later(running=STUCK_GONE), ["48201 briefing stuck no more"]),
        (replace(BUSY, running=STUCK_GONE), later(), ["48201 briefing stuck: no progress for 4m 12s in gpt-4.1"]),
        (BUSY, later(queues=(replace(QUEUES[0], level=0.91), *QUEUES[1:])), []),  # as late as before
    ],
)  # fmt: skip
def test_what_is_news(before: Snapshot, after: Snapshot, said: list[str]) -> None:
    assert [f"{told.name} {told.words}" for told in news(before, after)] == said


def test_news_is_among_the_events_without_redis() -> None:
    made = Events(Manner())
    made.take(BUSY)
    tell(made, note="no live events: redis down")
    assert "Nothing has happened since this screen began." in text(made)
    made.take(with_worker("late"))
    assert "14:02:12  ▲ worker db1-7c2e91: is late: it sends no heartbeat" in text(made)
    assert keys(made, "open") == Go(View.WORKERS)
    assert keys(made, "copy") == Copy("db1-7c2e91")


def test_news_of_a_queue_leads_to_its_tasks() -> None:
    made = Events(Manner())
    made.take(replace(BUSY, queues=(replace(QUEUES[1], paused=False),)))
    made.take(later(queues=QUEUES[1:2]))
    assert keys(made, "open") == Go(View.TASKS, TaskFilter(queues=("research",)))


def test_an_outage_is_two_events_and_not_one_for_each_worker() -> None:
    made = Events(Manner())
    made.take(BUSY)
    made.take(later(postgres=DOWN, workers=(), queues=(), running=()))
    made.take(replace(later(), at=NOW + timedelta(seconds=9)))
    assert [line.text.split("store ")[-1].strip() for line in made.lines(100, 30)[3:]] == [
        "postgres: is down: connection refused",
        "postgres: is up again",
    ]


def test_a_picture_of_the_past_holds_no_news() -> None:
    made = Events(Manner())
    made.take(later())
    made.take(replace(BUSY, at=ago(600), workers=()))
    made.take(later())
    assert "Nothing has happened" in text(made)


# What it must not do


def test_an_idle_list_is_the_same_picture() -> None:
    made = view()
    before = made.lines(120, 30)
    made.take(BUSY)
    made.take(replace(BUSY, at=NOW + timedelta(hours=2)))
    tell(made)
    assert made.lines(120, 30) == before


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("ascii_only", [False, True])
def test_hostile_text_is_a_picture(hostile: str, ascii_only: bool) -> None:
    nasty = change(
        1, queue=hostile, crew=hostile, old_status=hostile, new_status=hostile, actor=hostile, reason=hostile
    )
    made = view((nasty, LogLine(NOW, 1, 2, hostile, hostile)), Manner(ascii_only))
    made.take(BUSY)
    made.take(later(redis=Health(False, None, hostile), workers=(*WORKERS, replace(WORKERS[0], id=hostile))))
    keys(made, "log_lines")
    tell(made, note=hostile)
    lines = made.lines(200, 30)
    assert len(lines) >= 7
    assert all(line.text.isprintable() for line in lines)


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("height", [5, 10, 19, 40])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_it_fits(width: int, height: int, ascii_only: bool) -> None:
    made = view(tuple(change(i, i, reason="x" * 200) for i in range(30)), Manner(ascii_only))
    keys(made, "log_lines", "hold")
    tell(made, LogLine(NOW + timedelta(seconds=99), 1, 2, "support", "y" * 5_000), note="no live events: redis down")
    made.take(BUSY)
    made.take(with_worker("late"))
    for pressed in ("hold", "hold"):
        keys(made, pressed)
        lines = made.lines(width, height)
        assert len(lines) <= height
        assert all(cells_of(line.spans) <= width for line in lines)
        assert not ascii_only or all(line.text.isascii() for line in lines)


@pytest.mark.parametrize("guess", ["abcdefgh", "hunter2", "sk-live"])
def test_a_secret_cannot_be_found_by_guessing_at_it(guess: str) -> None:
    line = LogLine(NOW, 1, 2, "support", "api_key=sk-live-abcdefgh12345678 at postgres://u:hunter2hunter2@db/shop")
    assert Wanted("support")(line, searchable(line))
    assert not Wanted(guess)(line, searchable(line))


def test_what_is_copied_cannot_be_a_line_of_a_shell() -> None:
    """A queue's name may hold anything."""
    made = Events(Manner())
    made.take(replace(BUSY, queues=()))
    made.take(
        replace(BUSY, at=NOW + timedelta(seconds=1), queues=(replace(QUEUES[0], name="x\nrm -rf /", paused=True),))
    )
    effect = made.do("copy", 20)
    assert isinstance(effect, Copy)
    assert "\n" not in effect.text
