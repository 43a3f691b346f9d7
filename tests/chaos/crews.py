"""What the tasks on the fuzzed screen do: they take a moment, print, and end in every way there is."""

from __future__ import annotations

import os
import time
from typing import Any

from tests.tui.fixtures import HOSTILE


def nap(inputs: dict[str, Any]) -> dict[str, Any]:
    """Sleep for inputs["seconds"] and print hostile lines; every fifth fails with one, every fiftieth dies."""
    number = int(inputs["n"])
    text = HOSTILE[number % len(HOSTILE)]
    for line in range(3):
        print(f"line {line} of {number}: {text}")
        time.sleep(inputs["seconds"] / 3)
    if number % 50 == 0:
        os.kill(os.getpid(), 9)
    if number % 5 == 0:
        raise ValueError(text)
    return {"text": text, "nested": {"numbers": list(range(20)), "again": [inputs]}}
