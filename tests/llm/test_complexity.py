"""What is seen of a prompt, and how demanding it is taken to be."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewtop.llm.asking import PromptShape
from crewtop.llm.complexity import Grade, grade, shape

PROMPTS = Path(__file__).parents[2] / "benchmarks" / "prompts"


def of(text: str, **more: object) -> PromptShape:
    return shape([{"role": "user", "content": text}], **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Classify this ticket, one word: my card was charged twice.", Grade.EASY),
        ("Dịch sang tiếng Anh: hàng sẽ tới chiều nay.", Grade.EASY),
        ("Summarise this conversation for the account manager.", Grade.MODERATE),
        ("Viết thư xin lỗi khách vì giao hàng trễ.", Grade.MODERATE),
        ("Design a job queue and prove that it loses nothing.", Grade.HARD),
        ("Phân tích nguyên nhân gốc rễ và đề xuất chiến lược.", Grade.HARD),
    ],
)
def test_plain_work_some_thought_and_demanding_work_in_both_languages(text: str, expected: Grade) -> None:
    assert grade(of(text)).grade == expected


@pytest.mark.parametrize(
    ("marked", "bare"),
    [
        ("Thiết kế hệ thống chịu lỗi, nêu rõ đánh đổi", "thiet ke he thong chiu loi, neu ro danh doi"),
        ("Tóm tắt khiếu nại này cho quản lý", "tom tat khieu nai nay cho quan ly"),
        ("Liệt kê các số tiền trong đoạn sau", "liet ke cac so tien trong doan sau"),
    ],
)
def test_vietnamese_counts_the_same_without_its_marks(marked: str, bare: str) -> None:
    one, other = of(marked), of(bare)
    assert (one.hard, one.moderate, one.easy) == (other.hard, other.moderate, other.easy)
    assert grade(one).grade == grade(other).grade


def test_the_words_of_quotations_and_material_ask_for_nothing() -> None:
    material = "We must design a strategy and prove it. " * 40
    assert of(f"Classify this.\n\n{material}").hard == 0
    assert of('Translate: "please design a strategy and prove it"').hard == 0


def test_a_request_at_the_end_is_seen_too() -> None:
    assert of(f"{'Notes of a meeting. ' * 80}\n\nDesign the architecture.").hard == 2


def test_crewais_frame_is_no_part_of_the_request() -> None:
    framed = of(
        "\nCurrent Task: Classify the ticket.\n\nThis is the expected criteria for your final answer: One word.\n"
        "you MUST return the actual complete content as the final answer, not a summary.\n\n"
        "This is the context you're working with:\nDesign and prove a strategy.\n\nBegin! This is VERY important to you"
    )
    assert (framed.hard, framed.moderate, framed.easy) == (0, 0, 2)
    assert framed.output_tokens == 10


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Write it in 200 words.", 280),
        ("Viết khoảng 100 từ.", 140),
        ("Answer yes or no.", 10),
        ("Trả lời bằng một câu.", 50),
        ("A report of 3 pages.", 2_100),
        ("Three deploys, 2 pages at night.", 300),
    ],
)
def test_a_stated_length_is_what_is_expected_back(text: str, tokens: int) -> None:
    assert of(text).output_tokens == tokens


def test_flags_and_counts() -> None:
    seen = of("1. Compare both.\n2. Return JSON.\n```python\nx = 1\n```\nWhy 1 2 3 4 5 6?", tools=3)
    assert (seen.steps, seen.questions, seen.tools, seen.lines) == (2, 1, 3, 6)
    assert seen.code
    assert seen.numbers
    assert seen.json
    assert of("hello", json=True).json


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What is the state of the order?", "en"),
        ("Đơn hàng tới đâu rồi?", "vi"),
        ("khach muon doi hang cho minh trong tuan nay", "vi"),
        ("Wo bleibt das Paket?", "?"),
        ("", "?"),
    ],
)
def test_the_language_is_guessed(text: str, language: str) -> None:
    assert of(text).language == language


def test_a_grade_says_what_weighed_most() -> None:
    assert grade(of("Design it and prove it.")).words == ("hard at 5.10 (hard +4.20, joins +0.50, sentences +0.40)")


@given(st.lists(st.fixed_dictionaries({"role": st.sampled_from(["system", "user"]), "content": st.text()})))
def test_any_messages_have_a_shape_without_their_text(messages: list[dict[str, str]]) -> None:
    seen = shape(messages)
    assert grade(seen).grade in Grade
    assert seen.characters == sum(len(message["content"]) for message in messages)
    assert all(isinstance(value, int | bool) or value in ("en", "vi", "?") for value in asdict(seen).values())


def test_more_demanding_words_never_lower_a_grade() -> None:
    scores = [grade(PromptShape(100, 300, hard=hard)).score for hard in range(6)]
    assert scores == sorted(scores)


def test_the_labelled_set_is_whole_and_graded_about_as_well_as_documented() -> None:
    wrong = 0
    for label in Grade:
        records = [json.loads(line) for line in (PROMPTS / f"{label}.jsonl").read_text("utf-8").splitlines()]
        assert len(records) == 100
        assert sum(record["language"] == "vi" for record in records) == 40
        wrong += sum(grade(of(record["prompt"])).grade != label for record in records)
    assert wrong <= 36
