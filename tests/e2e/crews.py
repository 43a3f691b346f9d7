"""Callables that end-to-end tests register as crews. They run in executors."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def echo(inputs: dict[str, Any]) -> dict[str, Any]:
    print("echo", inputs)
    return inputs


def mark(inputs: dict[str, Any]) -> int:
    """Leave a line that the test counts: one atomic append a run."""
    with open(os.environ["MARKS"], "a", buffering=1) as marks:
        marks.write(f"{inputs['n']}\n")
    return int(inputs["n"])


def gate(inputs: dict[str, Any]) -> str:
    """Say that it runs, and go on once the test opens the gate; its first run never gets through a 'first' gate."""
    folder = Path(inputs["folder"])
    runs = len(list(folder.glob("started-*")))
    (folder / f"started-{os.getpid()}").touch()
    while not (folder / "open").exists() or (inputs.get("hold_first") and runs == 0):
        time.sleep(0.02)
    return f"through after {runs + 1} runs"


def hostile(inputs: dict[str, Any]) -> dict[str, Any]:
    """Give back and print what terminals, markup and databases choke on."""
    text = inputs["text"] + "\x00\ud800"  # what inputs cannot bring, since the queue has replaced it
    print(text)
    os.write(1, b"\x1b]52;c;ZXZpbA==\x07raw bytes \xff\n")
    if inputs.get("raise"):
        raise ValueError(text)
    return {"text": text, text[:50]: 1, "big": "x" * inputs.get("size", 0)}


def noisy(inputs: dict[str, Any]) -> str:
    """Print in every way there is; nothing of it may reach a terminal."""
    print("by print")
    print("by stderr", file=sys.stderr)
    sys.__stdout__.write("by sys.__stdout__\n")
    sys.__stdout__.flush()
    os.write(1, b"by os.write\n")
    subprocess.run(["echo", "by a subprocess"], check=True)
    try:
        return f"read {input('a question? ')!r}"
    except EOFError:
        return "nothing to read"


def die(inputs: dict[str, Any]) -> None:
    os.kill(os.getpid(), 9)


def fail(inputs: dict[str, Any]) -> None:
    raise RuntimeError(inputs.get("message", "no luck"))


def huge(inputs: dict[str, Any]) -> str:
    return "x" * inputs["size"]


def join(inputs: dict[str, Any]) -> dict[str, Any]:
    """What it got from the tasks that it depends on."""
    return dict(inputs["results"])


def blabs(inputs: dict[str, Any]) -> list[str]:
    """Tell the worker's key in every way there is."""
    key = os.environ["KEY_GOOD"]
    print("the key is", key)
    print("and on stderr", key, file=sys.stderr)
    if inputs["how"] == "raise":
        raise RuntimeError(f"the key {key} does not fit")
    return [key]
