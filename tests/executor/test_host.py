"""Many runs in one process: each is told apart, and what one does to the process all of them share."""

from __future__ import annotations

import asyncio
import itertools
import json
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from crewtop.demo.provider.server import Provider
from crewtop.executor.client import Zygote
from crewtop.executor.processes import Batch, Host, Told
from crewtop.executor.wire import Hosting
from crewtop.model.events import CallEnded, Event, Loaded, Raised, Returned, StepEnded
from tests.executor.runs import eventually

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("executor")]

_host_ids = itertools.count(1)


class Hosted:
    """A host that is read, with what each of its runs told and printed."""

    def __init__(self, host: Host, zygote: Zygote) -> None:
        self.host = host
        self.zygote = zygote
        self.events: dict[int, list[Event]] = {}
        self.printed: dict[int, str] = {}
        self.shared = b""
        self._ids = itertools.count(1)
        self._news = asyncio.Event()
        self._readers = asyncio.gather(self._read_reports(), self._read_log())

    def start(self, crew: str, *inputs: Any) -> list[int]:
        """Start a run for each of the inputs."""
        ids = [next(self._ids) for _ in inputs]
        self.host.assign([(run_id, crew, json.dumps(given), []) for run_id, given in zip(ids, inputs, strict=True)])
        return ids

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def results(self, ids: list[int]) -> list[Any]:
        """The results of runs, or the failures."""
        await self.until(lambda: all(isinstance(self.last(run_id), Returned | Raised) for run_id in ids))
        lasts = [self.last(run_id) for run_id in ids]
        return [json.loads(last.result) if isinstance(last, Returned) else last for last in lasts]

    def last(self, run_id: int) -> Event | None:
        return self.events.get(run_id, [None])[-1]

    def of(self, run_id: int, kind: type[Any]) -> list[Any]:
        return [event for event in self.events.get(run_id, []) if isinstance(event, kind)]

    async def killed(self) -> int | None:
        self.zygote.kill(self.host.key, signal.SIGKILL)
        async with asyncio.timeout(60):
            await self._readers
            return await self.host.wait()

    async def _read_reports(self) -> None:
        async for report in self.host.reports():
            self._take(report)
            self._news.set()

    def _take(self, report: Told | Batch) -> None:
        if isinstance(report, Told):
            self.events.setdefault(report.run_id, []).append(report.event)
            return
        for run_id, text in report.printed:
            self.printed[run_id] = self.printed.get(run_id, "") + text
        for run_id, at, result in report.returned:
            self.events.setdefault(run_id, []).append(Returned(at, result))

    async def _read_log(self) -> None:
        async for piece in self.host.log:
            self.shared += piece
            self._news.set()


@pytest_asyncio.fixture(loop_scope="session")
async def hosted(zygote: Zygote, provider: Provider, tmp_path: Path) -> Any:
    number = -next(_host_ids)
    crews = ("echo", "echo_later", "chat", "noise", "fail", "nap", "sleep_with_child", "crash", "leave", "print_much")
    targets = {name: f"jobs:{name}" for name in crews}
    targets |= {name: f"shop:{name}" for name in ("pair", "Greeting", "tagged", "single", "two_in_threads")}
    hosting = Hosting(number, 8, str(tmp_path), {"PROVIDER": provider.url, "CREWTOP_RUN_ID": "shared"}, targets)
    started = Hosted(zygote.host(hosting), zygote)
    yield started
    await started.killed()


async def test_a_hundred_coroutines_return_each_its_own(hosted: Hosted) -> None:
    ids = hosted.start("echo_later", *range(100))
    assert await hosted.results(ids) == list(range(100))


async def test_plain_functions_run_in_threads_beside_one_another(hosted: Hosted) -> None:
    ids = hosted.start("echo", *range(20))
    assert await hosted.results(ids) == list(range(20))


async def test_what_a_run_prints_is_its_own_and_the_descriptor_is_nobodys(hosted: Hosted) -> None:
    first, second = hosted.start("chat", "one", "two")
    await hosted.results([first, second])
    assert hosted.printed[first] == "one says hello\none logs in a thread\n"
    assert hosted.printed[second] == "two says hello\ntwo logs in a thread\n"
    await hosted.until(lambda: b"one to the descriptor\n" in hosted.shared)
    assert b"hello" not in hosted.shared


async def test_a_failure_is_the_runs_own(hosted: Hosted) -> None:
    bad, good = hosted.start("fail", "no paper")[0], hosted.start("echo_later", 1)[0]
    [failure, result] = await hosted.results([bad, good])
    assert failure.error.endswith("ValueError: no paper")
    assert result == 1
    assert "ValueError: no paper" in hosted.printed[bad]
