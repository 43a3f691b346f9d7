"""What each command comes to that concerns the screen as a whole; the others are the open view's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from crewtop.tui.actions import View
from crewtop.tui.effects import Effect, Quit, Refresh, Repaint, Say, Suspend
from crewtop.tui.options import INTERVALS_SECONDS
from crewtop.tui.past import STEPS_A_MINUTE
from crewtop.tui.views.help import Help, Palette
from crewtop.tui.views.question import Question, about_id

if TYPE_CHECKING:
    from crewtop.tui.session import Session
    from crewtop.tui.tape import Tape


def _back(session: Session) -> None:
    session.ways.back()


def _leave(session: Session) -> Effect | None:
    return None if session.ways.leave() else Quit()


def _last_view(session: Session) -> None:
    session.ways.last()


def _filter(session: Session) -> None:
    if session.view is View.OVERVIEW:
        session.ways.go(View.TASKS)
    session.page.do("filter", session.body_height)


def _help(session: Session) -> None:
    session.overlay = Help(session.commands, session.page.columns)


def _palette(session: Session) -> None:
    session.overlay = Palette(session.commands)


def _everything(session: Session) -> Effect:
    return session.acting.everything(session.page.typed)


def _undo(session: Session) -> Effect | Question:
    shown = session.picture.shown
    return session.acting.undo(shown.at if shown is not None else None)


def _freeze(session: Session) -> None:
    session.picture.freeze()
    session.show()


def _step(session: Session, steps: int) -> Effect | None:
    why_not = session.picture.step(steps)
    session.show()
    return Say(why_not) if why_not is not None else None


def _bare(session: Session) -> None:
    session.bare = not session.bare


def _utc(session: Session) -> None:
    session.manner.utc = not session.manner.utc


def _theme(session: Session) -> Effect:
    session.wardrobe.next()
    return Say(f"theme {session.wardrobe.theme}")


def _slower(session: Session) -> None:
    session.interval = next((i for i in INTERVALS_SECONDS if i > session.interval), session.interval)


def _faster(session: Session) -> Effect:
    session.interval = next((i for i in reversed(INTERVALS_SECONDS) if i < session.interval), session.interval)
    return Refresh()  # or the old pause would have to end first


def _on_tape(do: Callable[[Tape], Effect], session: Session) -> Effect | None:
    return do(session.tape) if session.tape is not None else None


def _jump(session: Session) -> Question | None:
    from crewtop.tui.tape import about_time  # and what reads recordings: only a replay needs it

    return about_time(session.tape, session.manner) if session.tape is not None else None


DOES: Mapping[str, Callable[[Session], Effect | Question | None]] = {
    "back": _back,
    "leave": _leave,
    "last_view": _last_view,
    "go_to_id": lambda _: about_id(),
    "quit": lambda _: Quit(),
    "filter": _filter,
    "help": _help,
    "palette": _palette,
    "everything": _everything,
    "undo": _undo,
    "freeze": _freeze,
    "earlier": partial(_step, steps=-1),
    "later": partial(_step, steps=1),
    "minute_back": partial(_step, steps=-STEPS_A_MINUTE),
    "minute_on": partial(_step, steps=STEPS_A_MINUTE),
    "refresh": lambda _: Refresh(),
    "repaint": lambda _: Repaint(),
    "suspend": lambda _: Suspend(),
    "bare": _bare,
    "utc": _utc,
    "theme": _theme,
    "slower": _slower,
    "faster": _faster,
    "play": partial(_on_tape, lambda tape: tape.play()),
    "step_back": partial(_on_tape, lambda tape: tape.step(-1)),
    "step_on": partial(_on_tape, lambda tape: tape.step(1)),
    "tape_minute_back": partial(_on_tape, lambda tape: tape.move(-60)),
    "tape_minute_on": partial(_on_tape, lambda tape: tape.move(60)),
    "jump": _jump,
    "next_problem": partial(_on_tape, lambda tape: tape.next_mark(1)),
    "last_problem": partial(_on_tape, lambda tape: tape.next_mark(-1)),
    "tape_faster": partial(_on_tape, lambda tape: tape.pace(1)),
    "tape_slower": partial(_on_tape, lambda tape: tape.pace(-1)),
}
"""By the command's name."""
