"""One line that the operator types into."""

from __future__ import annotations

from dataclasses import dataclass

from crewtop.text import shown
from crewtop.tui.paint import Span, Spans

LONGEST = 500
"""Characters that a line of input takes."""


@dataclass
class LineEdit:
    """Text with a cursor between its characters."""

    text: str = ""
    at: int = 0

    def insert(self, typed: str) -> None:
        """Put characters (typed or pasted) at the cursor, made safe to show; what is beyond LONGEST is left out."""
        typed = shown(" ".join(typed.split()) if len(typed) > 1 else typed)[: LONGEST - len(self.text)]
        self.text = self.text[: self.at] + typed + self.text[self.at :]
        self.at += len(typed)

    def type(self, key: str) -> bool:
        """Obey a key: one that edits, or a character; False if it is neither."""
        if len(key) == 1 or key == "space":
            self.insert(" " if key == "space" else key)
            return True
        return self.key(key)

    def key(self, key: str) -> bool:
        """Obey an editing key; False if it is none."""
        match key:
            case "backspace" | "ctrl+h":
                self._cut(max(0, self.at - 1), self.at)
            case "delete":
                self._cut(self.at, self.at + 1)
            case "ctrl+u":
                self._cut(0, self.at)
            case "ctrl+k":
                self._cut(self.at, len(self.text))
            case "ctrl+w":
                self._cut(self.text[: self.at].rstrip().rfind(" ") + 1, self.at)
            case _:
                return self._move(key)
        return True

    def _move(self, key: str) -> bool:
        places = {
            "left": self.at - 1,
            "right": self.at + 1,
            "home": 0,
            "ctrl+a": 0,
            "end": len(self.text),
            "ctrl+e": len(self.text),
        }
        if key not in places:
            return False
        self.at = min(max(0, places[key]), len(self.text))
        return True

    def _cut(self, start: int, end: int) -> None:
        self.text = self.text[:start] + self.text[end:]
        self.at = start

    def spans(self) -> Spans:
        """The text with its cursor, which does not blink: blinking would send bytes for nothing."""
        before, under, after = self.text[: self.at], self.text[self.at : self.at + 1], self.text[self.at + 1 :]
        # What one types is safe, but the filter that led here may hold a queue's name as it is.
        return Span(shown(before), "text", True), Span(shown(under) or " ", "badge"), Span(shown(after), "text", True)
