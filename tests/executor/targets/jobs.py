"""Plain functions that the tests run in executors."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import decimal
import logging
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import uuid
import warnings
from typing import Any

NOT_CALLABLE = 7
EARLY_STDOUT = sys.stdout


def echo(inputs: Any) -> Any:
    return inputs


async def echo_later(inputs: Any) -> Any:
    await asyncio.sleep(0)
    return inputs


def answer() -> int:
    return 42


def two_parameters(first: Any, second: Any) -> None:
    del first, second


def noise(inputs: Any) -> None:
    print("printed")
    print("printed early", file=EARLY_STDOUT)
    print("to __stdout__", file=sys.__stdout__)
    print("lone \ud800 surrogate", file=sys.stderr)
    os.write(1, b"written to 1\n")
    os.write(2, b"written to 2\n")
    subprocess.run(["echo", "from a subprocess"], check=True)
    logging.getLogger("shop").info("logged")
    warnings.warn("warned", stacklevel=1)


def read_stdin(inputs: Any) -> str:
    return sys.stdin.read()


def ask(inputs: Any) -> str:
    return input("Are you sure? ")


def surroundings(inputs: Any) -> dict[str, Any]:
    return {
        "env": dict(os.environ),
        "initial_env": pathlib.Path("/proc/self/environ").read_text(),
        "folder": os.getcwd(),
        "descriptors": [
            os.readlink(f"/proc/self/fd/{fd}") for fd in range(100) if os.path.exists(f"/proc/self/fd/{fd}")
        ],
        "session": os.getsid(0) == os.getpid(),
        "zygote_threads": os.listdir(f"/proc/{os.getppid()}/task"),
    }


def leave(inputs: Any) -> None:
    sys.exit(inputs)


def crash(inputs: Any) -> None:
    print("about to crash")
    os.abort()


def fail(inputs: str) -> None:
    try:
        {}["order"]
    except KeyError as error:
        raise ValueError(inputs) from error


def sleep(inputs: Any) -> None:
    print("asleep")
    time.sleep(600)


def sleep_with_child(inputs: Any) -> None:
    """Print the process id of a child that would outlive this one, then hang."""
    child = subprocess.Popen(["sleep", "600"])
    print(f"child {child.pid}")
    time.sleep(600)


def leave_child_behind(inputs: Any) -> int:
    return subprocess.Popen(["sleep", "600"]).pid


def leave_escaped_child(inputs: Any) -> int:
    """A grandchild that left the group, and holds the event socket and the log."""
    process = multiprocessing.get_context("fork").Process(target=_escape)
    process.start()
    assert process.pid
    while os.getsid(process.pid) != process.pid:
        time.sleep(0.01)
    return process.pid


def leave_shouting_child(inputs: Any) -> int:
    """A grandchild that left the group, and prints without end."""
    return subprocess.Popen(["yes"], start_new_session=True).pid


def _escape() -> None:
    os.setsid()
    time.sleep(600)


def leave_thread_hanging(inputs: Any) -> str:
    threading.Thread(target=time.sleep, args=[600]).start()
    return "done"


def print_much(inputs: int) -> str:
    print("x" * inputs)
    return "y" * inputs


def text(inputs: Any) -> dict[str, str]:
    return {
        "nul": "POZ\x00FB",
        "key\x00": "k",
        "surrogate": "\udc80",
        "markup": "[/] [bold]",
        "escape": "\x1b]52;c;x\x07",
    }


@dataclasses.dataclass
class Invoice:
    number: uuid.UUID
    due: datetime.date
    total: decimal.Decimal
    file: pathlib.Path


def invoice(inputs: Any) -> list[Invoice]:
    due = datetime.date(2031, 2, 3)
    return [Invoice(uuid.UUID(int=7), due, decimal.Decimal("1.10"), pathlib.Path("a/b"))]


def not_a_number(inputs: Any) -> Any:
    return {"scores": [1.0, float("nan")]}


def no_json(inputs: Any) -> Any:
    return {"tags": {"a"}}


def contains_itself(inputs: Any) -> Any:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def write_garbage(inputs: Any) -> str:
    """Write lines that are no events into the event socket, found among the open descriptors."""
    for fd in map(int, os.listdir("/proc/self/fd")):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
                os.write(fd, b'garbage\n{"event": "Nothing"}\n[]\n')
    return "done"


def ignore_sigterm(inputs: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("deaf")
    time.sleep(600)


async def chat(inputs: str) -> None:
    print(f"{inputs} says hello")
    await asyncio.to_thread(print, f"{inputs} logs in a thread")
    os.write(1, f"{inputs} to the descriptor\n".encode())


async def nap(inputs: Any) -> str:
    """Sleep until cancelled, and say so."""
    print("asleep")
    try:
        await asyncio.sleep(600)
    finally:
        print("awake")
    return "rested"
