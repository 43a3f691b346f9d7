"""What is asked before nobody is told of an alert for a while, or before they are told again."""

from __future__ import annotations

from datetime import datetime

from crewtop.model.durations import seconds_of
from crewtop.model.problems import Problem
from crewtop.tui.effects import Effect, LiftSilence, Say, SilenceAlert
from crewtop.tui.manner import safe
from crewtop.tui.paint import Span
from crewtop.tui.views.question import Blank, Question

_LONGEST_SECONDS = 366 * 86_400


def about_silence(problem: Problem, at: datetime) -> Question | Say:
    """The question for how long nobody is told, or whether they are told again; at: the database's clock."""
    alert = problem.alert
    if alert is None:
        return Say("nobody is told of this: no rule of [alerts.rules] watches it", "watch")
    if problem.silence is not None:
        said = Span(safe(f"{problem.silence.standing(at)}: whoever is told of alerts is told again"), "muted")
        return Question(f"Lift the silence of {safe(alert.subject)}", ((said,),), "lift", LiftSilence(problem.silence))

    def read(typed: str) -> Effect | str:
        if typed == "end":
            return SilenceAlert(alert, None)
        seconds = seconds_of(typed)
        if seconds is None or not 0 < seconds <= _LONGEST_SECONDS:
            return "use 1h, 8h, 30m, 2d, or end: until it ends"
        return SilenceAlert(alert, seconds)

    said = Span(safe(f"nobody is told of {alert.rule} on {alert.subject}: 1h, 8h, or end: until it ends"), "muted")
    title = f"Silence {safe(alert.subject)} for how long?"
    return Blank(title, ((said,),), "for", Say(""), then=read, enter="silence")
