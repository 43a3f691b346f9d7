"""What a worker is to do, put together from settings and flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from crewtop.config import Configuration, CrewSettings, Schedule, WorkerSettings
from crewtop.config_llm import Llm
from crewtop.llm.keys import Secrets
from crewtop.model.budgets import Budget
from crewtop.model.errors import CrewtopError
from crewtop.model.events import Terms
from crewtop.model.pricing import Rates
from crewtop.model.task import Claim
from crewtop.worker.calls import Calls
from crewtop.worker.verdict import Backoff

if TYPE_CHECKING:
    from crewtop.worker.traces import Traces


@dataclass(frozen=True, slots=True)
class Work:
    """What a worker is to do. queues None: every queue; burst: end when nothing is left; folder: where module names
    are found from; env: added to the crews' environment; keeping: seconds for which ended tasks are kept, by status.
    secrets: the keys of llm, to be taken out of what runs tell. calls: lets calls to models out, as llm says; None:
    crews make them as they please. traces: where runs are told of as spans, None: nowhere.
    """

    crews: Mapping[str, CrewSettings]
    queues: tuple[str, ...] | None
    slots: int
    burst: bool
    folder: Path
    settings: WorkerSettings
    service_levels: tuple[float, ...]
    rates: Mapping[str, Rates]
    env: Mapping[str, str]
    schedules: Mapping[str, Schedule]
    keeping: Mapping[str, float]
    llm: Llm = field(default_factory=Llm)
    secrets: Secrets = field(default_factory=lambda: Secrets(()))
    calls: Calls | None = None
    budgets: Sequence[Budget] = ()
    traces: Traces | None = None
    _backoffs: dict[str, Backoff] = field(default_factory=dict)

    def budget_seconds(self, claim: Claim) -> float:
        """How long a run of this task may take: the task's own word, else its crew's, else the worker's."""
        own = self.crews[claim.crew].budget_seconds
        return claim.budget_seconds or own or self.settings.budget_seconds

    def terms(self, crew: str | None = None) -> Terms | None:
        """On what terms calls to models are made; None for a crew whose calls are left as they are."""
        if self.calls is None or (crew is not None and self.crews[crew].llm == "as is"):
            return None
        return Terms(
            connect=self.llm.connect_seconds,
            first_byte=self.llm.first_byte_seconds,
            whole=self.llm.call_seconds,
            tries=self.llm.tries,
            wait=self.llm.wait_seconds,
            base_urls={name: it.base_url for name, it in self.llm.providers.items() if it.base_url},
            windows=self.llm.windows,
        )

    def backoff(self, crew: str) -> Backoff:
        """How long this crew's tasks rest before they run again."""
        if crew not in self._backoffs:
            own, worker = self.crews[crew], self.settings
            self._backoffs[crew] = Backoff(
                own.backoff_seconds or worker.backoff_seconds,
                own.backoff_limit_seconds or worker.backoff_limit_seconds,
            )
        return self._backoffs[crew]


def registered(configuration: Configuration) -> Mapping[str, CrewSettings]:
    """The crews that the configuration names. Raises CrewtopError where there is none."""
    if not configuration.settings.crews:
        where = configuration.file or "crewtop.toml"
        raise CrewtopError(
            f'no crews are registered: add [crews] with a line like support = "shop.crews:support" to {where}'
        )
    return configuration.settings.crews
