"""The object through which a routed call is made, where another model takes it than the crew asked for."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from crewai import LLM
from crewai.llms.base_llm import call_stop_override, call_stream_override

_KEPT = 256
_KNOWN_BY_NAME = {"is_o1_model": "o1", "is_gpt4_model": "gpt-4", "is_claude_3": "claude-3"}
"""What CrewAI's classes read off a model's name when they are made."""

_PORTABLE = ("temperature", "top_p", "max_tokens", "stop", "stream", "seed", "response_format")
"""What a model of another provider understands too."""

_made: OrderedDict[tuple[int, str, str], tuple[Any, Any]] = OrderedDict()
_lock = threading.Lock()
"""Runs of one process are threads of it: what one looks up, another may just be dropping."""


def provider_and_model(llm: Any, said: str | None = None) -> tuple[str | None, str]:
    """'openai' and 'gpt-4.1' for the model 'openai/gpt-4.1' as well as for 'gpt-4.1' of the provider openai.

    said: the model as an event names it, where there is one.
    """
    model = said or getattr(llm, "model", None) or "?"
    provider = getattr(llm, "provider", None) or None
    if provider is None and "/" in model:
        provider = model.partition("/")[0]
    return provider, model.removeprefix(f"{provider}/")


def substitute(llm: Any, provider: str, model: str, base_urls: Mapping[str, str], secret: str | None) -> Any:
    """An object that calls this model as llm would call its own: llm itself where it is the same.

    base_urls: where to send calls to a provider. secret: a key, for a provider whose object cannot be made without.
    """
    if provider_and_model(llm) == (provider, model):
        return llm
    place = (id(llm), provider, model)  # which no other object can have while llm is kept beside it
    with _lock:
        if found := _made.get(place):
            _made.move_to_end(place)
            return found[1]
    other = _make(llm, provider, model, base_urls, secret)
    with _lock:
        _made[place] = llm, other
        if len(_made) > _KEPT:
            _made.popitem(last=False)
    return other


def answer_limit(llm: Any) -> int | None:
    """Tokens that the crew lets an answer take, None where it set no limit.

    CrewAI's class for Anthropic, whose API wants one, then says the most that the model can write.
    """
    limit = getattr(llm, "max_completion_tokens", None) or getattr(llm, "max_tokens", None)
    most = _most(llm)
    return None if limit is None or (most is not None and limit == most(llm.model)) else int(limit)


def _most(llm: Any) -> Callable[[str], int] | None:
    return getattr(sys.modules[type(llm).__module__], "_default_max_tokens_for_model", None)


def _most_of(llm: Any, model: str) -> dict[str, int]:
    most = _most(llm)
    return {"max_tokens": most(model)} if most is not None and answer_limit(llm) is None else {}


def _make(llm: Any, provider: str, model: str, base_urls: Mapping[str, str], secret: str | None) -> Any:
    if provider_and_model(llm)[0] == provider:
        written = f"{provider}/{model}" if llm.model.startswith(f"{provider}/") else model
        flags = {flag: word in model.lower() for flag, word in _KNOWN_BY_NAME.items() if hasattr(llm, flag)}
        return llm.model_copy(update={"model": written, **flags, **_most_of(llm, model)})
    settings = {name: value for name in _PORTABLE if (value := getattr(llm, name, None)) not in (None, [])}
    if answer_limit(llm) is None:
        settings.pop("max_tokens", None)
    if provider in ("gemini", "google") and provider in base_urls:  # whose class takes no base_url
        settings["client_params"] = {"http_options": {"base_url": base_urls[provider]}}
    elif provider in base_urls:
        settings["base_url"] = base_urls[provider]
    if secret:
        settings["api_key"] = secret
    return LLM(model=f"{provider}/{model}", **settings)


@contextmanager
def as_asked(llm: Any, other: Any) -> Iterator[None]:
    """Let what holds for llm alone in this context hold for the object in its place: stop words and streaming."""
    if other is llm:
        yield
        return
    with call_stop_override(other, llm.stop_sequences), call_stream_override(other, bool(llm._effective_stream())):
        yield
