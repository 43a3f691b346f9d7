"""What a worker is to do, put together from settings and flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crewtop.config import Configuration, CrewSettings, Schedule, WorkerSettings
from crewtop.model.budgets import Budget
from crewtop.model.errors import CrewtopError
from crewtop.model.pricing import Rates
from crewtop.model.task import Claim
from crewtop.worker.verdict import Backoff


@dataclass(frozen=True, slots=True)
class Work:
    """What a worker is to do. queues None: every queue; burst: end when nothing is left; folder: where module names
    are found from; env: added to the crews' environment; keeping: seconds for which ended tasks are kept, by status.
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
    budgets: Sequence[Budget] = ()
    _backoffs: dict[str, Backoff] = field(default_factory=dict)

    def budget_seconds(self, claim: Claim) -> float:
        """How long a run of this task may take: the task's own word, else its crew's, else the worker's."""
        own = self.crews[claim.crew].budget_seconds
        return claim.budget_seconds or own or self.settings.budget_seconds

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
