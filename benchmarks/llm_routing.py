"""Route labelled prompts by how demanding they are: what it saves against the dearest model, and how often it errs.

Target: 73 % saved. A prompt's label is the cheapest class of model that does it; docs/routing.md says how labels came
about, what they are worth, and what is assumed of a crew's traffic. Errors are reported apart for prompts that trained
the weights, for those that were held out from them, and for 100 that were labelled before the grading was last changed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from benchmarks.servers import table
from crewtop.llm.asking import CallAsk
from crewtop.llm.complexity import Grade, shape
from crewtop.llm.routes import AUTO, Model, Prices, Routes, choose, listed
from crewtop.model.pricing import Tokens

PROMPTS = Path(__file__).parent / "prompts"
GRADES = tuple(Grade)
TIERS = (
    ("openai/gpt-6-luna", "openai/gpt-6.1-terra", "openai/gpt-6-astra"),
    ("openai/gpt-5-nano", "openai/gpt-5-mini", "openai/gpt-5"),
    ("openai/gpt-4.1-nano", "openai/gpt-4.1-mini", "openai/gpt-4.1"),
    ("anthropic/claude-haiku-5-5", "anthropic/claude-sonnet-5-5", "anthropic/claude-opus-5-5"),
)
"""A cheap, a middle and a dear model of one provider; the first three are compared where one will do."""
TARGET = 0.73
CREWS = (60, 30, 10)
MIXES = ((80, 15, 5), (70, 20, 10), CREWS, (40, 40, 20), (1, 1, 1))
"""Calls by grade. The set itself has a third of each, so that errors of each are seen."""
CONTEXTS = (0, 1_000, 3_000, 6_000)
CREWS_CONTEXT = 3_000
"""Tokens that a crew's call takes beside its request: role, tools, what earlier steps found."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A labelled prompt. tokens: what it takes and what a good answer takes, by the author's estimate."""

    grade: Grade
    language: str
    part: str
    tokens: Tokens
    sent_to: Grade


@dataclass(frozen=True, slots=True)
class Bill:
    """US dollars for some prompts: all on the dearest model, each on its label's, each on the one it was sent to, and
    the same when those that were sent too low have to be made again by the label's.
    """

    dearest: Decimal
    right: Decimal
    routed: Decimal
    mended: Decimal

    def saved(self) -> tuple[str, str, str]:
        """Shares of the dearest bill."""
        right, routed, mended = (f"{1 - cost / self.dearest:.1%}" for cost in (self.right, self.routed, self.mended))
        return right, routed, mended


def main() -> None:
    """Print the tables."""
    prices = listed({})
    whole = [prompt for grade in GRADES for prompt in read(grade, "")]
    new = list(read("crews", "new, framed"))
    parts = [*whole, *read("fresh", "trained on"), *read("crews_trained", "trained on"), *new]
    bills = ("if every grade were right", "as routed", "and mended")
    table(
        f"Saved on the {len(whole)} prompts as crews' calls, {_mix(CREWS)}, {CREWS_CONTEXT} tokens of context",
        [("models", *bills), *((" ".join(t), *bill(whole, t, prices, CREWS, CREWS_CONTEXT).saved()) for t in TIERS)],
    )
    table(
        f"Saved on the {len(new)} new prompts, the same",
        [("models", *bills), *((" ".join(t), *bill(new, t, prices, CREWS, CREWS_CONTEXT).saved()) for t in TIERS)],
    )
    sizes = [f"{context} of context" for context in CONTEXTS]
    table(
        f"Saved and mended on the {len(whole)} prompts, by what the traffic is like, {' '.join(TIERS[0])}",
        [("calls, easy : moderate : hard", *sizes), *_sensitivity(whole, prices)],
    )
    for part in ("trained on", "held out", "new, framed"):
        some = [prompt for prompt in parts if prompt.part == part]
        table(f"Labels against grades, {len(some)} {part}", list(_confusion(some)))
    table("Errors", list(_errors(parts)))


def read(name: str, part: str) -> Iterable[Prompt]:
    """A file's prompts with the grade that the router gives each. part "": every second one trained the weights."""
    routes = Routes(otherwise=AUTO, models={grade: Model("x", grade) for grade in GRADES})
    for number, line in enumerate((PROMPTS / f"{name}.jsonl").read_text("utf-8").splitlines(), 1):
        record = json.loads(line)
        seen = shape(messages(record), record.get("tools", 0))
        ask = CallAsk(record["id"], "x", AUTO, 0, record["area"], "default", 3)
        choice = choose(ask, seen, routes, lambda _, __: None, lambda _: None)
        assert choice.grade is not None  # AUTO grades
        tokens = Tokens(seen.input_tokens, 0, 0, record["output_tokens"], 0)
        of = part or ("held out" if number % 2 else "trained on")
        yield Prompt(Grade(record["grade"]), record["language"], of, tokens, choice.grade)


