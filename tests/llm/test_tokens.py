"""Counting tokens: never below the truth where only a bound is known, and never by way of the network."""

from __future__ import annotations

import importlib.util
import sys
import types
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from crewtop.llm import tokens
from crewtop.llm.tokens import IMAGE_TOKENS, MESSAGE_TOKENS, at_most, count_message, count_prompt, counter

PROSE = "The parcel arrived late and the customer would like to have the money back. Chúng tôi xin lỗi vì giao trễ. "


@pytest.fixture(scope="module")
def byte_level() -> Tokenizer:
    """A byte-level BPE such as OpenAI's, Llama's, Qwen's and DeepSeek's are, of a small vocabulary of its own."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([PROSE] * 10, trainer)
    return tokenizer


@given(text=st.text())
@example(text="qzxjvk" * 50)
@example(text="\ufdfa\u0958\U0001f469\u200d\U0001f680")
@example(text=PROSE)
def test_the_bound_is_never_below_a_byte_level_tokenizer(byte_level: Tokenizer, text: str) -> None:
    assert len(byte_level.encode(text).ids) <= at_most(text)


@given(text=st.text())
@example(text="\ufdfa\u0958")
@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_the_bound_holds_for_tokenizers_that_normalise_first(byte_level: Tokenizer, form: str, text: str) -> None:
    assert len(byte_level.encode(unicodedata.normalize(form, text)).ids) <= at_most(text)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_the_bound_is_never_below_openais_own(name: str) -> None:
    if importlib.util.find_spec("bpe_openai") is None:
        pytest.skip("bpe-openai is not installed")
    encoding = importlib.import_module("bpe_openai").get_encoding(name)

    @given(st.text())
    @example(PROSE)
    @example("qzxjvk" * 50)
    def holds(text: str) -> None:
        assert len(encoding.encode_ordinary(text)) <= at_most(text)

    holds()


def test_a_lone_surrogate_counts() -> None:
    assert at_most("a\ud800") == 5


class _Encoding:
    def encode_ordinary(self, text: str) -> list[str]:
        return text.split()


def _tiktoken(monkeypatch: pytest.MonkeyPatch, shipped: bool) -> types.ModuleType:
    load = types.ModuleType("tiktoken.load")
    load.read_file = lambda path: pytest.fail(f"fetched {path}")  # type: ignore[attr-defined]

    def encoding_for_model(model: str) -> _Encoding:
        if not shipped:
            load.read_file("https://example.org/o200k_base.tiktoken")
        return _Encoding()

    module = types.ModuleType("tiktoken")
    module.encoding_for_model = encoding_for_model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tiktoken", module)
    monkeypatch.setitem(sys.modules, "tiktoken.load", load)
    tokens._shipped.cache_clear()
    counter.cache_clear()
    return load


@pytest.fixture(autouse=True)
def forget() -> object:
    yield
    tokens._shipped.cache_clear()
    counter.cache_clear()


def test_a_tokenizer_that_ships_with_its_data_counts_for_real(monkeypatch: pytest.MonkeyPatch) -> None:
    load = _tiktoken(monkeypatch, shipped=True)
    fetch = load.read_file
    assert counter("gpt-5-mini")("three short words") == 3
    assert load.read_file is fetch


def test_a_text_is_given_to_the_tokenizer_once(monkeypatch: pytest.MonkeyPatch) -> None:
    _tiktoken(monkeypatch, shipped=True)
    asked: list[str] = []

    def encode(_: _Encoding, text: str) -> list[str]:
        asked.append(text)
        return text.split()

    monkeypatch.setattr(_Encoding, "encode_ordinary", encode)
    assert [counter("gpt-5-mini")(text) for text in ("a b", "a b", "a b c")] == [2, 2, 3]
    assert asked == ["a b", "a b c"]


def test_a_tokenizer_without_its_data_is_not_allowed_to_fetch_it(monkeypatch: pytest.MonkeyPatch) -> None:
    _tiktoken(monkeypatch, shipped=False)
    assert counter("gpt-5-mini")("three") == at_most("three")


def test_a_text_that_would_take_long_to_count_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    _tiktoken(monkeypatch, shipped=True)
    assert counter("gpt-5-mini")("a" * 1_000_001) == 1_000_002


def test_without_any_tokenizer_the_bound_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    tokens._shipped.cache_clear()
    counter.cache_clear()
    assert counter("claude-opus-5-5") is at_most


def test_a_picture_counts_as_one_however_long_its_data() -> None:
    message = {
        "role": "user",
        "content": [
            {"type": "text", "text": "abcd"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}},
        ],
    }
    assert count_message(message, len) == MESSAGE_TOKENS + 4 + IMAGE_TOKENS


def test_tool_calls_tool_results_and_offered_tools_count_as_json() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "f"}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "content": "x" * 50}]}
    assert count_message(call, len) == MESSAGE_TOKENS + len('[{"id": "1", "function": {"name": "f"}}]')
    assert count_message(result, len) > 50
    assert count_prompt([call], len, tools=[{"name": "f"}]) - count_prompt([call], len) == len('[{"name": "f"}]')
