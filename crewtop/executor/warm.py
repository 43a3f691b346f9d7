"""What CrewAI would import, and build, on the first run in a process."""

from __future__ import annotations

import crewai.hooks.contexts
import crewai.llms.cache
import crewai.skills.tool
import openai.resources.chat.completions  # 485 modules
from crewai import LLM, Agent, Crew, Task
from crewai.events import AgentExecutionCompletedEvent, AgentExecutionErrorEvent, AgentExecutionStartedEvent

from crewtop.executor import crews, listener, memory, tls
from crewtop.llm import around, fit

__all__ = ["around", "build_crew", "crewai", "crews", "listener", "memory", "openai"]


def build_crew() -> None:
    """Build a crew that never runs, since a kickoff would start threads: it fills caches that save a run 0.1 s.

    And look up a model's window, which reads a list that takes 0.4 s.
    """
    tls.share_contexts()
    fit.listed_window("openai", "gpt-4.1-mini")
    llm = LLM(model="openai/gpt-4.1-mini", base_url="http://127.0.0.1:9/v1", api_key="none")
    agent = Agent(role="-", goal="-", backstory="-", llm=llm)
    Crew(agents=[agent], tasks=[Task(description="-", expected_output="-", agent=agent)])
    agent.create_agent_executor()
    for deferred in (AgentExecutionStartedEvent, AgentExecutionCompletedEvent, AgentExecutionErrorEvent):
        deferred.model_rebuild()