def messages(record: dict[str, Any]) -> list[dict[str, str]]:
    """A prompt as it is sent: in CrewAI's frame where it has a role and an expected answer."""
    if "role" not in record:
        return [{"role": "user", "content": record["prompt"]}]
    task = (
        f"\nCurrent Task: {record['prompt']}\n\nThis is the expected criteria for your final answer: "
        f"{record['expected']}\nyou MUST return the actual complete content as the final answer, not a summary."
    )
    system = f"You are {record['role']}. \nYour personal goal is: {record['goal']}"
    return [{"role": "system", "content": system}, {"role": "user", "content": task}]


def bill(prompts: Sequence[Prompt], tier: Sequence[str], prices: Prices, mix: Sequence[int], context: int) -> Bill:
    """What prompts cost if their grades came in this mix. context: tokens that each takes beside its own."""
    models = {grade: Model(*name.split("/")) for grade, name in zip(GRADES, tier, strict=True)}
    among = Counter(prompt.grade for prompt in prompts)
    weight = {grade: Decimal(part) / among[grade] for grade, part in zip(GRADES, mix, strict=True)}

    def total(to: Callable[[Prompt], Grade]) -> Decimal:
        return sum((weight[p.grade] * cost(p, to(p)) for p in prompts), Decimal(0))

    def cost(prompt: Prompt, grade: Grade) -> Decimal:
        used = Tokens(prompt.tokens.input + context, 0, 0, prompt.tokens.output, 0)
        found = prices(models[grade], used)
        assert found is not None  # these models are listed
        return found

    again = sum((weight[p.grade] * cost(p, p.grade) for p in prompts if _too_low(p)), Decimal(0))
    routed = total(lambda p: p.sent_to)
    return Bill(total(lambda _: Grade.HARD), total(lambda p: p.grade), routed, routed + again)


def _sensitivity(prompts: Sequence[Prompt], prices: Prices) -> Iterable[tuple[str, ...]]:
    for mix in MIXES:
        yield _mix(mix), *(bill(prompts, TIERS[0], prices, mix, context).saved()[2] for context in CONTEXTS)


def _mix(mix: Sequence[int]) -> str:
    return " : ".join(map(str, mix))


def _confusion(prompts: Sequence[Prompt]) -> Iterable[tuple[str, ...]]:
    yield ("label", *(f"sent to {grade}" for grade in GRADES))
    for label in GRADES:
        sent = Counter(prompt.sent_to for prompt in prompts if prompt.grade == label)
        yield (label, *(str(sent[grade]) for grade in GRADES))


def _errors(prompts: Sequence[Prompt]) -> Iterable[tuple[str, ...]]:
    yield ("prompts", "graded wrong", "sent too low", "sent too high", "hard ones sent too low", "hard to easy")
    for part in ("trained on", "held out", "new, framed"):
        for language in ("en", "vi"):
            some = [p for p in prompts if p.part == part and p.language == language]
            hard = [p for p in some if p.grade == Grade.HARD]
            yield (
                f"{len(some)} {part}, {language}",
                _share(some, lambda p: p.sent_to != p.grade),
                _share(some, _too_low),
                _share(some, lambda p: p.sent_to != p.grade and not _too_low(p)),
                _share(hard, _too_low),
                _share(hard, lambda p: p.sent_to == Grade.EASY),
            )


def _too_low(prompt: Prompt) -> bool:
    return GRADES.index(prompt.sent_to) < GRADES.index(prompt.grade)


def _share(prompts: Sequence[Prompt], test: Callable[[Prompt], bool]) -> str:
    return f"{sum(map(test, prompts)) / len(prompts):.1%}"


if __name__ == "__main__":
    main()
