"""Crews that call models, for measuring. Each request carries the ledger's name of its call, so that books can be
compared call by call."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import httpx
from crewai import LLM, Agent, Crew, Task
from crewai.llms.hooks.base import BaseInterceptor

from crewtop.demo.provider import CLIENT_ID_HEADER
from crewtop.demo.tools import check_inventory, look_up_order
from crewtop.llm.attempt import current

MODELS = ("gpt-4.1-mini", "gpt-4.1", "o4-mini")
SECOND_MODEL = "deepseek-chat"
QUESTIONS = ("Where is my parcel?", "How long is the warranty?", "Which lamp is the brightest?")


class Named(BaseInterceptor[httpx.Request, httpx.Response]):
    """Puts the ledger's name of a call on its request."""

    def on_outbound(self, message: httpx.Request) -> httpx.Request:
        """Before it goes out."""
        if attempt := current.get():
            message.headers[CLIENT_ID_HEADER] = attempt.call_id
        return message

    def on_inbound(self, message: httpx.Response) -> httpx.Response:
        """Nothing to do."""
        return message

    async def aon_outbound(self, message: httpx.Request) -> httpx.Request:
        """The same within an event loop."""
        return self.on_outbound(message)

    async def aon_inbound(self, message: httpx.Response) -> httpx.Response:
        """Nothing to do."""
        return message


def calls(inputs: dict[str, Any]) -> int:
    """Make inputs["calls"] calls one after another, of every kind, the kinds set by inputs["n"]."""
    for number in range(inputs["n"], inputs["n"] + inputs["calls"]):
        _model(*_kind(number)).call(_messages(number))
    return int(inputs["calls"])


async def calls_later(inputs: dict[str, Any]) -> int:
    """The same in an event loop."""
    for number in range(inputs["n"], inputs["n"] + inputs["calls"]):
        await _model(*_kind(number)).acall(_messages(number))
    return int(inputs["calls"])


def desk() -> Crew:
    """A crew with tools: two or three calls. Inputs: order_id, customer."""
    clerk = Agent(
        role="Order clerk",
        goal="Tell customers where their order is",
        backstory="You never guess.",
        llm=_made("openai", "gpt-4.1-mini", "CREWTOP_DEMO_PROVIDER", stream=False),
        tools=[look_up_order, check_inventory],
        max_retry_limit=0,
    )
    return _one(clerk, "A customer asks about an order.\nCustomer: {customer}\nOrder id: {order_id}")


def second() -> Crew:
    """A crew of one call to a second provider, at SECOND_PROVIDER. Inputs: customer, order_id."""
    llm = _made("deepseek", SECOND_MODEL, "SECOND_PROVIDER", stream=False)
    adviser = Agent(role="Adviser", goal="Answer", backstory="You are brief.", llm=llm, max_retry_limit=0)
    return _one(adviser, "Customer: {customer}\nTopic: order {order_id}")


def waits() -> Crew:
    """A crew of three calls, one after another: two agents who share a model. Inputs: topic, audience."""
    roles = ("Researcher", "Analyst", "Researcher")
    agents = {
        role: Agent(role=role, goal="Find out about {topic}", backstory="You read a lot.", llm=_shared("gpt-4.1-mini"))
        for role in dict.fromkeys(roles)
    }
    tasks = [
        Task(
            name=f"part {number}",
            description="Part " + str(number) + " for {audience}.\nTopic: {topic}",
            expected_output="Three findings",
            agent=agents[role],
        )
        for number, role in enumerate(roles, start=1)
    ]
    return Crew(agents=list(agents.values()), tasks=tasks)


@cache
def _shared(model: str) -> LLM:
    """Made once a process, as most crews do with their models: each takes 50 ms of CPU and more, for TLS alone."""
    return LLM(model=f"openai/{model}", base_url=os.environ["CREWTOP_DEMO_PROVIDER"], api_key="simulated")


def _one(agent: Agent, description: str) -> Crew:
    task = Task(name="answer", description=description, expected_output="A short answer", agent=agent)
    return Crew(agents=[agent], tasks=[task])


def _kind(number: int) -> tuple[str, bool]:
    """Model, and whether streamed: all of both, in a cycle of six."""
    return MODELS[number % len(MODELS)], number % 2 == 0


def _messages(number: int) -> list[dict[str, str]]:
    """A question; every third time one that follows an answer, so that most of the prompt comes from the cache."""
    question = {"role": "user", "content": f"Customer: Ada {number}\n{QUESTIONS[number % len(QUESTIONS)]}"}
    if number // 6 % 3:
        return [question]
    first = {"role": "system", "content": "You answer the customers of a shop for home ware. " * 12}
    return [first, question, {"role": "assistant", "content": "It is on its way."}, question]


@cache
def _model(model: str, stream: bool) -> LLM:
    return _made("openai", model, "CREWTOP_DEMO_PROVIDER", stream=stream)


def _made(provider: str, model: str, variable: str, *, stream: bool) -> LLM:
    return LLM(
        model=f"{provider}/{model}", base_url=os.environ[variable], api_key="simulated", max_retries=0, stream=stream,
        interceptor=Named(),
    )  # fmt: skip
