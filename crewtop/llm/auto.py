"""A model for crews that leave the choice to crewtop: `Agent(llm=crewtop.LLM("auto"))`."""

from __future__ import annotations

from typing import Any

import crewai
from crewai.llms.base_llm import BaseLLM

from crewtop.llm.routes import AUTO
from crewtop.model.errors import CrewtopError


class LLM(BaseLLM):
    """Whatever [llm.routes] names for a prompt, chosen anew for each call by the worker.

    tag: what the rules of the routes may go by, such as "draft". otherwise: the model, as CrewAI writes it, where no
    worker is asked: outside of one, and in crews whose models are left as they are. Other settings, such as
    temperature, are given to whichever model takes the call. Raises CrewtopError for another model than "auto".
    """

    llm_type: str = AUTO
    tag: str | None = None
    otherwise: str | None = None

    def __init__(self, model: str = AUTO, **settings: Any) -> None:
        if model != AUTO:
            raise CrewtopError(f'crewtop.LLM("{model}"): it takes "auto" alone; for a model by name use crewai.LLM')
        super().__init__(model=AUTO, provider=AUTO, **settings)

    def call(self, messages: Any, *args: Any, **named: Any) -> Any:
        """Without a worker: what the other model answers."""
        return self._other().call(messages, *args, **named)

    async def acall(self, messages: Any, *args: Any, **named: Any) -> Any:
        """Without a worker: what the other model answers."""
        return await self._other().acall(messages, *args, **named)

    def supports_function_calling(self) -> bool:
        """As all models that are worth a route do."""
        return True

    def _other(self) -> BaseLLM:
        if self.otherwise is None:
            raise CrewtopError(
                'crewtop.LLM("auto"): no worker chooses a model here: name one with LLM("auto", otherwise="...")'
            )
        settings = {name: value for name in ("temperature", "max_tokens") if (value := getattr(self, name)) is not None}
        return crewai.LLM(model=self.otherwise, **settings)
