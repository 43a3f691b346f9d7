"""Crews that the tests run in executors, with the simulated provider at PROVIDER."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from crewai import LLM, Agent, Crew, Task
from crewai.flow import Flow, start
from crewai.project import CrewBase, agent, before_kickoff, crew, task
from crewai.tools import tool
from pydantic import BaseModel

import crewtop


def llm(key: str = "simulated", **options: Any) -> LLM:
    headers = {"X-Crewtop-Run": os.environ["CREWTOP_RUN_ID"]}
    chosen = {"model": "openai/gpt-4.1-mini", "max_retries": 0} | options
    return LLM(**{"base_url": os.environ["PROVIDER"], "api_key": key, "default_headers": headers} | chosen)


def clerk(role: str = "Clerk", **options: Any) -> Agent:
    given = {"llm": llm(), "max_retry_limit": 0} | options
    return Agent(role=role, goal="Help", backstory="You help.", **given)


def step(agent: Agent, text: str = "Tell about {topic}", **options: Any) -> Task:
    return Task(description=text, expected_output="A text", agent=agent, **options)


def one(agent: Agent, text: str = "Tell about {topic}", **options: Any) -> Crew:
    return Crew(agents=[agent], tasks=[step(agent, text, **options)])


def single() -> Crew:
    return one(clerk())


def pair() -> Crew:
    """Two agents that share one model."""
    shared = llm()
    first, second = clerk("Reader", llm=shared), clerk("Writer", llm=shared)
    return Crew(agents=[first, second], tasks=[step(first, name="read"), step(second, "Sum up", name="write")])


def planned() -> Crew:
    built = pair()
    built.planning, built.planning_llm = True, llm()
    return built


def reasoning() -> Crew:
    return one(clerk(reasoning=True, max_reasoning_attempts=1))


def revoked_midway() -> Crew:
    first, second = clerk(), clerk("Locked out", llm=llm("revoked"))
    return Crew(agents=[first, second], tasks=[step(first), step(second)])


def keyless() -> Crew:
    """Its model has no key of its own: neither given nor in the environment."""
    os.environ.pop("OPENAI_API_KEY", None)
    return one(clerk(llm=LLM(model="openai/gpt-4.1-mini", base_url=os.environ["PROVIDER"])))


def persistent() -> Crew:
    """As CrewAI makes them: the SDK, CrewAI and the agent each try again."""
    return one(clerk(llm=llm(max_retries=2), max_retry_limit=2))


def unsettled() -> Crew:
    """Its model's choice is left to the worker."""
    return one(clerk(llm=crewtop.LLM("auto", tag="draft", temperature=0.5)))


def exhausted() -> Crew:
    return one(clerk(llm=llm("exhausted")))


def streamed() -> Crew:
    return one(clerk(llm=llm(stream=True)))


def streaming_crew() -> Crew:
    built = pair()
    built.stream = True
    return built


def impatient() -> Crew:
    return one(clerk(llm=llm(timeout=0.3)))


def in_parallel() -> Crew:
    first, second, third = clerk("First"), clerk("Second"), clerk("Third")
    both = [step(first, "Do A", async_execution=True), step(second, "Do B", async_execution=True)]
    return Crew(agents=[first, second, third], tasks=[*both, step(third, "Join", context=both)])


def with_human() -> Crew:
    return one(clerk(), human_input=True)


def unforgiving() -> Crew:
    return one(clerk(respect_context_window=False))


@tool("stock")
def stock() -> str:
    """Say how many are left."""
    return "Left: 5"


@tool("flaky")
def flaky() -> str:
    """Fail."""
    raise RuntimeError("out of paper")


@tool("stuck")
def stuck() -> str:
    """Hang, with a process of its own."""
    print(f"child {subprocess.Popen(['sleep', '600']).pid}")
    time.sleep(600)
    return "never"


def with_tools() -> Crew:
    return one(clerk(tools=[stock, flaky]))


def with_stuck_tool() -> Crew:
    return one(clerk(tools=[stuck]))


class Page(BaseModel):
    title: str


def structured(inputs: Any) -> Any:
    """What a crew with output_pydantic returns, nested in a function's own result."""
    from crewai import CrewOutput

    output = CrewOutput(raw="{}", pydantic=Page(title="Lamps"), token_usage={}, tasks_output=[])
    return {"page": output, "pages": (Page(title="Desks"),)}


def two_in_threads(inputs: dict[str, Any]) -> list[Any]:
    """Kick off two crews in threads that know nothing of the main thread's context."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda built: built.kickoff(inputs=inputs), [single(), single()]))


@CrewBase
class Desk:
    """Its agents and tasks are described in config/*.yaml, as CrewAI's project template has it."""

    @agent
    def clerk(self) -> Agent:
        return Agent(config=self.agents_config["clerk"], llm=llm())

    @task
    def greet(self) -> Task:
        return Task(config=self.tasks_config["greet"])

    @crew
    def crew(self) -> Crew:
        return Crew(agents=self.agents, tasks=self.tasks)


@CrewBase
class SelfHelping:
    """A Desk whose inputs are completed before the kickoff."""

    @before_kickoff
    def complete(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return {"customer": "Ada"} | inputs

    @agent
    def clerk(self) -> Agent:
        return Agent(config=self.agents_config["clerk"], llm=llm())

    @task
    def greet(self) -> Task:
        return Task(config=self.tasks_config["greet"])

    @crew
    def crew(self) -> Crew:
        return Crew(agents=self.agents, tasks=self.tasks)


class Greeting(Flow):
    @start()
    def greet(self) -> dict[str, Any]:
        text = single().kickoff(inputs={"topic": "tea"}).raw
        return {"greeting": f"Hello {self.state['name']}", "text": text, "lancedb": "lancedb" in sys.modules}


class Remembering(Flow):
    """Uses the memory that CrewAI gives to every flow."""

    @start()
    def remember(self) -> list[str]:
        return self.memory.list_scopes()


def json_example() -> Crew:
    """Braces that are no input."""
    return one(clerk(), 'Return JSON such as {"title": "..."} about {topic}')


def unreachable(inputs: Any) -> None:
    llm(base_url="http://127.0.0.1:9/v1").call("Hello")


def calls_while_loading() -> Crew:
    llm(base_url="http://127.0.0.1:9/v1").call("Hello")
    return single()


async def tagged(inputs: dict[str, Any]) -> str:
    """A crew of a coroutine's own, whose requests name the inputs' tag in place of the run."""
    crew = one(clerk(llm=llm(default_headers={"X-Crewtop-Run": inputs["tag"]})))
    output = await crew.akickoff(inputs=inputs)
    return str(output.raw)


def shared_again_and_again(inputs: dict[str, Any]) -> int:
    """One model for two agents: a crew that fails at its end, the same once more, and twice at a time."""
    shared = llm()

    def built(end: Any = None) -> Crew:
        first, second = clerk("Reader", llm=shared), clerk("Writer", llm=shared)
        return Crew(agents=[first, second], tasks=[step(first), step(second, "Sum up", callback=end)])

    def fail(_: Any) -> None:
        raise RuntimeError("no")

    try:
        built(fail).kickoff(inputs)
    except RuntimeError:
        built().kickoff(inputs)
        with ThreadPoolExecutor(2) as pool:
            return len(list(pool.map(lambda _: built().kickoff(dict(inputs)), range(2))))
    raise AssertionError("the first crew went well")
