"""A crew of five steps, each one call to the simulated provider, for tests that cut it off in the middle."""

from __future__ import annotations

import os

from crewai import LLM, Agent, Crew, Task


def stages() -> Crew:
    llm = LLM(
        model="openai/gpt-4.1-mini",
        base_url=os.environ["CREWTOP_DEMO_PROVIDER"],
        api_key="simulated",
        max_retries=0,
        default_headers={"X-Crewtop-Run": os.environ["CREWTOP_RUN_ID"]},
    )
    names = ("collect", "sort", "weigh", "write", "shorten")
    agents = [Agent(role=f"{name}er", goal="Help", backstory="You help.", llm=llm, max_retry_limit=0) for name in names]
    tasks = [
        Task(name=name, description=f"Please {name}.\nTopic: {{topic}}", expected_output="A text", agent=agent)
        for name, agent in zip(names, agents, strict=True)
    ]
    return Crew(agents=agents, tasks=tasks)
