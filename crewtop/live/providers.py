"""How providers stand, as workers tell it: a hash of allowances, and one of what each worker found out by itself."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any, TypeVar

from redis.asyncio.client import Pipeline

from crewtop.live import keys
from crewtop.live.fast_lane import FastLane, described
from crewtop.model.allowance import AllowanceState
from crewtop.model.providers import Circuit, KeyHealth, Providers, Told, allowance_after, together
from crewtop.model.snapshot import CacheUse, Health

TOLD_SECONDS = 30.0
"""What a worker told is true for so long: each tells every few seconds."""

ALLOWANCE_SECONDS = 120.0
"""What no worker has told of an allowance for so long is no longer shown."""

TEXT_CHARACTERS = 200
"""Of a name or a reason: whoever may write to Redis may write any."""

_SCRIPT = files("crewtop.live").joinpath("tell_providers.lua").read_text("utf-8")
T = TypeVar("T")
Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sight:
    """What Redis answered. None: it is away, or does not let them be read."""

    health: Health
    providers: Providers | None
    states: CacheUse | None = None


async def tell(lane: FastLane, worker_id: str, told: Told) -> None:
    """Say what this worker found out of its providers, in place of what it said before; nothing: take that back."""
    said = json.dumps(asdict(told)) if told != Told() else ""
    milliseconds = round(TOLD_SECONDS * 1_000)
    await lane.ask(lambda pipeline: pipeline.eval(_SCRIPT, 1, keys.PROVIDERS, worker_id, said, milliseconds))


async def look(lane: FastLane) -> Sight:
    """How Redis is, and all that it was told of providers, in one round trip."""

    def questions(pipeline: Pipeline) -> None:
        pipeline.time()
        pipeline.info()
        pipeline.hvals(keys.LIMITS)
        pipeline.hvals(keys.PROVIDERS)
        pipeline.hmget(keys.states(lane.whose() or ""), "hits", "misses")

    start = time.monotonic()
    answers = await lane.ask(questions)
    if answers is None or isinstance(answers[0], Exception):
        return Sight(Health(False, None, lane.down or "no answer"), None)
    latency = time.monotonic() - start
    (seconds, microseconds), info, allowances, workers, counts = answers
    health = described({} if isinstance(info, Exception) else info, latency)
    if isinstance(allowances, Exception) or isinstance(workers, Exception):  # a user who may not ask
        return Sight(health, None, _use(counts))
    return Sight(health, providers(allowances, workers, seconds + microseconds / 1e6), _use(counts))


def _use(counts: Any) -> CacheUse | None:
    try:
        return CacheUse(*(_whole(count or 0) for count in counts))
    except (ValueError, TypeError):  # a user who may not ask, or what others put there
        return None


def providers(allowances: Sequence[str], workers: Sequence[str], now: float) -> Providers:
    """The entries of both hashes as they stand at a second of Redis's clock; what others wrote there is left out."""
    told = [_read(entry, now, ALLOWANCE_SECONDS, _allowance) for entry in allowances]
    found = [_read(entry, now, TOLD_SECONDS, _told) for entry in workers]
    return together((each for each in told if each), (each for each in found if each))


def _read(entry: str, now: float, most: float, read: Callable[[Fields, float], T]) -> T | None:
    """An entry as it stands now, None where it is older than so many seconds or makes no sense."""
    try:
        fields = json.loads(entry)
        age = max(0.0, now - _seconds(fields["at"]) / 1_000)
        return read(fields, age) if age <= most else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _allowance(fields: Fields, age: float) -> AllowanceState:
    state = AllowanceState(
        provider=_text(fields["provider"]),
        model=_text(fields["model"]),
        key=_text(fields["key"]),
        requests_per_minute=_or_none(fields["requests_per_minute"], _whole),
        requests_used=_whole(fields["requests_used"]),
        tokens_per_minute=_or_none(fields["tokens_per_minute"], _whole),
        tokens_used=_whole(fields["tokens_used"]),
        at_once=_or_none(fields["at_once"], _whole),
        in_flight=_whole(fields["in_flight"]),
        resumes_in=_or_none(fields["resumes_in"], _seconds),
        reason=_or_none(fields["reason"], _text),
    )
    return allowance_after(state, age)


def _told(fields: Fields, age: float) -> Told:
    said = fields["told"]
    told = Told(
        tuple(_circuit(each) for each in said["circuits"]),
        tuple(_key(each) for each in said["keys"]),
        _whole(said["omitted"]),
    )
    return told.after(age)


def _circuit(fields: Fields) -> Circuit:
    return Circuit(
        _text(fields["provider"]),
        _text(fields["model"]),
        "open" if fields["status"] == "open" else "half-open",
        _seconds(fields["resumes_in"]),
        _text(fields["why"]),
        _whole(fields["failures"]),
    )


def _key(fields: Fields) -> KeyHealth:
    status = fields["status"]
    return KeyHealth(
        _text(fields["provider"]),
        _text(fields["name"]),
        status if status in ("resting", "retired") else "ready",
        _or_none(fields["resumes_in"], _seconds),
        _or_none(fields["why"], _text),
    )


def _or_none(value: Any, read: Callable[[Any], T]) -> T | None:
    return None if value is None else read(value)


def _text(value: Any) -> str:
    return str(value)[:TEXT_CHARACTERS]


def _whole(value: Any) -> int:
    return int(_seconds(value))


def _seconds(value: Any) -> float:
    """A number that is not below 0. Raises ValueError for what is none."""
    number = float(value)
    if not math.isfinite(number) or number < 0:
        raise ValueError(value)
    return number
