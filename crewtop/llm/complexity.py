"""How demanding a prompt is: its shape in counts, and from those a grade by a small sum of weights.

No model is asked and no text is kept: what is stored with a call is its PromptShape, from which the grade can be
worked out again, also by other weights. How the weights came about is told in docs/routing.md.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from crewtop.llm.asking import PromptShape
from crewtop.llm.task_words import EASY, HARD, LENGTHS, MODERATE, REASONS, VIETNAMESE
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


WEIGHTS = {"hard": 2.1, "moderate": 0.4, "easy": -1.0, "questions": 0.6, "words": 1.4, "sentences": 0.4, "joins": 0.5}
"""What each sign of the request adds to the score, words by how often 8 of them would have to be doubled."""
CAPS = {"hard": 3, "moderate": 3, "easy": 2, "questions": 2, "words": 64, "sentences": 3, "joins": 4}
"""Above these a count adds nothing more."""
MODERATE_FROM, HARD_FROM = 1.2, 4.7
"""Scores at which a prompt counts as moderate and as hard."""


@dataclass(frozen=True, slots=True)
class Graded:
    """A grade, the score behind it, and both in words."""

    grade: Grade
    score: float
    words: str


def grade(shape: PromptShape) -> Graded:
    """The grade of a prompt by its shape alone."""
    signs = _signs(shape)
    score = sum(WEIGHTS[name] * value for name, value in signs.items())
    thoughtful = shape.hard > 0 or (shape.moderate > 0 and not shape.easy)  # however short: "Summarise this."
    at_least = Grade.MODERATE if thoughtful or score >= MODERATE_FROM else Grade.EASY
    found = Grade.HARD if score >= HARD_FROM else at_least
    weighty = sorted((n for n, v in signs.items() if v), key=lambda n: -abs(WEIGHTS[n] * signs[n]))[:3]
    because = ", ".join(f"{name} {WEIGHTS[name] * signs[name]:+.2f}" for name in weighty)
    return Graded(found, round(score, 3), f"{found} at {score:.2f} ({because or 'nothing stands out'})")


def _signs(shape: PromptShape) -> dict[str, float]:
    counts = {name: min(getattr(shape, name), cap) for name, cap in CAPS.items()}
    return counts | {"words": math.log2(max(counts["words"], 8) / 8)}


def shape(messages: Sequence[Message], tools: int = 0, *, json: bool = False) -> PromptShape:
    """The shape of a prompt. tools: how many are offered; json: whether the call demands JSON by a response format."""
    whole = [text for message in messages for text in texts(message)]
    characters = sum(map(len, whole))
    request = _request(messages)
    words = f" {_plain(request)} "
    hard, moderate, easy = (len(set(pattern.findall(words))) for pattern in (HARD, MODERATE, EASY))
    likely = "hard" if hard else "easy" if easy and not moderate else "moderate"
    return PromptShape(
        input_tokens=-(-characters // CHARACTERS_PER_TOKEN),
        output_tokens=_stated_length(words) or OUTPUT_TOKENS[likely],
        characters=characters,
        lines=sum(text.count("\n") + 1 for text in whole),
        hard=hard,
        moderate=moderate,
        easy=easy,
        words=words.count(" ") - 1,
        sentences=len(_SENTENCE.findall(request)),
        joins=len(_JOIN.findall(words)),
        steps=_steps(request, words),
        questions=len(REASONS.findall(words)),
        tools=tools,
        code=any(sign in text for text in whole for sign in CODE_SIGNS),
        numbers=len(_NUMBER.findall(request)) >= MANY_NUMBERS,
        json=json or " json " in words,
        language=_language(request),
    )


CODE_SIGNS = ("```", "Traceback (most", "\ndef ", "\nclass ", "    return ", "SELECT ", ") {", ");", "=> {", "#!/")
"""What hardly ever stands in prose. Looked for as they are: a pattern would cost more than all the rest."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
MANY_NUMBERS = 6
_LISTED = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s+\S", re.M)
_SENTENCE = re.compile(r"[.?!](?:\s|$)")
_JOIN = re.compile(r"\b(?:and|or|but|if|when|even|va|hay|hoac|neu|khi|ke ca)\b")
_THEN = re.compile(r" (?:then|after that|finally|next|also|sau do|roi|cuoi cung|dong thoi|tiep theo) ")


def _request(messages: Sequence[Message]) -> str:
    """What is asked: the user's first message without CrewAI's frame and the material that it hands over."""
    text = next(("\n".join(texts(m)) for m in messages if m.get("role") == "user"), "")
    task, _, rest = (text.partition("Current Task:")[2] or text).partition(_CRITERIA)
    return _QUOTED.sub(" ", f"{_asking(task)}\n{rest.partition(_CRITERIA_END)[0][:FIRST]}")


_CRITERIA = "This is the expected criteria for your final answer:"
_CRITERIA_END = "\nyou MUST return the actual complete content"
_QUOTED = re.compile(r"[\"“][^\"“”]{12,}[\"”]")


def _asking(task: str) -> str:
    first, *more = re.split(r"\n\s*\n", task.strip())
    last = more[-1] if more and len(more[-1]) <= LAST else ""
    return f"{first[:FIRST]}\n{last}"


def _plain(text: str) -> str:
    """Lower case without diacritics, words parted by single spaces: Vietnamese is typed with and without them."""
    bare = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if not unicodedata.combining(c))
    return " ".join(re.findall(r"[a-z0-9]+", bare.replace("đ", "d")))


def _steps(request: str, words: str) -> int:
    """Things asked for one after another: list items and words such as then, each counted once."""
    return len(_LISTED.findall(request)) + len(_THEN.findall(words))


def _stated_length(words: str) -> int | None:
    """Tokens of the answer where the request states its length, such as in 200 words or one sentence."""
    for pattern, tokens in LENGTHS:
        found = pattern.search(words)
        if found:
            return int(tokens * int(found[1])) if found.groups() else int(tokens)
    return None


def _language(text: str) -> str:
    words = f" {_plain(text)} "
    if re.search(r"[ăâđêôơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ]", text.lower()):
        return "vi"
    return (
        "vi" if len(VIETNAMESE.findall(words)) >= 3 else "en" if re.search(r" (?:the|a|to|of|is|and) ", words) else "?"
    )
