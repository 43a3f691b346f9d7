"""Route 300 labelled prompts by rules and complexity: what it saves against the dearest model, and how often it errs.

Target: 73 % saved. A prompt's label is the cheapest class of model that does it; docs/routing.md says how labels came
about and what they are worth. Every second prompt trained the weights; errors are reported for the other half, and for
60 prompts that were written after the words were, in other fields and other phrases: those tell most.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from benchmarks.servers import table
from crewtop.llm.asking import CallAsk
from crewtop.llm.complexity import Grade, shape
from crewtop.llm.routes import AUTO, Model, Prices, Routes, choose, listed
from crewtop.model.pricing import Tokens

PROMPTS = Path(__file__).parent / "prompts"
MODELS = {
    Grade.EASY: Model("openai", "gpt-6-luna"),
    Grade.MODERATE: Model("openai", "gpt-6.1-terra"),
    Grade.HARD: Model("openai", "gpt-6-astra"),
}
TARGET = 0.73
GRADES = tuple(Grade)
MIXES = {"as the set: thirds": (1, 1, 1), "60 : 30 : 10": (60, 30, 10), "70 : 20 : 10": (70, 20, 10)}
"""Weights by grade: the set as it is, and two mixes with more plain work, which are assumptions about a queue."""
SAME = Tokens(1_000, 0, 0, 250, 0)
"""Every call of one size, as savings by routing are usually reckoned. In truth plain work has the shortest answers."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A labelled prompt. tokens: what it takes and what a good answer takes, by the author's estimate."""

    grade: Grade
    language: str
    part: str
    tokens: Tokens
    sent_to: Grade


def main() -> None:
    """Print the tables."""
    prices = listed({})
    prompts = [prompt for grade in GRADES for prompt in read(grade, prices)]
    fresh = list(read("fresh", prices))
    held_out = [prompt for prompt in prompts if prompt.part == "held out"]
    print(f"\n{len(prompts)} prompts; models by grade, US dollars a million tokens:")
    for grade, model in MODELS.items():
        rates = [prices(model, tokens) for tokens in (Tokens(10_000, 0, 0, 0, 0), Tokens(0, 0, 0, 10_000, 0))]
        print(f"  {grade}: {model}, {' in, '.join(f'{rate * 100:.2f}' for rate in rates if rate is not None)} out")
    table("Saved against all on the dearest", list(_saved(prompts, prices)))
    table(f"Labels against grades, {len(held_out)} held out", list(_confusion(held_out)))
    table(f"Labels against grades, {len(fresh)} fresh", list(_confusion(fresh)))
    table("Errors", list(_errors([*prompts, *fresh])))


def read(name: str, prices: Prices) -> Iterable[Prompt]:
    """The prompts of a file with the grade that the router gives each."""
    routes = Routes(otherwise=AUTO, models=MODELS)
    for number, line in enumerate((PROMPTS / f"{name}.jsonl").read_text("utf-8").splitlines(), 1):
        record = json.loads(line)
        prompt = shape([{"role": "user", "content": record["prompt"]}])
        ask = CallAsk(record["id"], "openai", AUTO, 0, record["area"], "default", 3)
        choice = choose(ask, prompt, routes, prices, lambda _: None)
        assert choice.grade is not None  # AUTO grades
        tokens = Tokens(prompt.input_tokens, 0, 0, record["output_tokens"], 0)
        part = name if name == "fresh" else "held out" if number % 2 else "trained on"
        yield Prompt(Grade(record["grade"]), record["language"], part, tokens, choice.grade)


def _saved(prompts: Sequence[Prompt], prices: Prices) -> Iterable[tuple[str, ...]]:
    yield ("calls, easy : moderate : hard", "tokens", "routed", "if every grade were right", "of the target")
    for mix, weights in MIXES.items():
        weight = dict(zip(GRADES, weights, strict=True))
        for sizes, same in (("as each takes", None), ("the same for all", SAME)):

            def bill(
                to: Callable[[Prompt], Grade], weight: dict[Grade, int] = weight, same: Tokens | None = same
            ) -> float:
                costs = (prices(MODELS[to(p)], same or p.tokens) or Decimal("NaN") for p in prompts)
                return float(sum(weight[p.grade] * cost for p, cost in zip(prompts, costs, strict=True)))

            dearest = bill(lambda _: Grade.HARD)
            routed, best = 1 - bill(lambda p: p.sent_to) / dearest, 1 - bill(lambda p: p.grade) / dearest
            yield (mix, sizes, f"{routed:.1%}", f"{best:.1%}", f"{routed / TARGET:.2f}")


def _confusion(prompts: Sequence[Prompt]) -> Iterable[tuple[str, ...]]:
    yield ("label", *(f"sent to {grade}" for grade in GRADES))
    for label in GRADES:
        sent = Counter(prompt.sent_to for prompt in prompts if prompt.grade == label)
        yield (label, *(str(sent[grade]) for grade in GRADES))


def _errors(prompts: Sequence[Prompt]) -> Iterable[tuple[str, ...]]:
    yield ("prompts", "graded wrong", "sent too low", "hard ones sent too low")
    for part in ("trained on", "held out", "fresh"):
        for language in ("en", "vi"):
            some = [p for p in prompts if p.part == part and p.language == language]
            hard = [p for p in some if p.grade == Grade.HARD]
            wrong, low = _share(some, lambda p: p.sent_to != p.grade), _share(some, _too_low)
            yield (f"{len(some)} {part}, {language}", wrong, low, _share(hard, _too_low))


def _too_low(prompt: Prompt) -> bool:
    return GRADES.index(prompt.sent_to) < GRADES.index(prompt.grade)


def _share(prompts: Sequence[Prompt], test: Callable[[Prompt], bool]) -> str:
    return f"{sum(map(test, prompts)) / len(prompts):.1%}"


if __name__ == "__main__":
    main()
