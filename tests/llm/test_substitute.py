"""Models in place of others, in a process whose runs are threads."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest

from crewtop.llm import substitute


@dataclass(eq=False)
class Model:
    """What is used of CrewAI's."""

    model: str = "gpt-4.1"
    provider: str = "openai"

    def model_copy(self, update: dict[str, str]) -> Model:
        return replace(self, model=update["model"])


@pytest.fixture
def busy() -> Iterator[None]:
    """Threads that interrupt one another all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("busy")
def test_threads_with_more_models_than_are_kept_do_not_take_them_from_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(substitute, "_KEPT", 4)

    def crew(_: int) -> set[str]:
        own = [Model() for _ in range(3)]
        return {
            substitute.substitute(model, "openai", "gpt-4.1-mini", {}, None).model
            for _ in range(1_000)
            for model in own
        }

    with ThreadPoolExecutor(8) as threads:
        assert all(made == {"gpt-4.1-mini"} for made in threads.map(crew, range(8)))
