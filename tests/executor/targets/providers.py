"""Calls to models through the libraries of other providers, which answer at PROVIDER."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from crewai import LLM


def _llm(provider: str, **options: Any) -> LLM:
    address = os.environ["PROVIDER"].removesuffix("/v1")
    if provider == "anthropic":
        return LLM(model="anthropic/claude-sonnet-4-5", base_url=address, **options)
    if provider == "gemini":
        return LLM(model="gemini/gemini-2.5-flash", client_params={"http_options": {"base_url": address}}, **options)
    return LLM(model="openai/gpt-4.1-mini", is_litellm=True, base_url=f"{address}/v1", **options)


def called(inputs: dict[str, Any]) -> str:
    return str(_llm(os.environ["WHOM"], api_key="own").call("Tell about lamps."))


def called_later(inputs: dict[str, Any]) -> str:
    return str(asyncio.run(_llm(os.environ["WHOM"], api_key="own").acall("Tell about lamps.")))


def without_a_key(inputs: dict[str, Any]) -> str:
    return str(_llm(os.environ["WHOM"]).call("Tell about lamps."))


def to_openai(inputs: dict[str, Any]) -> str:
    """A model of OpenAI's, whose calls the routes may send elsewhere."""
    return str(LLM(model="openai/gpt-4.1", base_url=os.environ["PROVIDER"], api_key="own").call("Tell about lamps."))
