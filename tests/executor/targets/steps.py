"""Crews of several steps, whose result names all that each step left: what a resumed run must not lose."""

from __future__ import annotations

from typing import Any

import shop
from crewai import Crew, CrewOutput, Process, Task
from crewai.tasks.conditional_task import ConditionalTask
from pydantic import BaseModel


class Page(BaseModel):
    title: str


class Drifting(BaseModel):
    """A model that does not come back from JSON as it was."""

    title: str

    def model_post_init(self, _: Any) -> None:
        self.title += "!"


def all_of(output: CrewOutput) -> list[dict[str, Any]]:
    return [step.model_dump(mode="json", exclude={"messages"}) for step in output.tasks_output]


def crew(*tasks: Task, **options: Any) -> Crew:
    return Crew(agents=[task.agent for task in tasks], tasks=list(tasks), after_kickoff_callbacks=[all_of], **options)


def ask(text: str, kind: type[Task] = Task, **options: Any) -> Task:
    words = {"name": text.lower(), "description": f"{text} {{topic}}", "expected_output": "A text"}
    return kind(agent=shop.clerk(), **words, **options)


def plain() -> Crew:
    return crew(ask("Collect"), ask("Sort"), ask("Weigh"), ask("Write"), ask("Shorten"))


def changed() -> Crew:
    return crew(ask("Collect"), ask("Sort by date"), ask("Weigh"), ask("Write"), ask("Shorten"))


def shorter() -> Crew:
    return crew(ask("Collect"), ask("Sort"))


def explicit() -> Crew:
    first, second, third = ask("Collect"), ask("Sort"), ask("Weigh")
    return crew(first, second, third, ask("Write", context=[first, third]), ask("Shorten", context=[]))


def parallel() -> Crew:
    both = [ask("Collect", async_execution=True), ask("Sort", async_execution=True)]
    return crew(*both, ask("Weigh"), ask("Write", async_execution=True), ask("Shorten"))


def conditional() -> Crew:
    never = ask("Sort", ConditionalTask, condition=lambda output: False)
    always = ask("Weigh", ConditionalTask, condition=lambda output: True)
    first = ask("Collect")
    return crew(first, never, always, ask("Write", context=[first, never]), ask("Shorten"))


def structured() -> Crew:
    page = ask("Collect", output_pydantic=Page, output_file="page.json")
    return crew(page, ask("Sort", output_json=Page), ask("Weigh"), ask("Write"), ask("Shorten"))


def unrestorable() -> Crew:
    return crew(ask("Collect"), ask("Sort", output_pydantic=Drifting), ask("Weigh"), ask("Write"), ask("Shorten"))


def guarded() -> Crew:
    """Its guardrail rewrites what the model said, and its callback leaves a line in the log."""
    told = ask("Collect", guardrail=lambda output: (True, output.raw.upper()), callback=lambda output: print("told"))
    return crew(told, ask("Sort"), ask("Weigh"), ask("Write"), ask("Shorten"))


def streaming() -> Crew:
    built = plain()
    built.stream = True
    built.after_kickoff_callbacks = []  # CrewAI streams nothing but its own kind of result
    return built


def led() -> Crew:
    return crew(ask("Collect"), ask("Sort"), process=Process.hierarchical, manager_llm=shop.llm())


def planned() -> Crew:
    return crew(ask("Collect"), ask("Sort"), planning=True, planning_llm=shop.llm())
