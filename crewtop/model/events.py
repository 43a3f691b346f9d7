"""What an executor tells its worker while a crew runs: one JSON object a line, over the run's socket.

at is time.monotonic() in seconds, which all processes of a host share, so that the worker can say how long ago
something was and leave the stamping to the database's clock.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, TypedDict, get_args


@dataclass(frozen=True, slots=True)
class Loaded:
    """The crew is there and starts now: kind is crew, flow or callable; step_count None where it has no steps."""

    at: float
    kind: str
    step_count: int | None


@dataclass(frozen=True, slots=True)
class StepStarted:
    """CrewAI task number position (from 1) began."""

    at: float
    position: int
    name: str
    agent: str | None
    description: str | None


@dataclass(frozen=True, slots=True)
class StepEnded:
    """It completed with output, or failed with error.

    receipt: JSON text with which a later run of the task need not do it again, or None where it has to.
    """

    at: float
    position: int
    output: str | None
    error: str | None
    receipt: str | None = None


@dataclass(frozen=True, slots=True)
class Resumed:
    """The crew goes on after step number position: up to it, it keeps what run run_id of its task completed."""

    at: float
    run_id: int
    position: int


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call to a model began. call_id is unique in the run; provider as CrewAI names it, such as 'openai'.

    cut: what was left out of the messages so that they fit the model, in words.
    """

    at: float
    call_id: str
    provider: str | None
    model: str
    agent: str | None
    position: int | None
    cut: str | None = None


@dataclass(frozen=True, slots=True)
class CallAsked:
    """A call to a model asks to go out, and waits until it is answered. ask: the fields of crewtop.llm's CallAsk."""

    at: float
    ask: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CallSettled:
    """A call that was let out is over. settled: the fields of crewtop.llm's Settled."""

    at: float
    settled: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CallEnded:
    """The call ended: outcome is ok, rate_limited, refused, error or timeout.

    usage is the provider's own object as CrewAI hands it on, or None where it sent none.
    """

    at: float
    call_id: str
    outcome: str
    usage: dict[str, Any] | None = None
    finish_reason: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ToolUsed:
    """A tool began (outcome None), or ended (ok or error). use_id tells the uses of one run apart."""

    at: float
    tool: str
    outcome: str | None
    error: str | None = None
    use_id: str = ""
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Returned:
    """The crew's result as JSON text. The last event of a run that went well."""

    at: float
    result: str


@dataclass(frozen=True, slots=True)
class Raised:
    """The run failed. The last event of such a run.

    terminal: another attempt would fail alike (the crew cannot be loaded, inputs are missing, a key is refused).
    retry_after: seconds that the provider asked for; throttled: the cause is a 429.
    """

    at: float
    error_type: str
    error: str
    traceback: str
    terminal: bool = False
    throttled: bool = False
    retry_after: float | None = None


Event = (
    Loaded
    | Resumed
    | StepStarted
    | StepEnded
    | CallAsked
    | CallStarted
    | CallEnded
    | CallSettled
    | ToolUsed
    | Returned
    | Raised
)

_KINDS: dict[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}


def fields_of(record: Any) -> dict[str, Any]:
    """The fields of a dataclass with slots, as they are: what is turned into JSON at once need not be copied."""
    return {name: getattr(record, name) for name in record.__slots__}


def to_line(event: Event) -> bytes:
    """An event as one line of JSON. Lone surrogates survive as escapes; NaN is refused with ValueError."""
    fields = {"event": type(event).__name__, **fields_of(event)}
    return json.dumps(fields, ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n"


def from_line(line: bytes) -> Event:
    """The event of one line. Raises ValueError for a line that to_line did not write."""
    try:
        fields = json.loads(line)
        return _KINDS[fields.pop("event")](**fields)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not an executor's event: {line[:100]!r} ({error})") from None


class DoneStep(TypedDict):
    """A step that an earlier run of the task completed: run_id has it, receipt is its StepEnded's."""

    run_id: int
    position: int
    output: str | None
    receipt: str | None


class Terms(TypedDict):
    """On what terms a worker lets its runs call models.

    connect, first_byte (also between two pieces of an answer) and whole: seconds after which a call is given up.
    tries: how often one goes out; wait: seconds that one rests in its slot after a 429 without a key of the worker's.
    base_urls: where a provider's calls are sent when they are routed to it. windows: tokens that models take, by
    'provider/model' or 'model', which win over every list.
    """

    connect: float
    first_byte: float
    whole: float
    tries: int
    wait: float
    base_urls: dict[str, str]
    windows: dict[str, int]


class Turn(TypedDict):
    """What a run's calls are judged by. ends_at: the monotonic second at which its budget is spent."""

    crew: str
    queue: str
    priority: int
    ends_at: float


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker hands to a fresh executor.

    target is 'module:attribute' from the worker's own configuration, never from a row; inputs is JSON text;
    folder is the run's own working folder; env is added to the environment; done are the steps that the newest
    earlier run with any had completed, in the order of their positions. terms None: calls to models are left as the
    crew makes them.
    """

    run_id: int
    task_id: int
    crew: str
    target: str
    inputs: str
    folder: str
    env: dict[str, str]
    done: list[DoneStep] = field(default_factory=list)
    terms: Terms | None = None
    turn: Turn | None = None
