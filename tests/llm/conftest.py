"""Time that stands still until a test moves it."""

from __future__ import annotations

import pytest


class Clock:
    """Monotonic seconds."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()
