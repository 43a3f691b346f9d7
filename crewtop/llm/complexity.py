"""How demanding a prompt is: its shape in counts, and from those a grade by a small sum of weights.

No model is asked and no text is kept: what is stored with a call is its PromptShape, from which the grade can be
worked out again, also by other weights. How the weights came about is told in docs/routing.md.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from crewtop.llm.asking import PromptShape
from crewtop.llm.task_words import ANSWER, LENGTH, SYNTAX, VIETNAMESE, WORK, Phrases, stem
from crewtop.llm.tokens import Message, texts

CHARACTERS_PER_TOKEN = 4
"""OpenAI's rule of thumb for English. A grade needs no more; limits and windows are reckoned with llm/tokens.py."""
FIRST, LAST = 450, 300
"""Characters of a prompt's first paragraph, and of a last one that is no longer, in which the request is looked for.
What is in between, or in quotation marks, is material: its words ask for nothing."""
OUTPUT_TOKENS = {"easy": 60, "moderate": 300, "hard": 900}
"""What is expected back where the request does not say how long."""


class Grade(StrEnum):
    """How demanding a prompt is, that is: the cheapest class of model that does it."""

    EASY = "easy"
    MODERATE = "moderate"
    HARD = "hard"


WEIGHTS = {
    "hard": 2.0,
    "questions": 1.4,
    "joins": 0.6,
    "deep": 0.5,
    "moderate": 0.5,
    "tools": 0.4,
    "brief": -0.9,
    "easy": -1.2,
    "json": -1.2,
    "words": 2.6,
    "terse": -0.3,
}
"""What each sign adds to the score: words by how often 8 of them would have to be doubled, terse by how often the 16
words that an expected answer may be told in would have to be halved."""
CAPS = {
    "hard": 4, "questions": 2, "joins": 4, "deep": 3, "moderate": 3, "tools": 3, "brief": 2, "easy": 2, "json": 1,
    "words": 32,
}  # fmt: skip
"""Above these a count adds nothing more: length alone makes nothing hard."""
MODERATE_FROM, HARD_FROM = 0.7, 6.2
"""Scores at which a prompt counts as moderate and as hard."""


@dataclass(frozen=True, slots=True)
class Graded:
    """A grade, the score behind it, and both in words."""

    grade: Grade
    score: float
    words: str


@lru_cache(256)
def grade(shape: PromptShape) -> Graded:
    """The grade of a prompt by its shape alone."""
    added = {name: WEIGHTS[name] * value for name, value in _signs(shape).items() if value}
    score = sum(added.values())
    thoughtful = shape.hard or (shape.moderate and not shape.easy and not shape.brief)
    if score >= HARD_FROM or shape.hard > 1:  # however short: "Design it and prove it."
        found = Grade.HARD
    else:
        found = Grade.MODERATE if score >= MODERATE_FROM or thoughtful else Grade.EASY
    weighty = sorted(added, key=lambda name: -abs(added[name]))[:3]
    because = ", ".join(f"{name} {added[name]:+.2f}" for name in weighty)
    return Graded(found, round(score, 3), f"{found} at {score:.2f} ({because or 'nothing stands out'})")


def _signs(shape: PromptShape) -> dict[str, float]:
    counts = {name: float(min(getattr(shape, name), cap)) for name, cap in CAPS.items()}
    return counts | {
        "words": math.log2(max(counts["words"], 8) / 8),
        "terse": math.log2(16 / min(max(shape.expected, 2), 16)) if shape.expected else 0.0,
    }


