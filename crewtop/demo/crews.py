"""The shop's crews. Each function builds a fresh crew for one run; `crewtop.toml` registers them by name.

The inputs of a crew are the names in braces in its texts. The crews talk to the provider whose address stands
in CREWTOP_DEMO_PROVIDER, and name their run (CREWTOP_RUN_ID) in a header, so that its books can be compared
with crewtop's. Client and agents do not retry: a failed call fails the run, and the queue decides what comes
next. Only a 429 is repeated twice by CrewAI itself, which no setting of it turns off.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from crewai import LLM, Agent, Crew, Process, Task
from crewai.tools import BaseTool

from crewtop.demo.tools import check_inventory, look_up_order, process_return, search_knowledge_base


def order() -> Crew:
    """Answer a question about an order. Inputs: order_id, customer, question."""
    clerk = _agent(
        "Order clerk",
        "Tell customers where their order is and whether more is in stock",
        "You have run the order desk of a small home-ware shop for years and never guess.",
        model="gpt-4.1-mini",
        tools=[look_up_order, check_inventory],
    )
    task = Task(
        name="answer",
        description="A customer asks about an order.\nCustomer: {customer}\nOrder id: {order_id}\nQuestion: {question}",
        expected_output="A short, friendly answer with the state of the order and of the stock",
        agent=clerk,
    )
    return _crew(task)


def returns() -> Crew:
    """Take an order back. Inputs: order_id, customer, reason."""
    clerk = _agent(
        "Returns clerk",
        "Open returns so that customers get their money back without a second message",
        "You know the shop's return policy by heart and apply it generously.",
        model="gpt-4.1",
        tools=[look_up_order, process_return],
    )
    task = Task(
        name="return",
        description="A customer sends an order back.\nCustomer: {customer}\nOrder id: {order_id}\nReason: {reason}",
        expected_output="A short confirmation with the number of the return and the refund",
        agent=clerk,
    )
    return _crew(task)


def product() -> Crew:
    """Answer a question about the shop's products, streamed. Inputs: customer, question."""
    adviser = _agent(
        "Product adviser",
        "Answer questions from the shop's help pages, and only from them",
        "You wrote most of the help pages yourself.",
        model="gpt-4o-mini",
        tools=[search_knowledge_base],
        stream=True,
    )
    task = Task(
        name="advise",
        description="A customer has a question.\nCustomer: {customer}\nQuestion: {question}",
        expected_output="A short answer that names the help page it comes from",
        agent=adviser,
    )
    return _crew(task)


def briefing() -> Crew:
    """Brief the shop's owner: two reports, then one that joins them. Inputs: topic, audience."""
    researcher = _agent(
        "Researcher",
        "Collect what customers said about {topic}",
        "You read every message that the shop receives.",
        model="gpt-4.1-mini",
    )
    analyst = _agent(
        "Analyst",
        "Find what lies behind the figures on {topic}",
        "You distrust averages and say how sure you are.",
        model="o4-mini",
    )
    writer = _agent(
        "Writer",
        "Turn reports into a page that {audience} can act on",
        "You edited a trade paper and cut every sentence in half.",
        model="gpt-4.1",
    )
    voices = Task(
        name="voices",
        description="Collect the customers' views of the last week.\nTopic: {topic}",
        expected_output="Three findings",
        agent=researcher,
    )
    figures = Task(
        name="figures",
        description="Look at the shop's figures of the last week.\nTopic: {topic}",
        expected_output="Three findings",
        agent=analyst,
        context=[],
    )
    page = Task(
        name="briefing",
        description="Write one page for {audience} from both reports.\nTopic: {topic}",
        expected_output="One page without headings",
        agent=writer,
        context=[voices, figures],
    )
    return _crew(voices, figures, page)


def echo(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs: the smallest thing that a queue can run, without agents, calls or cost."""
    return dict(inputs)


def _crew(*tasks: Task) -> Crew:
    agents = [task.agent for task in tasks if task.agent]
    return Crew(agents=agents, tasks=list(tasks), process=Process.sequential)


def _agent(
    role: str,
    goal: str,
    backstory: str,
    *,
    model: str,
    tools: list[BaseTool] | None = None,
    stream: bool = False,
) -> Agent:
    llm = _llm(model, stream=stream)
    return Agent(role=role, goal=goal, backstory=backstory, llm=llm, tools=tools or [], max_retry_limit=0)


def _llm(model: str, *, stream: bool) -> LLM:
    try:
        provider = os.environ["CREWTOP_DEMO_PROVIDER"]
    except KeyError:
        raise RuntimeError(
            "CREWTOP_DEMO_PROVIDER is not set, and the shop's crews call no real model: "
            "start `python -m crewtop.demo.provider` and set it to the address that this prints"
        ) from None
    run = os.environ.get("CREWTOP_RUN_ID")
    return LLM(
        model=f"openai/{model}",
        base_url=provider,
        api_key="simulated",
        max_retries=0,
        timeout=60,
        stream=stream,
        default_headers={"X-Crewtop-Run": run} if run else None,
    )
