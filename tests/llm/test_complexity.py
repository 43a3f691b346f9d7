"""What is seen of a prompt, and how demanding it is taken to be."""

from __future__ import annotations

import json
from dataclasses import asdict
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.llm_routing import CREWS, CREWS_CONTEXT, PROMPTS, TARGET, TIERS, bill, messages, read
from crewtop.llm.asking import PromptShape
from crewtop.llm.complexity import Grade, grade, shape
from crewtop.llm.routes import listed


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


def framed(task: str, expected: str, context: str = "") -> str:
    return (
        f"\nCurrent Task: {task}\n\nThis is the expected criteria for your final answer: {expected}\n"
        "you MUST return the actual complete content as the final answer, not a summary.\n\n"
        f"This is the context you're working with:\n{context}\n\nBegin! This is VERY important to you"
    )


def test_crewais_frame_is_no_part_of_the_request() -> None:
    seen = of(framed("Classify the ticket.", "One word", "Design and prove a strategy."))
    assert (seen.hard, seen.moderate, seen.easy, seen.brief, seen.expected) == (0, 0, 1, 1, 2)
    assert seen.output_tokens == 10


def test_what_the_answer_is_to_be_tells_as_much_as_the_request() -> None:
    task = "Look at the five claims of this customer."
    assert grade(of(framed(task, "One number"))).grade == Grade.EASY
    reasoned = "A ranked list of risks, the evidence for each, your assumptions and what would change the conclusion"
    assert grade(of(framed(task, reasoned))).grade == Grade.HARD


def test_length_alone_makes_nothing_hard() -> None:
    assert grade(of("The parcel went to the depot on Monday. " * 11)).grade == Grade.MODERATE


@pytest.mark.parametrize("text", ["Analyse it.", "They are analysing it.", "It was analysed."])
def test_a_word_counts_in_any_of_its_forms(text: str) -> None:
    assert of(text).hard == 1


def test_a_phrase_counts_once_whatever_it_is_made_of() -> None:
    assert of("Find the root cause, I mean the root cause.").hard == 1


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
    seen = of("Compare both and return JSON. Why, and how would you?", tools=3)
    assert (seen.words, seen.joins, seen.questions, seen.tools, seen.json) == (10, 1, 2, 3, True)
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
    assert grade(of("Design it and prove it.")).words == "hard at 4.60 (hard +4.00, joins +0.60)"
    assert grade(of("Hello.")).words == "easy at 0.00 (nothing stands out)"


@given(st.lists(st.fixed_dictionaries({"role": st.sampled_from(["system", "user"]), "content": st.text()})))
def test_any_messages_have_a_shape_without_their_text(messages: list[dict[str, str]]) -> None:
    seen = shape(messages)
    assert grade(seen).grade in Grade
    assert seen.characters == sum(len(message["content"]) for message in messages)
    assert all(isinstance(value, int | bool) or value in ("en", "vi", "?") for value in asdict(seen).values())


def test_more_demanding_words_never_lower_a_grade() -> None:
    scores = [grade(PromptShape(100, 300, hard=hard)).score for hard in range(6)]
    assert scores == sorted(scores)


def records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (PROMPTS / f"{name}.jsonl").read_text("utf-8").splitlines()]


def test_the_labelled_set_is_whole_and_graded_about_as_well_as_documented() -> None:
    wrong = low = 0
    for label in Grade:
        found = records(label)
        assert len(found) == 100
        assert sum(record["language"] == "vi" for record in found) == 40
        grades = [grade(shape(messages(record))).grade for record in found]
        wrong += sum(grade != label for grade in grades)
        low += sum(list(Grade).index(grade) < list(Grade).index(label) for grade in grades)
    assert wrong <= 40
    assert low <= 3


def test_of_prompts_that_nobody_tuned_on_hardly_any_hard_one_is_sent_too_low() -> None:
    found = records("crews")
    assert len(found) == 100
    graded = [(grade(shape(messages(record), record["tools"])).grade, record["grade"]) for record in found]
    hard = [grade for grade, label in graded if label == Grade.HARD]
    assert len(hard) == 33
    assert sum(grade != Grade.HARD for grade in hard) <= 2
    assert Grade.EASY not in hard


def test_a_crews_traffic_saves_what_was_aimed_for_on_the_articles_kind_of_tiers() -> None:
    prompts = [prompt for label in Grade for prompt in read(label, "")]
    found = bill(prompts, TIERS[0], listed({}), CREWS, CREWS_CONTEXT)
    assert 1 - found.mended / found.dearest >= Decimal(str(TARGET))
    assert found.right < found.routed < found.mended < found.dearest
