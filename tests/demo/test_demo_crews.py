"""The shop's crews for real, each in a process of its own, against the simulated provider."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tomllib
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

from crewtop.demo.provider import MODELS, Behaviour, Provider, serve
from crewtop.demo.traffic import tasks

QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "CREWAI_TESTING": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "OTEL_SDK_DISABLED": "true",
}
ORDER = {"order_id": "A-1004", "customer": "Emil Novak", "question": "Where is my parcel?"}
RUN = "6f9f1a52-run"


async def run_crew(name: str, inputs: dict[str, str], storage: Path, provider: Provider | None) -> Any:
    """What shop_run.py printed about one run of a crew; `errors` holds its last line on stderr."""
    own = {"HOME": str(storage), "CREWAI_STORAGE_DIR": str(storage), "CREWTOP_RUN_ID": RUN}
    environment = {**os.environ, **QUIET, **own}
    for name_of_others in ("CREWTOP_DEMO_PROVIDER", "REDIS_URL"):
        environment.pop(name_of_others, None)
    if provider:
        environment["CREWTOP_DEMO_PROVIDER"] = provider.url
    script = Path(__file__).with_name("shop_run.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(script),
        name,
        json.dumps(inputs),
        env=environment,
        cwd=storage,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(90):
        output, errors = await process.communicate()
    if process.returncode:
        return {"errors": errors.decode().strip().splitlines()[-1]}
    return json.loads(output.splitlines()[-1])


def inputs_of_the_traffic(crew: str) -> list[str]:
    return sorted(next(task for task in islice(tasks(0), 1_000) if task.crew == crew).inputs)


async def test_order_looks_up_the_order_and_then_the_stock(tmp_path: Path) -> None:
    async with serve() as provider:
        run = await run_crew("order", ORDER, tmp_path, provider)
        calls = provider.books.calls(RUN)

    assert run["required"] == inputs_of_the_traffic("order")
    assert run["output"] == (
        "(simulated) Hello Emil Novak. Order A-1004 (3 x wall clock) was delivered on 25 March. "
        "Wall clock: 3 in stock, 58.00 USD each."
    )
    assert [call.tool for call in calls] == ["look_up_order", "check_inventory", None]
    assert {call.model for call in calls} <= set(MODELS)
    assert provider.books.calls() == calls


async def test_order_explains_a_number_that_the_shop_does_not_know(tmp_path: Path) -> None:
    async with serve() as provider:
        run = await run_crew("order", {**ORDER, "order_id": "A-9999"}, tmp_path, provider)
        calls = provider.books.calls(RUN)

    assert "I could not do this for you. The shop has no order A-9999" in run["output"]
    assert [call.tool for call in calls] == ["look_up_order", None]


async def test_returns_opens_a_return(tmp_path: Path) -> None:
    inputs = {"order_id": "A-1004", "customer": "Emil Novak", "reason": "it arrived broken"}
    async with serve() as provider:
        run = await run_crew("returns", inputs, tmp_path, provider)
        calls = provider.books.calls(RUN)

    assert run["required"] == inputs_of_the_traffic("returns")
    assert "Return R-1004 is open (it arrived broken): 174.00 USD go back" in run["output"]
    assert [call.tool for call in calls] == ["look_up_order", "process_return", None]
    assert {call.model for call in calls} <= set(MODELS)


async def test_product_streams_an_answer_from_the_help_pages(tmp_path: Path) -> None:
    inputs = {"customer": "Greta Lind", "question": "Can I put the mugs into the dishwasher?"}
    async with serve() as provider:
        run = await run_crew("product", inputs, tmp_path, provider)
        calls = provider.books.calls(RUN)

    assert run["required"] == inputs_of_the_traffic("product")
    assert run["output"].endswith("the mugs go into the dishwasher, the bags do not. (help page: Cleaning)")
    assert [(call.tool, call.streamed) for call in calls] == [("search_knowledge_base", True), (None, True)]
    assert all(call.usage_reported for call in calls)
    assert {call.model for call in calls} <= set(MODELS)


async def test_briefing_joins_two_independent_reports(tmp_path: Path) -> None:
    inputs = {"topic": "late parcels", "audience": "the owner"}
    async with serve() as provider:
        run = await run_crew("briefing", inputs, tmp_path, provider)
        voices, figures, page = provider.books.calls(RUN)

    assert run["required"] == inputs_of_the_traffic("briefing")
    assert run["output"].startswith("(simulated) All reports in one.")
    assert run["output"].count("On late parcels:") == 2
    assert {call.model for call in (voices, figures, page)} <= set(MODELS)
    assert voices.usage
    assert figures.usage
    assert figures.usage.reasoning > 0
    assert abs(figures.usage.prompt - voices.usage.prompt) < 20, "the analyst saw the researcher's report"


async def test_a_failing_call_fails_the_run_at_once(tmp_path: Path) -> None:
    async with serve(Behaviour(rate_500=1.0)) as provider:
        run = await run_crew("order", ORDER, tmp_path, provider)

    assert run["error"] == "InternalServerError"
    assert [call.status for call in provider.books.calls(RUN)] == [500]


async def test_without_a_provider_the_crews_say_what_to_do(tmp_path: Path) -> None:
    run = await run_crew("order", ORDER, tmp_path, provider=None)

    assert "CREWTOP_DEMO_PROVIDER is not set" in run["errors"]
    assert "python -m crewtop.demo.provider" in run["errors"]


async def test_every_registered_name_leads_to_a_crew(tmp_path: Path) -> None:
    text = resources.files("crewtop.demo").joinpath("crewtop.toml").read_text()
    crews = tomllib.loads(text)["crews"]
    run = await run_crew("echo", {"said": "hello"}, tmp_path, provider=None)

    assert crews == {name: f"crewtop.demo.crews:{name}" for name in crews}
    assert set(crews) == {"order", "returns", "product", "briefing", "echo"}
    assert run["output"] == {"said": "hello"}
