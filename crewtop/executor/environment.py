"""The environment in which crews run: CrewAI kept quiet, and crewtop's own addresses and passwords kept out."""

from __future__ import annotations

import os

_QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "CREWAI_TESTING": "true",  # no question about traces
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
}
_SECRETS = ("CREWTOP_POSTGRES", "CREWTOP_REDIS")
_WEBHOOKS = "CREWTOP_ALERTS"
_WITHHELD = ("REDIS_URL", *_SECRETS)
"""REDIS_URL would make CrewAI take its locks in that Redis, and fail with it."""


def crew_environment() -> dict[str, str]:
    """The environment for a process that is going to import CrewAI: the caller's, quiet and without secrets.

    Withheld names are empty, not absent: importing CrewAI reads .env files, which set only what is absent.
    """
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith((*_SECRETS, _WEBHOOKS))}
    blas = {"OPENBLAS_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", "1")}  # the zygote must have one thread
    return kept | blas | _QUIET | dict.fromkeys(_WITHHELD, "")


def forget_withheld() -> None:
    """Remove what crew_environment left empty, once CrewAI is imported."""
    for name in _WITHHELD:
        os.environ.pop(name, None)
