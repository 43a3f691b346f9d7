"""What a webhook and a command get of an alert, and what is said where they do not take it."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from crewtop.config_alerts import Delivery
from crewtop.model.alerts import Alert
from crewtop.monitor.notices import NotDelivered, deliver, message
from tests.monitor.hooks import Hook, listening

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
ALERT = Alert(
    "0b5c", "stuck", "support", "stuck tasks", "watch", "firing", NOW, "3 tasks are stuck", "support", 3.0,
    fired_at=NOW + timedelta(seconds=60),
)  # fmt: skip
OVER = replace(ALERT, state="ended", ended_at=NOW + timedelta(minutes=13))


@pytest.fixture
def hook() -> Iterator[Hook]:
    with listening() as opened:
        yield opened


def webhook(url: str, seconds: float = 10.0) -> Delivery:
    return Delivery.model_validate({"webhook": url, "timeout_seconds": seconds})


def script(folder: Path, text: str, seconds: float = 20.0) -> Delivery:
    file = folder / "page.py"
    file.write_text(text)
    return Delivery(command=(sys.executable, str(file), "--team", "ml ops; $HOME"), timeout_seconds=seconds)


async def why_not(to: Delivery) -> str:
    with pytest.raises(NotDelivered) as refused:
        await deliver(to, message(ALERT, "fired", "shop on db1"))
    return str(refused.value)


def test_the_text_is_for_people() -> None:
    assert message(ALERT, "fired", "shop on db1")["text"] == "🟠 shop on db1: support: 3 tasks are stuck (stuck)"
    over = message(OVER, "ended", "shop on db1")["text"]
    assert over == "🟢 shop on db1: over after 12m: support, was: 3 tasks are stuck (stuck)"


def test_nothing_in_a_name_calls_for_everybody_or_shows_a_secret() -> None:
    hostile = replace(ALERT, subject="<!channel> \x1b[2J", words="failed: postgres://u:hunter2secret@h/db & more")
    told = message(hostile, "fired", "shop")
    assert "&lt;!channel&gt; ␛[2J" in told["text"]
    assert "hunter2" not in json.dumps(told)
    assert "&amp; more" in told["text"]


@pytest.mark.parametrize("name", ["@channel", "@all", "@here"])
def test_nor_where_a_bare_name_would_do(name: str) -> None:
    """As in Mattermost and Rocket.Chat."""
    assert "@" not in message(replace(ALERT, subject=name, rule=name), "fired", "shop")["text"]


async def test_a_webhook_gets_slacks_json_with_an_id_that_stays_the_same(hook: Hook) -> None:
    for _ in range(2):
        await deliver(webhook(hook.url), message(ALERT, "fired", "shop on db1"))
    assert hook.got[0] == hook.got[1]
    assert set(hook.got[0]) == {"text", "alert"}
    assert hook.got[0]["alert"] == {
        "id": "0b5c-fired", "alert": "0b5c", "event": "fired", "rule": "stuck", "subject": "support",
        "words": "3 tasks are stuck", "queue": "support", "severity": "watch", "value": 3.0,
        "since": "2026-03-14T12:00:00+00:00", "fired_at": "2026-03-14T12:01:00+00:00", "ended_at": None,
        "source": "shop on db1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (500, b"out of order\x1b[2J\n", "HTTP 500: out of order␛[2J"),
        (302, b"", "HTTP 302"),
        (404, b"no_service", "HTTP 404: no_service"),
    ],
)
async def test_a_webhook_that_refuses_says_why(hook: Hook, status: int, body: bytes, said: str) -> None:
    hook.status, hook.body = status, body
    assert await why_not(webhook(hook.url)) == said
    assert len(hook.got) == 1, "nobody was sent elsewhere"


async def test_a_webhook_that_does_not_answer_is_left(hook: Hook) -> None:
    hook.go_on.clear()
    assert await why_not(webhook(hook.url, 0.2)) == "no answer within 0.2 s"
    hook.go_on.set()


async def test_no_error_repeats_the_address() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]  # bound, and nobody listens
        said = await why_not(webhook(f"http://127.0.0.1:{port}/services/hush-hush-token"))
    assert said.startswith("no connection")
    assert "hush" not in said


@pytest.mark.parametrize("said", ["/services/T000/B000/hush-hush-token", "hush-hush-token"])
async def test_no_answer_that_repeats_the_address_is_passed_on(hook: Hook, said: str) -> None:
    """As servers do that name the page that they do not have."""
    hook.status, hook.body = 404, f"<p>The requested URL {said} was not found</p>".encode()
    told = await why_not(webhook(f"{hook.url}?key=a%20secret%20word"))
    assert told.startswith("HTTP 404: <p>The requested URL ")
    assert "hush" not in told


@contextmanager
def dribbling() -> Iterator[str]:
    """The address of a server that answers a byte at a time and comes to no end."""
    over = threading.Event()

    def serve() -> None:
        with suppress(OSError):
            while not over.is_set():
                opened, _ = server.accept()
                with opened:
                    opened.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                    while not over.wait(0.02):
                        opened.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        finally:
            over.set()
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


async def test_a_webhook_that_never_ends_its_answer_takes_nobody_elses_thread() -> None:
    """The loop's own look up the names of databases, and a process waits for them at its end."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    with dribbling() as url:
        assert await why_not(webhook(url, 0.2)) == "no answer within 0.2 s"
        async with asyncio.timeout(10):
            assert await asyncio.to_thread(int) == 0


async def test_a_command_gets_the_json_and_no_shell(tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    text = f"import json, sys; open({str(noted)!r}, 'w').write(json.dumps([sys.argv[1:], json.load(sys.stdin)]))"
    await deliver(script(tmp_path, text), message(ALERT, "fired", "shop"))
    arguments, got = json.loads(noted.read_text())
    assert arguments == ["--team", "ml ops; $HOME"]
    assert got == message(ALERT, "fired", "shop")


async def test_a_command_that_reads_nothing_has_taken_it(tmp_path: Path) -> None:
    await deliver(script(tmp_path, ""), message(ALERT, "fired", "shop"))


async def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    to = script(tmp_path, "import sys; print('x' * 100_000, 'pager is away', file=sys.stderr); sys.exit(3)")
    said = await why_not(to)
    assert said.startswith(f"{sys.executable} ended with 3: xxx")
    assert said.endswith("pager is away")
    assert await why_not(Delivery(command=("/nowhere/page",))) == (
        "/nowhere/page cannot be run: [Errno 2] No such file or directory: '/nowhere/page'"
    )


async def test_a_command_that_hangs_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    noted = tmp_path / "pids"
    text = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(noted)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "time.sleep(600)\n"
    )
    assert await why_not(script(tmp_path, text, 3.0)) == "no answer within 3 s"
    own, child = map(int, noted.read_text().split())
    async with asyncio.timeout(20):
        while _lives(own) or _lives(child):  # noqa: ASYNC110  a kill takes a moment to arrive
            await asyncio.sleep(0.01)


def _lives(pid: int) -> bool:
    """Whether a process runs: one that was killed and has nobody to reap it does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
