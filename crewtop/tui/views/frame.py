"""The frame around every view: header above, banner and messages where there are any, keys below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewtop import words
from crewtop.tui.actions import View, key_name
from crewtop.tui.manner import Manner, data
from crewtop.tui.paint import BLANK, Line, Part, Role, Span, bar, clip_spans, joined, line
from crewtop.tui.views import header
from crewtop.tui.views.help import Help, Palette
from crewtop.tui.views.question import Question

if TYPE_CHECKING:
    from crewtop.tui.session import Session

SMALL_HEIGHT = 16
"""Below so many lines the rules go, and the keys at the foot share their line with messages."""


_CONTROL_PICTURES = dict.fromkeys(range(0x2400, 0x2422), "^")


def lines(session: Session, width: int, height: int) -> list[Line]:
    """The whole picture in so many cells and lines."""
    small = height < SMALL_HEIGHT
    rule = [] if small else [_rule(session, width)]
    latencies = (session.latencies[0].shown, session.latencies[1].shown)
    shown, manner = session.picture.shown, session.manner
    first = header.top(shown, latencies, not session.stale, _marks(session), session.pace, width, manner)
    tabs = [header.tabs(session.view, session.keymap, width, manner), *rule]
    top = [first, *([] if session.bare else tabs), *_banner(session, width)]
    message = [_said(text, role, width, session) for text, role in session.message]
    tape = [] if session.tape is None else [session.tape.bar(width, manner)]
    foot = [*message, *tape, *([] if session.bare or (small and message) else [*rule, _keys(session, width)])]
    most = height - len(top) - len(foot) - 1
    question = session.overlay.lines(width, session.manner, most) if isinstance(session.overlay, Question) else []
    room = max(1, height - len(top) - len(foot) - len(question))
    session.body_top = len(top)
    body = session.body(width, room)[:room]
    if session.stale and session.picture.shown is not None:
        body = [part._replace(dim=True) for part in body]
    elif session.picture.shown is None:
        body = [BLANK, line("  ", Span("waiting for the first answer", "muted"))] if session.overlay is None else body
    picture = [*top, *body, *[BLANK] * (room - len(body)), *question, *foot]
    return [_fitted(each, width, session.manner) for each in picture[:height]]


def _fitted(each: Line, width: int, manner: Manner) -> Line:
    """A line as the terminal can have it.

    A view may need more cells than the narrowest have, and an ASCII one knows no pictures of control characters.
    """
    spans = clip_spans(each.spans, width, manner.cut)
    if manner.ascii_only:
        spans = tuple(span._replace(text=span.text.translate(_CONTROL_PICTURES)) for span in spans)
    return each._replace(spans=spans)


def _marks(session: Session) -> list[Span]:
    """What stands beside the clock."""
    marks = []
    shown = session.picture.shown
    if session.wardrobe.production:
        marks.append(Span("PRODUCTION", "wrong", True))
    if session.tape is not None:
        marks.append(Span("RECORDING", "watch", True))
    elif session.read_only:
        marks.append(Span("read-only", "watch"))
    if session.acting.words:
        marks.append(Span(session.acting.words, "moving" if session.acting.progress else "watch", True))
    if session.picture.back_in_time and shown is not None:
        marks.append(Span(f"as of {session.manner.clock(shown.at)}", "watch", True))
    elif session.picture.frozen:
        marks.append(Span("frozen", "watch", True))
    return marks


def _rule(session: Session, width: int) -> Line:
    return line(Span(session.manner.glyph("─") * width, "frame"))


def _banner(session: Session, width: int) -> list[Line]:
    """What is the matter with the data, if anything is."""
    if session.tape is not None and session.page.stream is not None:
        return [Line(clip_spans((Span(f"  {session.tape.only}", "watch"),), width, session.manner.cut), "panel")]
    if session.picture.back_in_time and session.page.want is not None:
        said = "  the picture is of the past, this list is not: p shows what is now"
        return [Line(clip_spans((Span(said, "watch"),), width, session.manner.cut), "panel")]
    if session.picture.shown is not None and not session.stale:
        return []
    if session.picture.trouble is None and session.picture.shown is None:
        return []
    reason = session.picture.trouble or "no answer"
    if session.picture.shown is not None and not session.picture.shown.postgres.up:
        reason = session.picture.trouble or session.picture.shown.postgres.detail or "postgres is down"
    old = ""
    if session.picture.shown is not None:
        at = session.manner.clock(session.picture.shown.at)
        old = f"  data of {at}, {words.duration(float(int(session.picture.age)))} old"
    if session.picture.starting:
        return [Line(clip_spans((data(f"  {reason}", "muted"),), width, session.manner.cut))]
    spans = joined(
        " ",
        Span(session.manner.glyph("●") + " ", "wrong"),
        data(reason, "wrong", True),
        Span(f"{old}  trying again" if session.tape is None else "  as it was recorded", "muted"),
    )
    return [Line(clip_spans(spans, width, session.manner.cut), "panel")]


def _hints(*hints: tuple[str, str], manner: Manner) -> Line:
    parts = [Part(0, joined(Span(manner.own(key), "accent", True), Span(f" {does}", "muted"))) for key, does in hints]
    return line("  ", bar(parts, 200))


def _said(text: str, role: Role, width: int, session: Session) -> Line:
    spans = joined("  ", Span(text, role, role != "text"))
    return Line(clip_spans(spans, width, session.manner.cut), "panel")


def _keys(session: Session, width: int) -> Line:
    """The keys that matter here, the most useful ones where the line is short."""
    enter = session.manner.glyph("⏎")
    match session.overlay:
        case Question():
            return BLANK
        case Help():
            return _hints(("↑ ↓", "scroll"), ("Esc", "back"), ("a key", "does what it says"), manner=session.manner)
        case Palette():
            return _hints((enter, "run"), ("↑ ↓", "choose"), ("Esc", "back"), manner=session.manner)
    if session.page.edit is not None:
        return _hints((enter, "apply"), ("Esc", "keep as it was"), manner=session.manner)
    parts = []
    for command in session.commands:
        elsewhere = command.name == View.CHARTS and session.view is not View.OVERVIEW
        if command.footer and command.keys and not elsewhere:
            label = command.label
            if command.name == "leave":
                label = "quit" if session.view is View.OVERVIEW else "back"
            key = Span(key_name(command.keys[0], session.manner.ascii_only), "accent", True)
            parts.append(Part(command.footer, joined(key, Span(f" {label}", "muted"))))
    return line("  ", bar(parts, width - 4))
