"""Money from the command line: sums by anything, prices written anew, what-if, budgets, and results as they come."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import signal
import sys
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from crewtop.config import load
from crewtop.llm.asking import CallAsk, PromptShape
from crewtop.llm.complexity import shape
from crewtop.llm.routes import choose, listed
from crewtop.llm.routes_table import parse
from crewtop.model.events import CallEnded, CallStarted
from crewtop.model.ledger import CallEntry
from crewtop.model.pricing import Rates
from crewtop.model.task import RunOutcome
from crewtop.store import ledger
from crewtop.worker.calls import Asked
from crewtop.worker.story import Story
from tests.e2e.conftest import ROOT, Site
from tests.store.helpers import call, end, put, take

C22 = {
    "a": ("openai", {"prompt_tokens": 262_960, "cached_prompt_tokens": 257_955, "completion_tokens": 1_744}),
    "b": ("anthropic", {"input_tokens": 3, "cache_creation_input_tokens": 12_304, "output_tokens": 550}),
    "c": ("openai", {"prompt_tokens": 0, "completion_tokens": 1_000, "reasoning_tokens": 800}),
    "d": ("gemini", {"prompt_token_count": 0, "candidates_token_count": 200, "thoughts_token_count": 800}),
    "e": ("openai", {"prompt_tokens": 10, "cached_prompt_tokens": 30, "completion_tokens": 0}),
}  # fmt: skip
PRICES = {
    "a": ("1.25", "0.625", "0", "10"), "b": ("3", "0.3", "3.75", "15"), "c": ("0", "0", "0", "10"),
    "d": ("0", "0", "0", "10"), "e": ("1", "1", "1", "1"),
}  # fmt: skip
COSTS = {"a": "0.184918125", "b": "0.054399", "c": "0.01", "d": "0.01", "e": "0.00001"}


async def cost(site: Site, *flags: str) -> Any:
    code, out, err = await site.crewtop("cost", *flags, "--json")
    assert code == 0, err
    return json.loads(out)


async def pay(site: Site, amount: str | None, crew: str = "a", status: RunOutcome | None = None, **fields: Any) -> None:
    """A task of a crew with one call; status: how it ended, if it did."""
    await put(site.database, crew)
    [claim] = await take(site.database, crews=(crew,))
    used = {"usage": '{"prompt_tokens": 1000000, "completion_tokens": 0}'} if amount is not None else {}
    paid = Decimal(amount) if amount is not None else None
    await ledger.record_calls(site.database, [call(claim, cost=paid, **{**used, **fields})])
    if status is not None:
        await end(site.database, claim, status, error="no", terminal=True)


async def test_every_providers_usage_is_on_the_bill_to_the_last_digit(site: Site) -> None:
    """Case C22, from what the provider reported to what the operator reads; and C21: what it did not report."""
    [task_id] = await put(site.database, "a")
    [claim] = await take(site.database)
    story = Story(claim, {model: _rates(*rates) for model, rates in PRICES.items()})
    for model, (provider, usage) in C22.items():
        for event in (
            CallStarted(1.0, model, provider, model, "clerk", None),
            CallEnded(2.0, model, "ok", dict(usage), "stop"),
        ):
            await ledger.record_calls(site.database, [e for e in story.tell(event) if isinstance(e, CallEntry)])
    for event in (CallStarted(3.0, "s", "openai", "a", None, None), CallEnded(4.0, "s", "ok", None)):
        await ledger.record_calls(site.database, [e for e in story.tell(event) if isinstance(e, CallEntry)])
    found = await cost(site, "--by", "model")
    told = {row["name"].partition("/")[2]: Decimal(row["cost"]["known_usd"]) for row in found["rows"]}
    assert told == {model: Decimal(amount) for model, amount in COSTS.items()}
    assert found["total"]["unknown_calls"] == 1
    assert Decimal(found["total"]["known_usd"]) == sum(map(Decimal, COSTS.values()))
    assert await site.sql("SELECT cost FROM crewtop.tasks") == sum(map(Decimal, COSTS.values()))
    assert await site.sql("SELECT array_agg(call_id) FROM crewtop.llm_calls WHERE clamped") == ["e"]
    _, out, _ = await site.crewtop("cost")
    assert "≥ $0.25 (1 call unreported)" in out
    _, out, _ = await site.crewtop("show", str(task_id), "--json")
    assert "crewtop.toml: 1.25 in, 0.625 cached, 0 to cache, 10 out" in out


def _rates(given: str, read: str, write: str, out: str) -> Rates:
    return Rates(Decimal(given), Decimal(out), Decimal(read), Decimal(write))


async def test_sums_say_what_failed_of_them_in_text_csv_and_json(site: Site) -> None:
    await pay(site, "1.25", "a")
    await pay(site, "0.5", "b", RunOutcome.FAILED)
    await pay(site, None, "b")
    _, out, _ = await site.crewtop("cost", "--by", "crew", "--since", "7200")
    assert "≥ $1.75 (1 call unreported)" in out
    assert "tasks that have failed by now: $0.50" in out
    _, out, _ = await site.crewtop("cost", "--csv")
    rows = {row["crew"]: row for row in csv.DictReader(io.StringIO(out))}
    assert (rows["b"]["cost_usd"], rows["b"]["unpriced_calls"], rows["b"]["failed_cost_usd"]) == ("0.5", "1", "0.5")
    for by in ("crew", "model", "queue", "step", "day"):
        assert Decimal((await cost(site, "--by", by))["total"]["known_usd"]) == Decimal("1.75")
    code, _, err = await site.crewtop("cost", "--since", "soon")
    assert (code, "--since 'soon' is no duration" in err) == (2, True)


async def test_past_calls_are_priced_again_once_it_is_said_so(site: Site) -> None:
    (site.folder / "crewtop.toml").open("a").write('\n[llm.prices]\n"gpt-4.1" = { input = 3, output = 9 }\n')
    await pay(site, "2")
    await pay(site, None)
    _, out, _ = await site.crewtop("cost", "reprice", "--since", "1h")
    assert "nothing is written yet: 1 of the calls would cost something else" in out
    assert "1 without usage stay as they are" in out
    assert "+$1.00" in out
    assert await site.sql("SELECT sum(cost) FROM crewtop.llm_calls") == 2
    for _ in range(2):
        code, out, _ = await site.crewtop("cost", "reprice", "--since", "1h", "--yes")
        assert (code, await site.sql("SELECT sum(cost) FROM crewtop.tasks")) == (0, 3)
    assert "repricing 2 is done: 0 of the calls" in out
    _, out, _ = await site.crewtop("cost", "repricings", "--json")
    newest, first = json.loads(out)
    assert (newest["sums"], first["sums"][0]["before"], first["sums"][0]["after"]) == ([], "2", "3")
    assert Decimal((await cost(site))["total"]["known_usd"]) == 3


async def test_what_another_model_would_have_cost(site: Site) -> None:
    await pay(site, "2", tokens=_million())
    await pay(site, None)
    _, out, _ = await site.crewtop("cost", "what-if", "--model", "gpt-4.1=gpt-4.1-mini", "--json")
    [found] = json.loads(out)["supposed"]
    assert (found["compared"], found["unknown"], found["was"], Decimal(found["would"])) == (1, 1, "2", Decimal("0.4"))
    assert await site.sql("SELECT sum(cost) FROM crewtop.llm_calls") == 2
    code, _, err = await site.crewtop("cost", "what-if", "--model", "gpt-4.1")
    assert (code, "is not A=B" in err) == (2, True)


async def test_what_other_routes_would_have_cost(site: Site) -> None:
    prompt = asdict(PromptShape(input_tokens=1_000_000, output_tokens=0, characters=10))
    await pay(
        site, "2", tokens=_million(), route=json.dumps({"asked": "openai/gpt-4.1", "tag": None, "prompt": prompt})
    )
    await pay(site, "2", tokens=_million())
    routes = site.folder / "routes.toml"
    routes.write_text('[[llm.routes.rules]]\ncrew = "a"\nuse = "openai/gpt-4.1-nano"\n')
    _, out, _ = await site.crewtop("cost", "what-if", "--route", str(routes), "--json")
    found = json.loads(out)
    [whole] = found["supposed"]
    assert (whole["compared"], whole["unknown"], Decimal(whole["would"])) == (1, 1, Decimal("0.1"))
    assert found["models"] == {"openai/gpt-4.1-nano": 1}


async def test_calls_that_were_routed_are_judged_by_what_they_asked_for(site: Site) -> None:
    """Routed to a dear model, priced again since: by rules for the tag, and by grade; unknown usage stays unknown."""
    routes = parse({"rules": [{"tag": "draft", "use": "openai/gpt-4.1"}]})
    prompt = shape([{"role": "user", "content": "Classify the ticket, one word: my card was charged twice."}])
    ask = CallAsk("1", "openai", "gpt-4.1-mini", 0, "a", "default", 3, prompt=prompt, tag="draft")
    route = Asked(ask, choice=choose(ask, prompt, routes, listed({}), lambda _: None)).route()
    assert json.loads(route)["asked"] == "openai/gpt-4.1-mini"
    assert json.loads(route)["model"] == "openai/gpt-4.1"
    await pay(site, "3", tokens=_million(), route=route)
    await pay(site, None, route=route)
    code, _, err = await site.crewtop("cost", "reprice", "--since", "1h", "--yes")
    assert code == 0, err

    async def what_if(rules: str) -> tuple[Any, Any]:
        (path := site.folder / "other.toml").write_text(rules)
        _, out, _ = await site.crewtop("cost", "what-if", "--route", str(path), "--json")
        found = json.loads(out)
        [whole] = found["supposed"]
        assert (whole["compared"], whole["unknown"]) == (1, 1)
        assert Decimal(whole["was"]) == 2
        return Decimal(whole["would"]), found["models"]

    as_asked = await what_if('[llm.routes]\notherwise = "as is"\n')
    assert as_asked == (Decimal("0.4"), {"openai/gpt-4.1-mini": 1})
    by_tag = await what_if('[[llm.routes.rules]]\ntag = "draft"\nuse = "openai/gpt-4.1-nano"\n')
    assert by_tag == (Decimal("0.1"), {"openai/gpt-4.1-nano": 1})
    models = 'easy = "openai/gpt-4.1-nano"\nmoderate = "openai/gpt-4.1-mini"\nhard = "openai/gpt-4.1"\n'
    assert await what_if(f'[llm.routes]\notherwise = "auto"\n[llm.routes.models]\n{models}') == by_tag


def _million() -> Any:
    from crewtop.model.pricing import Tokens

    return Tokens(1_000_000, 0, 0, 0, 0)


async def test_a_spent_budget_holds_its_crew_until_it_is_raised(site: Site) -> None:
    config = site.folder / "crewtop.toml"
    plain = config.read_text()
    config.write_text(plain + '\n[llm.budgets]\ncrew.echo = { day = 0.5, then = "pause" }\n')
    await pay(site, "1", "echo")
    worker = site.worker()
    await site.until("held_until IS NOT NULL FROM crewtop.budgets")
    held = await site.queue.enqueue("echo", {"text": "held"})
    await site.queue.result(await site.queue.enqueue("mark", {"n": 1}), timeout=60)
    assert await site.sql("SELECT status FROM crewtop.tasks WHERE id = $1", int(held)) == "pending"
    _, out, _ = await site.crewtop("snapshot")
    assert "crew echo: spent, nothing more of it is claimed" in " ".join(out.split())
    worker.send_signal(signal.SIGTERM)
    worker.wait()
    config.write_text(plain + '\n[llm.budgets]\ncrew.echo = { day = 5, then = "pause" }\n')
    site.worker()
    await site.queue.result(held, timeout=60)


async def test_a_budget_that_cannot_be_is_refused(site: Site) -> None:
    """Case C06."""
    for wrong in ("-1", '"nan"', '"1e999"', "0"):
        config = site.folder / "wrong.toml"
        config.write_text(f"[llm.budgets]\ntotal = {{ day = {wrong} }}\n")
        code, _, err = await site.crewtop("--config", str(config), "snapshot")
        assert (code, "llm.budgets.total.day" in err) == (2, True), wrong


async def give(site: Site, *values: str) -> None:
    """Completed tasks with these results."""
    for value in values:
        await site.queue.enqueue("a", key=f"order-{value}")
        [claim] = await take(site.database)
        await end(site.database, claim, RunOutcome.COMPLETED, result=f'{{"api_key": "sk-1",\n "n": {value}}}')


async def test_results_are_lines_of_json_and_go_on_from_a_place(site: Site) -> None:
    await give(site, "1", "2")
    code, out, err = await site.crewtop("results")
    assert code == 0
    lines = [json.loads(line) for line in out.splitlines()]
    assert [(line["crew"], line["key"], line["result"]["n"]) for line in lines] == [
        ("a", "order-1", 1), ("a", "order-2", 2),
    ]  # fmt: skip
    place = err.strip().removeprefix("crewtop: up to ")
    await give(site, "3")
    _, out, _ = await site.crewtop("results", "--after", place)
    assert [json.loads(line)["result"]["n"] for line in out.splitlines()] == [3]
    _, out, _ = await site.crewtop("results", "key:order-2")
    assert [json.loads(line)["result"]["n"] for line in out.splitlines()] == [2]


async def test_a_file_of_results_is_gone_on_with_whatever_became_of_the_writer(site: Site) -> None:
    out = site.folder / "results.ndjson"
    await give(site, "1", "2")
    await site.crewtop("results", "--out", str(out))
    whole = out.read_bytes()
    out.write_bytes(whole[:-7])  # killed in the middle of the second line
    await give(site, "3")
    await site.crewtop("results", "--out", str(out))
    assert [json.loads(line)["result"]["n"] for line in out.read_text().splitlines()] == [1, 2, 3]
    out.write_text("a letter\n")
    code, _, err = await site.crewtop("results", "--out", str(out))
    assert (code, "holds something else than results" in err) == (2, True)
    assert out.read_text() == "a letter\n"


async def test_followed_results_come_as_they_are_given_and_the_place_is_told_at_the_end(site: Site) -> None:
    out = site.folder / "results.ndjson"
    await give(site, "1")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "crewtop", "results", "--follow", "--out", str(out), cwd=ROOT, env=site.env,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    await give(site, "2")

    async def both() -> bool:
        return out.exists() and len(out.read_bytes().splitlines()) == 2

    await site.until(both)
    os.kill(process.pid, signal.SIGTERM)
    _, err = await process.communicate()
    assert b"up to " in err


@pytest.mark.parametrize("name", ["prices.toml"])
def test_the_example_is_read_as_it_stands(name: str) -> None:
    settings = load(Path(ROOT) / "examples" / name).settings
    assert settings.rates()["openai/gpt-4o"].cache_read == Decimal("1.25")
    assert len(settings.llm.prices) > 15
