"""What a worker is to do, put together from settings and flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from crewtop.config import Configuration, WorkerSettings
from crewtop.model.errors import CrewtopError
from crewtop.model.pricing import Rates


@dataclass(frozen=True, slots=True)
class Work:
    """What a worker is to do. crews: name to target; queues None: every queue; burst: end when nothing is left;
    folder: where module names are found from; env: added to the crews' environment.
    """

    crews: Mapping[str, str]
    queues: tuple[str, ...] | None
    slots: int
    burst: bool
    folder: Path
    settings: WorkerSettings
    service_levels: tuple[float, ...]
    rates: Mapping[str, Rates]
    env: Mapping[str, str]


def registered(configuration: Configuration) -> Mapping[str, str]:
    """The crews that the configuration names, and their targets. Raises CrewtopError where there is none."""
    if not configuration.settings.crews:
        where = configuration.file or "crewtop.toml"
        raise CrewtopError(
            f'no crews are registered: add [crews] with a line like support = "shop.crews:support" to {where}'
        )
    return configuration.settings.crews
