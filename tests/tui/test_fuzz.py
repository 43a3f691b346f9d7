"""Anything can happen in any order: the screen draws every time, and nothing acts that was not asked and confirmed."""

from __future__ import annotations

import string
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from crewtop.model.detail import Body
from crewtop.model.snapshot import Snapshot
from crewtop.tui.actions import COMMANDS
from crewtop.tui.effects import Act, ActOnAll, Drain, Effect, Halt, Kill, LoadBody, PauseQueue, Price, Undo
from crewtop.tui.keymap import KEY_NAMES
from crewtop.tui.options import ScreenOptions
from crewtop.tui.paint import width
from crewtop.tui.reading import Job
from crewtop.tui.session import Session
from crewtop.tui.views.detail import Detail
from crewtop.tui.views.question import Question
from crewtop.tui.wants import Want, ask, follow
from tests.tui.fixtures import BUSY, EMPTY, HOSTILE, INCIDENT, INPUTS, Shop, many, operation, task

DEED = Act | ActOnAll | Undo | PauseQueue | Drain | Kill
"""What is never done without a question. One key asks for a slot or pauses an operation, and the next takes it back."""

WAYS = (
    ("2", "j", "enter", "l"),
    ("2", *["down"] * 8, "enter", "tab", "tab", "/", "e", "enter", "n"),
    ("2", "/", *"status:failed", "enter", "*", "R", "enter"),
    ("2", "A", "R", "9", "6", "enter"),
    ("2", "X", "1", "enter"),
    ("2", "s", "down", "enter"),
    ("2", "v", "space", "enter"),
    ("3", "R", "enter"),
    ("4", "D", "enter"),
    ("4", "=", "9", "enter"),
    ("7", "enter", "down"),
    ("7", "C", "enter"),
    ("6", "l", "space", "enter"),
    ("P", "enter"),
    ("u", "enter"),
    (":", *"retry", "enter", "enter"),
    ("#", *"48201", "enter"),
    ("p", "[", "{", "]", "}"),
)
"""Ways that operators know, so that what lies at their ends is met more than once in a thousand years."""

KEYS = sorted({*string.printable[:95], "é", "日", *KEY_NAMES, *(key for command in COMMANDS for key in command.keys)})
PASTES = ("failed", "rm -rf\n/", "\x1b[2J\x1b]52;c;aGk=\x07", "日本語" * 99, "status:failed age>1h", "")
SNAPSHOTS = (
    BUSY,
    EMPTY,
    INCIDENT,
    replace(BUSY, queues=BUSY.queues[::-1], workers=BUSY.workers[::-1], running=BUSY.running[2:]),
    replace(BUSY, read_only=True),
    replace(EMPTY, postgres=replace(EMPTY.postgres, up=False, latency=None, detail="connection refused")),
)
LISTS = (
    many(60),
    many(60)[::-1],
    (),
    tuple(task(49_000 + i, "failed", crew=text, queue=text, error=text) for i, text in enumerate(HOSTILE)),
)


@dataclass(frozen=True)
class Keys:
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Paste:
    text: str


@dataclass(frozen=True)
class Click:
    y: int


@dataclass(frozen=True)
class Size:
    width: int
    height: int


@dataclass(frozen=True)
class Told:
    """A snapshot, after so many seconds."""

    snapshot: Snapshot
    seconds: float


@dataclass(frozen=True)
class Listed:
    """What the next answers hold."""

    rows: Any


EVENTS = st.one_of(
    st.sampled_from(KEYS).map(lambda key: Keys((key,))),
    st.sampled_from(KEYS).map(lambda key: Keys((key,))),
    st.sampled_from(WAYS).map(Keys),
    st.sampled_from(("up", "down")).map(lambda key: Keys((key,) * 3)),
    st.sampled_from(PASTES).map(Paste),
    st.integers(0, 69).map(Click),
    st.builds(Size, st.integers(20, 250), st.integers(5, 70)),
    st.builds(Told, st.sampled_from(SNAPSHOTS), st.sampled_from((0.0, 1.0, 30.0))),
    st.sampled_from(LISTS).map(Listed),
    st.sampled_from(("answer", "old_answer", "no_answer", "stream", "no_snapshot", "job", "effects")),
)


def at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine that waits for nothing comes to."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits")