def shape(messages: Sequence[Message], tools: int = 0, *, json: bool = False) -> PromptShape:
    """The shape of a prompt. tools: how many are offered; json: whether the call demands JSON by a response format."""
    characters = sum(len(text) for message in messages for text in texts(message))
    request = _request(*_task_and_answer(messages))
    return replace(
        request,
        input_tokens=-(-characters // CHARACTERS_PER_TOKEN),
        characters=characters,
        tools=tools,
        json=json or request.json,
    )


_CRITERIA = "This is the expected criteria for your final answer:"
_CRITERIA_END = "\nyou MUST return the actual complete content"


def _task_and_answer(messages: Sequence[Message]) -> tuple[str, str]:
    """What is asked, and the answer that CrewAI says is expected: without its frame and the material handed over."""
    text = next(("\n".join(texts(m)) for m in messages if m.get("role", "user") == "user"), "")
    task, _, rest = (text.partition("Current Task:")[2] or text).partition(_CRITERIA)
    task, expected = task.strip(), rest[: 2 * FIRST].partition(_CRITERIA_END)[0][:FIRST]
    first, *more = _PARAGRAPHS.split(task[:FIRST], maxsplit=1)
    *before, last = _PARAGRAPHS.split(task[-LAST - 2 :])
    return (f"{first}\n{last}" if before and (more or len(task) > FIRST) else first), expected


_PARAGRAPHS = re.compile(r"\n\s*\n")
_QUOTED = re.compile(r"[\"“][^\"“”]{12,}[\"”]|(?<!\w)'[^'\n]{12,}'(?!\w)")
_WORD = re.compile("[a-z0-9]+")
_MARKS = re.compile("[\u0300-\u036f]+")
_VIETNAMESE_LETTERS = re.compile("[\u0103\u0111\u01a1\u01b0\u1ea0-\u1ef9]")
_LENGTH = re.compile(
    r"\b(?:(\d{2,4}) (?:words?|tu|chu)|(?:in|most|about|of|khoang|toi da) (\d{1,2}) (?:pages?|trang))\b"
)
TOKENS_A_WORD, TOKENS_A_PAGE = 1.4, 700


@lru_cache(256)
def _request(task: str, expected: str) -> PromptShape:
    """What a request says of itself. An agent asks its crew's question again with each step."""
    asked = _QUOTED.sub(" ", f"{task}\n{expected}")
    words = _words(asked)
    answer = _words(_QUOTED.sub(" ", expected))
    work, syntax = _found(WORK, words), _found(SYNTAX, words)
    deliverable = _found(ANSWER, answer or words)
    likely = "hard" if work["hard"] else "easy" if work["easy"] and not work["moderate"] else "moderate"
    return PromptShape(
        input_tokens=0,
        output_tokens=_stated_length(words) or OUTPUT_TOKENS[likely],
        words=len(words),
        expected=len(answer),
        questions=syntax["questions"],
        joins=syntax["joins"],
        json="json" in words,
        language=_language(asked.lower(), words),
        **work,
        **deliverable,
    )


def _words(text: str) -> list[str]:
    """Lower case without diacritics: Vietnamese is typed with and without them."""
    text = text.lower()
    if not text.isascii():
        text = _MARKS.sub("", unicodedata.normalize("NFD", text)).replace("đ", "d")
    return _WORD.findall(text)


def _found(phrases: Phrases, words: Sequence[str]) -> Counter[str]:
    """How many different phrases there are of each kind; none is a part of another."""
    stems = tuple(map(stem, words))
    seen: set[tuple[tuple[str, ...], str]] = set()
    end = 0
    for start, first in enumerate(stems):
        for phrase, sign in phrases.get(first, ()) if start >= end else ():
            if stems[start : start + len(phrase)] == phrase:
                seen.add((phrase, sign))
                end = start + len(phrase)
                break
    return Counter(sign for _, sign in seen)


def _stated_length(words: Sequence[str]) -> int | None:
    """Tokens of the answer where the request states its length, such as in 200 words or one sentence."""
    if stated := _LENGTH.search(" ".join(words)):
        return int(TOKENS_A_WORD * int(stated[1]) if stated[1] else TOKENS_A_PAGE * int(stated[2]))
    return min(map(int, _found(LENGTH, words)), default=None)


def _language(text: str, words: Sequence[str]) -> str:
    if _VIETNAMESE_LETTERS.search(text) or sum(word in VIETNAMESE for word in words) >= 3:
        return "vi"
    return "en" if not {"the", "a", "to", "of", "is", "and"}.isdisjoint(words) else "?"
