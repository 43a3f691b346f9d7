"""One time that a call to a model goes out, at hand for whatever runs on its behalf."""

from __future__ import annotations

import contextvars
from dataclasses import dataclass, field
from typing import Any

from crewtop.model.events import Terms


@dataclass(slots=True, eq=False)
class Attempt:
    """call_id: the ledger's, and what was asked for. llm: the object that makes it. secret: the key to make it with,
    None for the crew's own. deadline: the monotonic second at which it is given up. cut: what was left out of its
    messages, in words. headers: of the last answer, those about limits; tokens: of all answers, None while unknown.
    """

    call_id: str
    llm: Any
    terms: Terms
    deadline: float
    key: str | None = None
    secret: str | None = None
    cut: str | None = None
    tokens: int | None = None
    headers: dict[str, str] = field(default_factory=dict)


current: contextvars.ContextVar[Attempt | None] = contextvars.ContextVar("crewtop_attempt", default=None)
"""The one that the running code is part of."""