class World:
    """A session as the application treats it; what it asked for is given whenever the test likes, or never."""

    def __init__(self, *, ascii_only: bool) -> None:
        self.now = 0.0
        self.size = Size(80, 24)
        self.session = Session(ScreenOptions(ascii=ascii_only), clock=lambda: self.now)
        self.shop = Shop(bodies=dict.fromkeys(get_args(Body), INPUTS))
        self.answers: list[tuple[Want, Any]] = []
        self.jobs: list[Job] = []
        self.effects: list[Effect] = []

    def meet(self, event: Any) -> None:
        """Let something happen, and draw."""
        match event:
            case Keys(keys):
                for key in keys:
                    self.press(key)
            case Paste(text):
                self.session.paste(text)
            case Click(y):
                self.keep(self.session.click(y), confirmed=None)
            case Size():
                self.size = event
            case Told(snapshot, seconds):
                self.now += seconds
                self.session.take(replace(snapshot, at=snapshot.at + timedelta(seconds=self.now)))
            case Listed(rows):
                self.shop.rows = rows
            case str():
                getattr(self, f"_{event}")()
        self.draw()

    def press(self, key: str) -> None:
        """Press a key; only Enter in a question may lead to a deed, and only to the one that was asked about."""
        asked = self.session.overlay
        confirmed = asked.effect if isinstance(asked, Question) and key == "enter" else None
        self.keep(self.session.press(key), confirmed)
        self.draw()

    def keep(self, effect: Effect | None, confirmed: Effect | None) -> None:
        if isinstance(effect, DEED) or (isinstance(effect, Halt) and effect.how == "cancel"):
            assert effect is confirmed
            assert self.session.refusal() is None
        if effect is not None:
            self.effects.append(effect)

    def draw(self) -> None:
        """Every frame fills its terminal, and holds nothing that a terminal would obey."""
        lines = self.session.frame(self.size.width, self.size.height)
        assert len(lines) == self.size.height
        for line in lines:
            assert width(line.spans) <= self.size.width, line.text
            assert line.text.isprintable(), line.text
        if isinstance(question := self.session.overlay, Question) and self.size.height >= 10 and self.size.width >= 40:
            box = [line.text for line in lines if line.ground == "panel"]
            assert any(question.title[:30] in text for text in box)
            assert box[-1].startswith(" " + self.session.manner.glyph("╰"))  # how to answer stands above it

    def _answer(self) -> None:
        if (want := self.session.page.want) is not None:
            self.answers.append((want, at_once(ask(self.shop, want))))
            self.session.page.answer(*self.answers[-1])

    def _old_answer(self) -> None:
        if self.answers:
            self.session.page.answer(*self.answers[len(self.answers) // 2])

    def _no_answer(self) -> None:
        self.session.page.fail("postgres: no answer within 2 s")

    def _no_snapshot(self) -> None:
        self.session.fail("postgres: connection refused by db1:5432 \x1b[2J")

    def _stream(self) -> None:
        if (stream := self.session.page.stream) is not None:
            self.session.page.told(stream, at_once(anext(follow(self.shop, stream))))

    def _job(self) -> None:
        """Finish work that was begun, perhaps for a page that is open no more, and begin what there is to do."""
        for job in self.jobs:
            self.session.page.finish(job, job.rows())
        self.jobs = [job] if (job := self.session.page.job) is not None else []

    def _effects(self) -> None:
        """Say what became of all that was asked for."""
        effects, self.effects = self.effects, []
        for effect in effects:
            match effect:
                case Price():
                    self.session.priced(effect, self.shop.scope)
                case Act(order, targets):
                    self.session.acted(at_once(self.shop.act(order, targets)))
                case ActOnAll(order):
                    self.session.acting.progress = operation(order.action, 41)
                    self.draw()
                    self.session.ended(operation(order.action, 96, "done"), {"completed 0.3s ago": 2})
                case LoadBody(_, run_id, body) if isinstance(page := self.session.page, Detail):
                    page.take_body(run_id, body, at_once(self.shop.body(1, run_id, body, 40)))


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=60), st.booleans())
def test_whatever_happens_the_screen_draws_and_nothing_acts_unasked(events: list[Any], ascii_only: bool) -> None:
    world = World(ascii_only=ascii_only)
    world.draw()
    for event in [Told(BUSY, 0.0), *events]:
        world.meet(event)
