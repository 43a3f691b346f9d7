"""`python -m crewtop.demo.provider` as the demo starts it: a process that says where it listens."""

from __future__ import annotations

import asyncio
import signal
import sys

import httpx
import pytest


async def start(*flags: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "crewtop.demo.provider",
        *flags,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_it_says_where_it_listens_answers_and_ends_on_sigterm() -> None:
    process = await start("--latency", "0", "--fail", "1")
    try:
        assert process.stdout
        line = (await process.stdout.readline()).decode()
        url = line.removeprefix("listening on ").strip()
        body = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "Hello"}]}
        async with httpx.AsyncClient(headers={"authorization": "Bearer simulated"}) as web:
            statuses = {(await web.post(f"{url}/chat/completions", json=body)).status_code for _ in range(40)}
    finally:
        process.send_signal(signal.SIGTERM)
        rest, errors = await process.communicate()

    assert line.startswith("listening on http://127.0.0.1:")
    assert statuses == {429, 500}
    assert (process.returncode, rest, errors) == (0, b"", b"")


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--fail", "1.4"], "the rates of all faults add up to 1.4: at most 1"),
        (["--latency-of", "gpt-4.1"], "--latency-of gpt-4.1: write MODEL=SECONDS, as in gpt-4.1=1.2"),
        (["--port", "99999"], "--port 99999"),
    ],
)
async def test_a_flag_that_will_not_do_is_named_in_one_line(flags: list[str], complaint: str) -> None:
    process = await start(*flags)
    output, errors = await process.communicate()

    assert (process.returncode, output) == (2, b"")
    assert complaint in errors.decode()
    assert errors.count(b"\n") == 1
