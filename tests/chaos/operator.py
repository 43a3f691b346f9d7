"""An operator out of their mind: which keys, clicks, pastes and sizes a fuzzed screen gets."""

from __future__ import annotations

import string
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Protocol


class Typed(Protocol):
    """What the operator sits at."""

    def send(self, data: bytes) -> None: ...

    def pause(self, seconds: float) -> None: ...

    def resize(self, columns: int, lines: int) -> None: ...


NAMED = (
    b"\x1b[A", b"\x1b[B", b"\x1b[C", b"\x1b[D", b"\x1b[H", b"\x1b[F", b"\x1b[5~", b"\x1b[6~", b"\x1b[2~", b"\x1b[3~",
    b"\x1b[Z", b"\x1bOP", b"\x1b[15~", b"\x1b[1;5A", b"\x1b[1;2B", b"\x1b[1;5C", b"\r", b"\r", b"\r", b"\x1b", b"\x1b",
    b"\t", b"\x7f", b" ", *(bytes([code]) for code in range(1, 27) if code not in (3, 13, 17, 19, 26)),
)  # fmt: skip
"""Without ^S, which holds up a pager's terminal for ever, and ^Z: a suspended screen is not a blocked one."""

PRINTABLE = tuple(key.encode() for key in (*string.printable[:95], "é", "日") if key != "q")
WAYS = tuple(
    way.encode()
    for way in (
        "1", "2", "3", "4", "5", "6", "7", "c", "2jj\r", "2j\rl", "2j\re", "2j\ri/a\rnnf", "2j\ro", "2j\rr\r",
        "2/status:failed\r", "2/crew:na\t\r", "2s\r", "2vj \r", "2\\", "3\r", "4\t\r", "6l", "6 ", "6\r", "7\r",
        ":retry\r\r", ":theme\r", "?\x1b", "#1\r", "p", "[[[", "]]]", "{", "}", "t",
    )
)  # fmt: skip
ACTS = (
    "2 R\r", "2jR\r", "2*C\r", "2 C\r", "2jU\r", "2jF\r", "2 N\r", "2MA\r\r", "2jjB1\r\r", "2X\r", "2A", "R\r", "3R\r",
    "4>", "4<", "4=8\r", "4D\r", "4K\r", "7H", "7C\r", "1P\r", "u\r",
)  # fmt: skip
"""What is done to tasks, workers and queues: struck as a sane operator would, or little of it would come about."""

QUITS = (b"\x03", b"\x11", b"qqqq")
GARBAGE = (
    b"\x1b[999~", b"\x1b[<0;9999;9999M", b"\x1b]11;rgb:0/0/0\x07", b"\x1b[?1;2c", b"\xff\xfe", b"\x1b[200~",
    b"\x1b[201~",
)  # fmt: skip


@dataclass
class Operator:
    """Strikes at random; done counts what of."""

    draw: Random
    columns: int = 120
    lines: int = 40
    done: Counter[str] = field(default_factory=Counter)

    def strike(self, screen: Typed) -> None:
        """Do one thing to the screen."""
        kinds = {
            self._key: 60, self._name: 20, self._way: 6, self._act: 2, self._click: 6, self._wheel: 6, self._paste: 2,
            self._resize: 2, self._garbage: 1, self._quit: 0.1,
        }  # fmt: skip
        (kind,) = self.draw.choices(list(kinds), weights=list(kinds.values()))
        self.done[kind.__name__.strip("_")] += 1
        kind(screen)

    def _key(self, screen: Typed) -> None:
        screen.send(self.draw.choice(PRINTABLE))

    def _name(self, screen: Typed) -> None:
        screen.send(self.draw.choice(NAMED))

    def _way(self, screen: Typed) -> None:
        screen.send(self.draw.choice(WAYS))

    def _act(self, screen: Typed) -> None:
        """Out of whatever is open and back from the past; then one key after the other, each after a look."""
        screen.send(b"\x1b")
        screen.pause(0.15)
        screen.send(b"}}}")
        for key in self.draw.choice(ACTS):
            screen.send(key.encode())
            screen.pause(0.05)

    def _click(self, screen: Typed) -> None:
        x, y = self.draw.randint(1, self.columns), self.draw.randint(1, self.lines)
        button = self.draw.choice((0, 0, 0, 1, 2))
        screen.send(f"\x1b[<{button};{x};{y}M\x1b[<{button};{x};{y}m".encode())

    def _wheel(self, screen: Typed) -> None:
        turns = self.draw.randint(1, 10)
        screen.send(f"\x1b[<{self.draw.choice((64, 65))};9;9M".encode() * turns)

    def _paste(self, screen: Typed) -> None:
        text = self.draw.choice(("failed", "R\r", "日本語", "x" * 2_000, "queue:default age>1s", "two\nlines"))
        screen.send(b"\x1b[200~" + text.encode() + b"\x1b[201~")

    def _resize(self, screen: Typed) -> None:
        self.columns, self.lines = self.draw.randint(20, 250), self.draw.randint(5, 70)
        screen.resize(self.columns, self.lines)

    def _garbage(self, screen: Typed) -> None:
        screen.send(self.draw.choice(GARBAGE))

    def _quit(self, screen: Typed) -> None:
        screen.send(self.draw.choice(QUITS))
