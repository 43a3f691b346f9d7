"""The shop's crews for real, each in a process of its own, against the simulated provider."""

from __future__ import annotations

import asyncio
import json
import os
import tomllib
from collections.abc import Awaitable, Callable
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from crewtop.demo.provider import MODELS, Behaviour, Provider, serve
from crewtop.demo.traffic import tasks
from crewtop.executor.environment import crew_environment
from tests.mother import fork

ORDER = {"order_id": "A-1004", "customer": "Emil Novak", "question": "Where is my parcel?"}
RUN = "6f9f1a52-run"
Run = Callable[..., Awaitable[Any]]


@pytest.fixture
def run_crew(mother: Path, tmp_path: Path) -> Run:
    """What shop_run.py prints about one run of a crew; `errors` holds its last line on stderr."""

    async def run(name: str, inputs: dict[str, str], provider: Provider | None) -> Any:
        own = {"HOME": str(tmp_path), "CREWAI_STORAGE_DIR": str(tmp_path), "CREWTOP_RUN_ID": RUN}
        at = {"CREWTOP_DEMO_PROVIDER": provider.url} if provider else {}
        out, err = tmp_path / "stdout", tmp_path / "stderr"
        with open(os.devnull) as nothing, out.open("wb") as stdout, err.open("wb") as stderr:  # noqa: ASYNC230
            files = {0: nothing.fileno(), 1: stdout.fileno(), 2: stderr.fileno()}
            order = ("tests.demo.shop_run", [name, json.dumps(inputs)], crew_environment() | own | at, tmp_path, files)
            with fork(mother, *order) as process:
                process.setblocking(False)
                async with asyncio.timeout(90):
                    status = await asyncio.get_running_loop().sock_recv(process, 16)
        if int(status):
            return {"errors": err.read_text().strip().splitlines()[-1]}
        return json.loads(out.read_text().splitlines()[-1])

    return run


def inputs_of_the_traffic(crew: str) -> list[str]:
    return sorted(next(task for task in islice(tasks(0), 1_000) if task.crew == crew).inputs)


async def test_order_looks_up_the_order_and_then_the_stock(run_crew: Run) -> None:
    async with serve() as provider:
        run = await run_crew("order", ORDER, provider)
        calls = provider.books.calls(RUN)

    assert run["required"] == inputs_of_the_traffic("order")
    assert run["output"] == (
        "(simulated) Hello Emil Novak. Order A-1004 (3 x wall clock) was delivered on 25 March. "
        "Wall clock: 3 in stock, 58.00 USD each."
    )
    assert [call.tool for call in calls] == ["look_up_order", "check_inventory", None]
    assert {call.model for call in calls} <= set(MODELS)
    assert provider.books.calls() == calls


async def test_order_explains_a_number_that_the_shop_does_not_know(run_crew: Run) -> None:
    async with serve() as provider:
        run = await run_crew("order", {**ORDER, "order_id": "A-9999"}, provider)
        calls = provider.books.calls(RUN)

    assert "I could not do this for you. The shop has no order A-9999" in run["output"]
    assert [call.tool for call in calls] == ["look_up_order", None]


async def test_returns_opens_a_return(run_crew: Run) -> None:
    inputs = {"order_id": "A-1004", "customer": "Emil Novak", "reason": "it arrived broken"}
    async with serve() as provider:
        run = await run_crew("returns", inputs, provider)
        calls = provider.books.calls(RUN)

    assert run["required"] == inputs_of_the_traffic("returns")
    assert "Return R-1004 is open (it arrived broken): 174.00 USD go back" in run["output"]
    assert [call.tool for call in calls] == ["look_up_order", "process_return", None]
    assert {call.model for call in calls} <= set(MODELS)


async def test_product_streams_an_answer_from_the_help_pages(run_crew: Run) -> None:
    inputs = {"customer": "Greta Lind", "question": "Can I put the mugs into the dishwasher?"}
    async with serve() as provider:
        run = await run_crew("product", inputs, provider)
        calls = provider.books.calls(RUN)

    assert run["required"] == inputs_of_the_traffic("product")
    assert run["output"].endswith("the mugs go into the dishwasher, the bags do not. (help page: Cleaning)")
    assert [(call.tool, call.streamed) for call in calls] == [("search_knowledge_base", True), (None, True)]
    assert all(call.usage_reported for call in calls)
    assert {call.model for call in calls} <= set(MODELS)


async def test_briefing_joins_two_independent_reports(run_crew: Run) -> None:
    inputs = {"topic": "late parcels", "audience": "the owner"}
    async with serve() as provider:
        run = await run_crew("briefing", inputs, provider)
        voices, figures, page = provider.books.calls(RUN)

    assert run["required"] == inputs_of_the_traffic("briefing")
    assert run["output"].startswith("(simulated) All reports in one.")
    assert run["output"].count("On late parcels:") == 2
    assert {call.model for call in (voices, figures, page)} <= set(MODELS)
    assert voices.usage
    assert figures.usage
    assert figures.usage.reasoning > 0
    assert abs(figures.usage.prompt - voices.usage.prompt) < 20, "the analyst saw the researcher's report"


async def test_a_failing_call_fails_the_run_at_once(run_crew: Run) -> None:
    async with serve(Behaviour(rate_500=1.0)) as provider:
        run = await run_crew("order", ORDER, provider)

    assert run["error"] == "InternalServerError"
    assert [call.status for call in provider.books.calls(RUN)] == [500]


async def test_without_a_provider_the_crews_say_what_to_do(run_crew: Run) -> None:
    run = await run_crew("order", ORDER, None)

    assert "CREWTOP_DEMO_PROVIDER is not set" in run["errors"]
    assert "python -m crewtop.demo.provider" in run["errors"]


async def test_every_registered_name_leads_to_a_crew(run_crew: Run) -> None:
    text = resources.files("crewtop.demo").joinpath("crewtop.toml").read_text()
    crews = tomllib.loads(text)["crews"]
    run = await run_crew("echo", {"said": "hello"}, None)

    assert crews == {name: f"crewtop.demo.crews:{name}" for name in crews}
    assert set(crews) == {"order", "returns", "product", "briefing", "echo"}
    assert run["output"] == {"said": "hello"}
