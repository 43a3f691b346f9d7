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
from tests.executor.runs import alive, eventually

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
        rows = [(run_id, crew, json.dumps(given), [], None) for run_id, given in zip(ids, inputs, strict=True)]
        self.host.assign(rows)
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


async def test_calls_of_crews_that_run_at_once_are_booked_to_their_runs(hosted: Hosted, provider: Provider) -> None:
    tags = [f"tag-{n}" for n in range(4)]
    ids = hosted.start("tagged", *({"topic": f"lamp {tag}", "tag": tag} for tag in tags))
    await hosted.results(ids)
    for run_id, tag in zip(ids, tags, strict=True):
        booked = [call.usage.as_openai()["total_tokens"] for call in provider.books.calls(tag) if call.usage]
        told = [call.usage["total_tokens"] for call in hosted.of(run_id, CallEnded)]
        assert told == booked
        assert len(told) >= 1


async def test_each_run_of_a_crew_has_a_crew_of_its_own(hosted: Hosted) -> None:
    ids = hosted.start("pair", {"topic": "lamps"}, {"topic": "desks"}, {"topic": "chairs"})
    for result in await hosted.results(ids):
        assert str(result).startswith("(simulated)"), result
    for run_id in ids:
        [loaded] = hosted.of(run_id, Loaded)
        assert (loaded.kind, loaded.step_count) == ("crew", 2)
        assert [step.position for step in hosted.of(run_id, StepEnded)] == [1, 2]
        calls = hosted.of(run_id, CallEnded)
        assert len({call.call_id for call in calls}) == len(calls) == 2


async def test_flows_run_beside_one_another(hosted: Hosted) -> None:
    ids = hosted.start("Greeting", {"name": "Ada"}, {"name": "Bob"})
    results = await hosted.results(ids)
    assert [result["greeting"] for result in results] == ["Hello Ada", "Hello Bob"]
    assert [len(hosted.of(run_id, CallEnded)) for run_id in ids] == [1, 1]


async def test_calls_in_threads_that_a_run_started_are_its_own(hosted: Hosted) -> None:
    ids = hosted.start("two_in_threads", {"topic": "lamps"}, {"topic": "desks"})
    await hosted.results(ids)
    assert Counter(len(hosted.of(run_id, CallEnded)) for run_id in ids) == {2: 2}


async def test_a_coroutine_is_cancelled_alone(hosted: Hosted) -> None:
    napping, other = hosted.start("nap", None, None)
    await hosted.until(lambda: hosted.printed.get(napping) == "asleep\n" == hosted.printed.get(other))
    hosted.host.cancel(napping)
    [failure] = await hosted.results([napping])
    assert failure.error_type == "asyncio.exceptions.CancelledError"
    assert hosted.printed[napping].startswith("asleep\nawake\n")
    assert hosted.printed[other] == "asleep\n"


async def test_a_thread_cannot_be_cancelled_and_so_is_not_said_to_have_ended(hosted: Hosted) -> None:
    [stuck] = hosted.start("sleep_with_child", None)
    await hosted.until(lambda: "child" in hosted.printed.get(stuck, ""))
    hosted.host.cancel(stuck)
    [later] = hosted.start("echo_later", 1)
    assert await hosted.results([later]) == [1]
    assert hosted.last(stuck) is None or isinstance(hosted.last(stuck), Loaded)


async def test_ending_the_process_from_within_ends_the_host(hosted: Hosted) -> None:
    hosted.start("crash", None)
    async with asyncio.timeout(60):
        assert await hosted.host.wait() == -signal.SIGABRT


async def test_asking_python_to_exit_ends_the_run_alone(hosted: Hosted) -> None:
    leaving, staying = hosted.start("leave", 3)[0], hosted.start("echo_later", 7)[0]
    [failure, result] = await hosted.results([leaving, staying])
    assert failure.error == "the crew ended its process with exit code 3"
    assert result == 7


async def test_output_without_end_is_passed_on_in_pieces(hosted: Hosted) -> None:
    [run_id] = hosted.start("print_much", 3_000_000)
    assert await hosted.results([run_id]) == ["y" * 3_000_000]
    assert hosted.printed[run_id] == "x" * 3_000_000 + "\n"


async def test_nothing_outlives_a_killed_host(hosted: Hosted) -> None:
    [run_id] = hosted.start("sleep_with_child", None)
    await hosted.until(lambda: "child" in hosted.printed.get(run_id, ""))
    child = int(hosted.printed[run_id].split()[1])
    assert await hosted.killed() == -signal.SIGKILL
    await eventually(lambda: not alive(child))
