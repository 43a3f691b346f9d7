"""Messages that exceed a model's window, made to fit by a stated policy, with a record of everything that was cut.

In this order, and no further than needed: tool outputs are shortened, oldest first; turns are left out, oldest first;
the newest turn's tool outputs are shortened. What is never touched: system messages, the task (the first message of
the user) and the newest turn's own words. A turn is a message together with the answers to its tool calls, so that no
call is ever parted from its answer, which providers refuse. Every cut leaves a mark in the text that the model reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from crewtop.llm.tokens import Count, Message, count_message, count_prompt, parts, texts

SHORTEST = 200
"""Characters of a tool output below which a rest is of no use: only the mark is left."""
MARK_TOKENS = 120
"""Room for a mark: at most so many bytes."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What was taken out of one message, to be stored with the call.

    index: of the message as it was given. how: shortened (a tool output) or dropped (the whole message).
    characters: how many of its text the model did not get to see.
    """

    index: int
    role: str
    how: Literal["shortened", "dropped"]
    characters: int


@dataclass(frozen=True, slots=True)
class Fitted:
    """Messages as they may be sent, what was cut, and why in words (None: nothing was).

    tokens: of the messages, as counted. fits False: even what must stay exceeds the window, so that the provider
    would refuse the call.
    """

    messages: list[dict[str, Any]]
    dropped: tuple[Cut, ...]
    reason: str | None
    tokens: int
    fits: bool = True


@cache
def listed_window(provider: str, model: str) -> int | None:
    """Tokens that a model takes, in and out together, as genai-prices lists it; None where it does not."""
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, info = get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    return info.context_window


def window(provider: str, model: str, own: Mapping[str, int]) -> int | None:
    """Tokens that a model takes, in and out together; None where unknown, and then nothing is cut.

    own maps 'provider/model' or 'model' to tokens, and wins over the list.
    """
    return own.get(f"{provider}/{model}") or own.get(model) or listed_window(provider, model)


def fit(messages: Sequence[Message], window: int, reserve_output: int, count: Count) -> Fitted:
    """Cut messages until they take at most window - reserve_output tokens.

    reserve_output: tokens kept for the answer and for whatever goes along beside the messages, such as tools.
    The messages given are not changed; those returned are new ones.
    """
    work = _Work([dict(message) for message in messages], window - reserve_output, count)
    if not work.excess():
        return Fitted(work.kept(), (), None, work.total)
    work.cut()
    before = count_prompt(messages, count)
    reason = f"{before} tokens exceed {work.room} of a window of {window}: {_words(work.cuts)}"
    return Fitted(work.kept(), tuple(work.cuts), reason, work.total, not work.excess())


def _words(cuts: Sequence[Cut]) -> str:
    dropped = sum(cut.how == "dropped" for cut in cuts)
    shortened = len(cuts) - dropped
    said = [
        f"{number} {thing}{'s' * (number > 1)} {done}"
        for number, thing, done in ((shortened, "tool output", "shortened"), (dropped, "message", "left out"))
        if number
    ]
    return ", ".join(said) or "nothing that may be cut"


class _Work:
    """Messages being cut. Places of left out messages stay as None, so that an index means the same throughout."""

    def __init__(self, messages: list[dict[str, Any]], room: int, count: Count) -> None:
        self._messages: list[dict[str, Any] | None] = list(messages)
        self._count = count
        self._tokens = [count_message(message, count) for message in messages]
        self._characters = [sum(map(len, texts(message))) for message in messages]
        self._turns = _turns(messages)
        self._task = next((i for i, m in enumerate(messages) if m.get("role") == "user"), None)
        self._note: dict[str, Any] | None = None
        self.room = room
        self.cuts: list[Cut] = []
        self.total = count_prompt(messages, count)

    def excess(self) -> int:
        """Tokens over the room."""
        return max(0, self.total - self.room)

    def kept(self) -> list[dict[str, Any]]:
        """The messages that are left, with a note of those that are not in the place of the first."""
        first = next((i for i, message in enumerate(self._messages) if message is None), 0)
        rest = [message for message in self._messages[first:] if message is not None]
        head = [message for message in self._messages[:first] if message is not None]
        return head + ([self._note] if self._note else []) + rest

    def cut(self) -> None:
        """Apply the policy."""
        older = [turn for turn in self._turns[:-1] if not self._stays(turn)]
        for turn in older:
            self._shorten(turn)
        for turn in older:
            if self.excess():
                self._drop(turn)
        for turn in self._turns[-1:]:
            self._shorten(turn)
        self.cuts.sort(key=lambda cut: cut.index)

    def _stays(self, turn: Sequence[int]) -> bool:
        first = self._messages[turn[0]] or {}
        return turn[0] == self._task or first.get("role") in ("system", "developer")

    def _shorten(self, turn: Sequence[int]) -> None:
        for index in turn:
            message = self._messages[index]
            if message is not None and message.get("role") in ("tool", "function") and self.excess():
                self._shorten_one(index, message)

    def _shorten_one(self, index: int, message: dict[str, Any]) -> None:
        text = "\n".join(texts(message))
        wanted = self._tokens[index] - self.excess() - MARK_TOKENS
        keep = int(len(text) * max(0, wanted) / self._tokens[index])
        while True:
            keep = keep if keep >= SHORTEST else 0
            shorter = message | {"content": _middle_out(text, keep)}
            tokens = count_message(shorter, self._count)
            if keep == 0 or tokens <= wanted + MARK_TOKENS:
                break
            keep //= 2  # the part that is kept was denser than the rest
        if tokens < self._tokens[index]:
            self._replace(index, shorter, tokens)
            self.cuts.append(Cut(index, "tool", "shortened", len(text) - keep))

    def _replace(self, index: int, message: dict[str, Any] | None, tokens: int) -> None:
        self.total += tokens - self._tokens[index]
        self._messages[index], self._tokens[index] = message, tokens

    def _drop(self, turn: Sequence[int]) -> None:
        for index in turn:
            message = self._messages[index]
            assert message is not None  # a turn is dropped once
            self.cuts = [cut for cut in self.cuts if cut.index != index]
            self.cuts.append(Cut(index, str(message.get("role")), "dropped", self._characters[index]))
            self._replace(index, None, 0)
        self._mark()

    def _mark(self) -> None:
        if self._note is not None:
            self.total -= count_message(self._note, self._count)
        dropped = sum(cut.how == "dropped" for cut in self.cuts)
        self._note = {
            "role": "user",
            "content": f"[earlier messages left out to fit the model's window: {dropped}]",
        }
        self.total += count_message(self._note, self._count)


def _middle_out(text: str, keep: int) -> str:
    """The beginning and the end of a text with a mark in between; just a mark where nothing is kept."""
    head, tail = keep - keep // 2, keep // 2
    mark = f"[{len(text) - keep} characters of this output were cut to fit the model's window]"
    return f"{text[:head]}\n{mark}\n{text[len(text) - tail :]}" if keep else mark


def _turns(messages: Sequence[Message]) -> list[list[int]]:
    """Indexes by turn: each message with the tool answers that follow it."""
    turns: list[list[int]] = []
    for index, message in enumerate(messages):
        if turns and _answers_tool(message):
            turns[-1].append(index)
        else:
            turns.append([index])
    return turns


def _answers_tool(message: Message) -> bool:
    return message.get("role") in ("tool", "function") or any(p.get("type") == "tool_result" for p in parts(message))
