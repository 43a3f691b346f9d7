"""What a crew's target may be, and what becomes of its result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crewtop.model.events import CallStarted, Loaded, Returned, StepStarted
from tests.executor.runs import Executor

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("executor")]


@pytest.mark.parametrize("target", ["jobs:echo", "jobs:echo_later"])
async def test_function_of_the_inputs(executor: Executor, target: str) -> None:
    run = await executor.run(target, {"order": [1, None, "ü"]})
    assert run.result == {"order": [1, None, "ü"]}
    assert run.status == 0
    [loaded] = run.of(Loaded)
    assert (loaded.kind, loaded.step_count) == ("callable", None)


async def test_function_without_parameters_that_returns_a_crew(executor: Executor) -> None:
    run = await executor.run("shop:pair", {"topic": "lamps"})
    [loaded] = run.of(Loaded)
    assert (loaded.kind, loaded.step_count) == ("crew", 2)
    assert [(step.position, step.name, step.agent) for step in run.of(StepStarted)] == [
        (1, "read", "Reader"),
        (2, "write", "Writer"),
    ]
    assert run.of(StepStarted)[0].description == "Tell about lamps"
    assert run.result.startswith("(simulated)")


async def test_crewbase_class(executor: Executor) -> None:
    run = await executor.run("shop:Desk", {"customer": "Bob"})
    [step] = run.of(StepStarted)
    assert (step.name, step.agent, step.description) == ("greet", "Clerk", "Greet Bob")
    assert run.result.startswith("(simulated)")


async def test_crewbase_class_that_completes_its_inputs(executor: Executor) -> None:
    run = await executor.run("shop:SelfHelping", {})
    assert run.of(StepStarted)[0].description == "Greet Ada"


async def test_flow(executor: Executor) -> None:
    run = await executor.run("shop:Greeting", {"name": "Bob"})
    assert run.of(Loaded)[0].kind == "flow"
    assert run.result["greeting"] == "Hello Bob"
    assert [step.position for step in run.of(StepStarted)] == [1]
    assert not run.result["lancedb"]  # two seconds of import that a flow without memory does not pay


async def test_crew_file(executor: Executor, tmp_path: Path) -> None:
    clerk = {"role": "Clerk", "goal": "Help", "backstory": "You help.", "llm": "openai/gpt-4.1-mini"}
    task = {"name": "tell", "description": "Tell about {topic}", "expected_output": "A text", "agent": "clerk"}
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "clerk.jsonc").write_text(json.dumps(clerk))
    crew = {"name": "Telling", "agents": ["clerk"], "tasks": [task], "inputs": {"topic": "lamps"}}
    (tmp_path / "crew.jsonc").write_text(f"// a comment\n{json.dumps(crew)}")
    openai = {"OPENAI_API_KEY": "simulated", "OPENAI_BASE_URL": executor.provider}
    run = await executor.run(str(tmp_path / "crew.jsonc"), {}, **openai)
    assert run.of(StepStarted)[0].description == "Tell about lamps"
    assert run.result.startswith("(simulated)")


async def test_streaming_crew_runs_to_its_end(executor: Executor) -> None:
    run = await executor.run("shop:streaming_crew", {"topic": "lamps"})
    assert len(run.of(StepStarted)) == 2
    assert run.result.startswith("(simulated)")


async def test_braces_that_are_no_input_are_not_required(executor: Executor) -> None:
    assert (await executor.run("shop:json_example", {"topic": "lamps"})).status == 0


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("shops.crews:Billing", "no module named 'shops' (looked in {folder})"),
        ("broken:crew", "No module named 'no_such_library'"),
        ("jobs:missing", "there is no 'missing' in 'jobs'"),
        ("jobs", "a target reads 'module:attribute' or names a .jsonc file"),
        ("jobs:two_parameters", "it must have one parameter, for the inputs, or none if it returns a crew"),
        ("jobs:NOT_CALLABLE", "it is a int, and not a Crew, "),
        ("jobs:Invoice", "it is a class (Invoice), and not a Crew, "),
        ("jobs:answer", "it returns a int, and not a Crew, "),
        ("no/such/crew.jsonc", "FileNotFoundError: "),
    ],
)
async def test_what_cannot_be_loaded_says_why_and_is_not_retried(executor: Executor, target: str, fault: str) -> None:
    run = await executor.run(target, {})
    folder = Path(__file__).parent / "targets"
    assert run.failure.error.startswith(f"crew 'billing' cannot be loaded from {target!r}: ")
    assert fault.format(folder=folder) in run.failure.error
    assert run.failure.error.endswith("; check [crews] in crewtop.toml")
    assert run.failure.terminal
    assert run.status == 1


async def test_a_network_that_fails_while_loading_is_no_mistake_of_the_configuration(executor: Executor) -> None:
    run = await executor.run("shop:calls_while_loading", {})
    assert "Connection refused" in run.failure.error
    assert not run.failure.terminal


async def test_missing_inputs_are_named_before_any_call(executor: Executor) -> None:
    run = await executor.run("shop:pair", {"other": 1})
    assert run.failure.error == "the crew needs inputs that this task does not have: topic"
    assert run.failure.terminal
    assert not run.of(CallStarted, StepStarted)


@pytest.mark.parametrize(("target", "kind"), [("shop:pair", "crew"), ("shop:Greeting", "flow")])
async def test_inputs_of_a_crew_are_an_object(executor: Executor, target: str, kind: str) -> None:
    run = await executor.run(target, ["lamps"])
    assert run.failure.error == (
        f'the inputs of a {kind} are a JSON object such as {{"topic": "..."}}; this task has ["lamps"]'
    )
    assert run.failure.terminal


async def test_dataclasses_and_their_fields_become_json(executor: Executor) -> None:
    assert (await executor.run("jobs:invoice")).result == [
        {"number": "00000000-0000-0000-0000-000000000007", "due": "2031-02-03", "total": "1.10", "file": "a/b"}
    ]


async def test_crew_outputs_and_pydantic_models_become_json(executor: Executor) -> None:
    assert (await executor.run("shop:structured")).result == {"page": {"title": "Lamps"}, "pages": [{"title": "Desks"}]}


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("jobs:not_a_number", "result['scores'][1] is nan; return None or a string instead"),
        ("jobs:no_json", "result['tags'] is a builtins.set; return numbers, text, "),
        ("jobs:contains_itself", "it contains itself, or is nested too deeply"),
    ],
)
async def test_what_json_cannot_say_is_refused_with_its_place(executor: Executor, target: str, fault: str) -> None:
    run = await executor.run(target)
    assert run.failure.error.startswith(f"the result cannot be stored as JSON: {fault}")
    assert run.failure.terminal


async def test_text_of_any_kind_passes_unchanged(executor: Executor) -> None:
    run = await executor.run("jobs:text")
    assert run.result == {
        "nul": "POZ\x00FB",
        "key\x00": "k",
        "surrogate": "\udc80",
        "markup": "[/] [bold]",
        "escape": "\x1b]52;c;x\x07",
    }
    assert isinstance(run.events[-1], Returned)
    assert run.events[-1].result.isascii()


async def test_inputs_of_a_mebibyte_and_more_pass(executor: Executor) -> None:
    inputs = {"text": "\u0001" * 1_100_000}  # six bytes each in JSON
    assert (await executor.run("jobs:echo", inputs)).result == inputs
