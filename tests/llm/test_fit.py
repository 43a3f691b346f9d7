"""Messages that exceed a window are cut by the stated policy, and every cut is told."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from crewtop.llm.fit import Cut, fit, listed_window, window
from crewtop.llm.tokens import at_most, count_prompt, texts

SYSTEM = {"role": "system", "content": "You are a researcher."}
TASK = {"role": "user", "content": "Find out why parcels are late."}


def call(number: int, output: str) -> list[dict[str, Any]]:
    """A tool call and its answer."""
    function = {"name": "search", "arguments": "{}"}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{number}", "function": function}]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": output},
    ]


def fitted(messages: list[dict[str, Any]], room: int) -> Any:
    return fit(messages, room + 100, 100, at_most)


def test_what_fits_is_left_alone() -> None:
    messages = [SYSTEM, TASK, *call(1, "result")]
    result = fitted(messages, 10_000)
    assert result.messages == messages
    assert (result.dropped, result.reason, result.fits) == ((), None, True)
    assert result.tokens == count_prompt(messages, at_most)


def test_the_oldest_tool_output_is_shortened_first_and_no_further_than_needed() -> None:
    messages = [SYSTEM, TASK, *call(1, "a" * 5_000), *call(2, "b" * 5_000), {"role": "assistant", "content": "Hm."}]
    result = fitted(messages, 8_000)
    assert result.fits
    assert [cut.index for cut in result.dropped] == [3]
    assert result.messages[5] == messages[5]
    kept = result.messages[3]["content"]
    assert f"[{result.dropped[0].characters} characters of this output were cut to fit the model's window]" in kept
    assert kept.startswith("a")
    assert kept.endswith("a")
    assert 7_500 < result.tokens <= 8_000


def test_of_a_shortened_output_beginning_and_end_are_kept() -> None:
    output = "".join(f"line {number}\n" for number in range(1_000))
    result = fitted([SYSTEM, TASK, *call(1, output), {"role": "user", "content": "Go on."}], 3_000)
    kept = result.messages[3]["content"]
    assert kept.startswith("line 0\n")
    assert kept.endswith("line 999\n")


def test_turns_go_next_oldest_first_with_calls_and_answers_together() -> None:
    chatter = [{"role": "assistant", "content": letter * 1_000} for letter in "xyz"]
    messages = [SYSTEM, TASK, *call(1, "a" * 3_000), *chatter, {"role": "user", "content": "And now?"}]
    result = fitted(messages, 2_500)
    assert [(cut.index, cut.how) for cut in result.dropped] == [(2, "dropped"), (3, "dropped"), (4, "dropped")]
    assert result.dropped[1] == Cut(3, "tool", "dropped", 3_000)
    note = {"role": "user", "content": "[earlier messages left out to fit the model's window: 3]"}
    assert result.messages == [SYSTEM, TASK, note, *chatter[1:], messages[-1]]
    assert result.tokens == count_prompt(result.messages, at_most)


def test_the_newest_turns_outputs_are_shortened_last() -> None:
    result = fitted([SYSTEM, TASK, {"role": "assistant", "content": "Hm."}, *call(1, "a" * 9_000)], 2_000)
    assert result.fits
    assert [(cut.index, cut.how) for cut in result.dropped] == [(2, "dropped"), (4, "shortened")]


def test_system_task_and_newest_words_stay_even_where_nothing_else_helps() -> None:
    long_task = {"role": "user", "content": "t" * 5_000}
    newest = {"role": "user", "content": "n" * 5_000}
    result = fitted([SYSTEM, long_task, {"role": "assistant", "content": "Hm."}, newest], 3_000)
    assert not result.fits
    assert result.messages[0] == SYSTEM
    assert result.messages[1] == long_task
    assert result.messages[-1] == newest


def test_the_reason_says_what_was_done() -> None:
    messages = [SYSTEM, TASK, *call(1, "a" * 5_000), {"role": "assistant", "content": "Hm."}]
    before = count_prompt(messages, at_most)
    assert fitted(messages, 3_000).reason == f"{before} tokens exceed 3000 of a window of 3100: 1 tool output shortened"


def test_where_nothing_may_be_cut_the_reason_says_so() -> None:
    result = fitted([SYSTEM, TASK], 10)
    assert not result.fits
    assert result.reason is not None
    assert result.reason.endswith("nothing that may be cut")


def test_a_dense_text_is_shortened_until_it_really_fits() -> None:
    output = "a" * 4_000 + "ế" * 4_000
    result = fitted([SYSTEM, TASK, *call(1, output), {"role": "user", "content": "Go on."}], 3_000)
    assert result.fits
    assert result.tokens <= 3_000


def test_parts_of_an_old_tool_output_are_cut_with_their_pictures() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    seen = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "t" * 900}, picture]}
    messages = [SYSTEM, TASK, call(1, "")[0], seen, {"role": "user", "content": "Go on."}]
    result = fitted(messages, 2_000)
    assert result.fits
    assert "characters of this output were cut" in result.messages[3]["content"]


def test_anthropics_tool_results_stay_with_their_calls() -> None:
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {"q": "x" * 2_000}}]}
    result_of = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "y"}]}
    result = fitted([SYSTEM, TASK, use, result_of, {"role": "assistant", "content": "Hm."}], 500)
    assert [cut.index for cut in result.dropped] == [2, 3]


def test_a_window_is_the_users_own_then_the_listed_one_then_unknown() -> None:
    assert window("openai", "gpt-4o", {"openai/gpt-4o": 5_000}) == 5_000
    assert window("openai", "gpt-4o", {"gpt-4o": 6_000}) == 6_000
    assert window("openai", "gpt-4o", {}) == 128_000
    assert window("nobody", "nothing", {}) is None
    assert listed_window("openai", "no-such-model") is None


outputs = st.text(max_size=600)
turns = st.one_of(
    st.builds(lambda text: [{"role": "assistant", "content": text}], outputs),
    st.builds(lambda text: [{"role": "user", "content": text}], outputs),
    st.builds(lambda number, text: call(number, text), st.integers(0, 99), outputs),
)


@settings(max_examples=200)
@given(st.lists(turns, max_size=8), st.integers(0, 3_000))
def test_whatever_comes_the_rules_hold(conversation: list[list[dict[str, Any]]], room: int) -> None:
    messages = [SYSTEM, TASK, *(message for turn in conversation for message in turn)]
    before = copy.deepcopy(messages)
    result = fitted(messages, room)
    assert messages == before
    assert result.messages[:2] == [SYSTEM, TASK]
    assert result.tokens == count_prompt(result.messages, at_most)
    assert result.fits == (result.tokens <= room)
    assert bool(result.dropped) <= (result.reason is not None)
    called = [c["id"] for m in result.messages for c in m.get("tool_calls", [])]
    answered = [m["tool_call_id"] for m in result.messages if m["role"] == "tool"]
    assert called == answered
    dropped = {cut.index for cut in result.dropped if cut.how == "dropped"}
    shortened = {cut.index for cut in result.dropped if cut.how == "shortened"}
    survivors = [m for i, m in enumerate(messages) if i not in dropped | shortened]
    assert all(m in result.messages for m in survivors)
    if conversation and len(conversation[-1]) == 1:
        assert list(texts(result.messages[-1])) == list(texts(messages[-1]))
