"""How providers stand: what is used of their limits, models that calls are kept from, keys that rest or are done for.

As plain data and pure judgement. Everything of it lasts for seconds: it is told again and again, and it ages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from crewtop.model.allowance import AllowanceState
from crewtop.model.durations import countdown

ALL_MODELS, OWN_KEY = "*", "-"
"""What an allowance calls all models together, and a key that the crew brings itself."""

THROTTLED_SECONDS = 1.0
"""A limit that is used to the full makes calls wait all the time: less than so long is its ordinary life."""

THROTTLED = "throttled"
"""Why a circuit is open whose provider asked to wait, or has no key that may be used."""


@dataclass(frozen=True, slots=True)
class Circuit:
    """A model that calls are kept from, as its provider did not answer or asked to wait.

    resumes_in: seconds until a call tries it; while it is half-open, one tries it now. why: throttled, or the fault;
    failures: in a row, of the worker that saw most. workers: how many keep calls from it.
    """

    provider: str
    model: str
    status: Literal["open", "half-open"]
    resumes_in: float
    why: str
    failures: int
    workers: int = 1


@dataclass(frozen=True, slots=True)
class KeyHealth:
    """A key by the name of its variable or file. resumes_in: seconds until its rest ends; None: it does not rest.

    why: what was found of it, None where nothing was. workers: how many say so, of how many that have it.
    """

    provider: str
    name: str
    status: Literal["ready", "resting", "retired"]
    resumes_in: float | None = None
    why: str | None = None
    workers: int = 1
    of: int = 1

    @property
    def dead(self) -> bool:
        """Whether it is done for wherever it is used."""
        return self.status == "retired" and self.workers == self.of


@dataclass(frozen=True, slots=True)
class Told:
    """What one worker says. omitted: how many more there are of either that it left out."""

    circuits: tuple[Circuit, ...] = ()
    keys: tuple[KeyHealth, ...] = ()
    omitted: int = 0

    def after(self, seconds: float) -> Told:
        """The same so many seconds later: what was to be waited for has come nearer."""
        return replace(
            self,
            circuits=tuple(replace(each, resumes_in=max(0.0, each.resumes_in - seconds)) for each in self.circuits),
            keys=tuple(_key_after(each, seconds) for each in self.keys),
        )


@dataclass(frozen=True, slots=True)
class Providers:
    """What all workers say together. age: seconds since anybody could be asked; 0: these are the figures of now."""

    allowances: tuple[AllowanceState, ...] = ()
    circuits: tuple[Circuit, ...] = ()
    keys: tuple[KeyHealth, ...] = ()
    omitted: int = 0
    age: float = 0.0

    def after(self, seconds: float) -> Providers:
        """The same so many seconds later, while nobody can be asked."""
        told = Told(self.circuits, self.keys).after(seconds)
        allowances = tuple(allowance_after(each, seconds) for each in self.allowances)
        return replace(self, allowances=allowances, circuits=told.circuits, keys=told.keys, age=self.age + seconds)


@dataclass(frozen=True, slots=True)
class Throttled:
    """A provider with models to which nothing may go out now, whichever key. resumes_in: until the last of them may."""

    provider: str
    models: tuple[str, ...]
    resumes_in: float


def together(allowances: Iterable[AllowanceState], told: Iterable[Told]) -> Providers:
    """What all workers say in one: the worst of each, and how many say it; a call goes out when the first one tries."""
    told = list(told)
    circuits: defaultdict[tuple[str, str], list[Circuit]] = defaultdict(list)
    keys: defaultdict[tuple[str, str], list[KeyHealth]] = defaultdict(list)
    for each in told:
        for circuit in each.circuits:
            circuits[circuit.provider, circuit.model].append(circuit)
        for key in each.keys:
            keys[key.provider, key.name].append(key)
    return Providers(
        tuple(sorted(allowances, key=lambda state: (state.provider, state.model, state.key))),
        tuple(_one_circuit(circuits[place]) for place in sorted(circuits)),
        tuple(_one_key(keys[place]) for place in sorted(keys)),
        sum(each.omitted for each in told),
    )


def throttled(providers: Providers) -> list[Throttled]:
    """Providers whose models have to wait for THROTTLED_SECONDS or more, by name."""
    waits = _waits(providers)
    for circuit in providers.circuits:
        if circuit.why == THROTTLED:
            place = circuit.provider, circuit.model
            waits[place] = max(waits.get(place, 0.0), circuit.resumes_in)
    found: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for (provider, model), seconds in sorted(waits.items()):
        if seconds >= THROTTLED_SECONDS:
            found[provider][model] = seconds
    return [Throttled(provider, tuple(models), max(models.values())) for provider, models in found.items()]


def _waits(providers: Providers) -> dict[tuple[str, str], float]:
    """By provider and model: seconds until the first of its keys that are not dead may be used."""
    dead = {(key.provider, key.name) for key in providers.keys if key.dead}
    of_all: dict[tuple[str, str], float] = {}
    of_model: defaultdict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for state in providers.allowances:
        key, seconds = (state.provider, state.key), state.resumes_in or 0.0
        if key in dead:
            continue
        if state.model == ALL_MODELS:
            of_all[key] = seconds
        else:
            of_model[state.provider, state.model][state.key] = seconds
    return {
        place: min(max(seconds, of_all.get((place[0], key), 0.0)) for key, seconds in by_key.items())
        for place, by_key in of_model.items()
    }


def keyless(providers: Providers) -> list[str]:
    """Providers all of whose keys are dead, by name."""
    alive = {key.provider for key in providers.keys if not key.dead}
    return sorted({key.provider for key in providers.keys} - alive)


def fullness(state: AllowanceState) -> float | None:
    """The share of an allowance that is used, of the limit that is nearest to its end; None: without a limit."""
    uses = (
        (state.requests_used, state.requests_per_minute),
        (state.tokens_used, state.tokens_per_minute),
        (state.in_flight, state.at_once),
    )
    return max((used / limit for used, limit in uses if limit), default=None)


def allowance_words(state: AllowanceState) -> str:
    """Why less may be used than allowed, and until when nothing; '' where all is well. Not yet safe to show."""
    why = state.reason or ""
    if state.resumes_in is None:
        return why
    return f"resumes {countdown(state.resumes_in)}{f': {why}' if why else ''}"


def circuit_words(circuit: Circuit) -> str:
    """How a circuit stands, such as 'open: timeout, 5 in a row, tried again 00:12'. Not yet safe to show."""
    why = [circuit.why.replace("_", " ")]
    why += [f"{circuit.failures:,} in a row"] if circuit.failures > 1 else []
    if circuit.status == "half-open":
        why.append("a call tries it now")
    else:
        why.append(f"tried again {countdown(circuit.resumes_in)}" if circuit.resumes_in else "the next call tries it")
    why += [f"in {circuit.workers:,} workers"] if circuit.workers > 1 else []
    return f"{circuit.status}: {', '.join(why)}"


def key_words(key: KeyHealth) -> str:
    """How a key stands, such as 'retired: refused by the provider'. Not yet safe to show."""
    rests = f"cooling down, ready {countdown(key.resumes_in or 0.0)}"
    stands = rests if key.status == "resting" else key.status
    some = f", in {key.workers:,} of {key.of:,} workers" if key.workers < key.of else ""
    return f"{stands}{f': {key.why}' if key.why else ''}{some}"


def allowance_after(state: AllowanceState, seconds: float) -> AllowanceState:
    """An allowance so many seconds after it was told; what was to be waited for may have come, nobody knows more."""
    if state.resumes_in is None:
        return state
    rest = state.resumes_in - seconds
    return replace(state, resumes_in=rest) if rest > 0 else replace(state, resumes_in=None, reason=None)


def _key_after(key: KeyHealth, seconds: float) -> KeyHealth:
    if key.resumes_in is None:
        return key
    rest = key.resumes_in - seconds
    return replace(key, resumes_in=rest) if rest > 0 else replace(key, status="ready", resumes_in=None, why=None)


def _one_circuit(told: list[Circuit]) -> Circuit:
    failures, soonest = max(each.failures for each in told), min(each.resumes_in for each in told)
    worst = max(told, key=lambda each: (each.status == "open", each.failures))
    return replace(worst, failures=failures, resumes_in=soonest, workers=len(told))


_BADNESS = {"ready": 0, "resting": 1, "retired": 2}


def _one_key(told: list[KeyHealth]) -> KeyHealth:
    worst = max(told, key=lambda each: (_BADNESS[each.status], each.resumes_in or 0.0))
    return replace(worst, workers=sum(each.status == worst.status for each in told), of=len(told))
