"""The crew that chaos is let loose on: it works for a moment and leaves a line."""

from __future__ import annotations

import os
import time
from typing import Any


def work(inputs: dict[str, Any]) -> int:
    time.sleep(inputs["seconds"])
    with open(os.environ["MARKS"], "a", buffering=1) as marks:
        marks.write(f"{inputs['n']}\n")
    return int(inputs["n"])
