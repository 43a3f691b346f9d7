"""Settings: defaults < crewtop.toml < environment < flags.

The file is ./crewtop.toml, or what --config or CREWTOP_CONFIG names. In the environment CREWTOP_POSTGRES and
CREWTOP_REDIS name the servers, and CREWTOP_<TABLE>__<KEY> any other value, such as CREWTOP_WORKER__SLOTS=8.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from crewtop import toml
from crewtop.config_alerts import Alerts
from crewtop.config_llm import Llm, Seconds, Table
from crewtop.model import filters
from crewtop.model.errors import CrewtopError
from crewtop.model.operations import UNDO_MINUTES
from crewtop.model.pricing import Rates
from crewtop.model.sizes import size_of
from crewtop.model.stuck import NO_PROGRESS_SECONDS
from crewtop.model.task import SERVICE_LEVELS_SECONDS, Priority
from crewtop.text import storable_json

Days = Annotated[float, Field(ge=0, le=36_500, allow_inf_nan=False)]


class Postgres(Table):
    """[postgres]: dsn None starts the embedded server; prepared false is for a pooler that is not recognised as one.

    read_replica: the DSN of a standby that screens and commands read from while it answers and keeps up.
    """

    dsn: str | None = None
    read_replica: str | None = None
    prepared: bool = True


class RedisServer(Table):
    """[redis]: url None starts the embedded server, if Postgres is embedded too."""

    url: str | None = None


class QueueSettings(Table):
    """[queue]: what producers are held to."""

    max_input_bytes: Annotated[int, Field(ge=1, le=256 * 1024 * 1024)] = 1024 * 1024
    service_levels_seconds: tuple[Seconds, Seconds, Seconds, Seconds, Seconds] = SERVICE_LEVELS_SECONDS  # type: ignore[assignment]


class CrewSettings(Table):
    """[crews]: where a crew is, as "module:attribute" or a .jsonc file, and what differs from [worker] for it.

    llm: "as is" leaves its calls to models as the crew makes them; they are still counted and priced.
    """

    target: str
    llm: Literal["managed", "as is"] = "managed"
    budget_seconds: Seconds | None = None
    backoff_seconds: Seconds | None = None
    backoff_limit_seconds: Seconds | None = None

    @field_validator("target")
    @classmethod
    def _names_something(cls, target: str) -> str:
        if ":" not in target and not target.endswith((".jsonc", ".json")):
            raise ValueError(f'name a crew as "module:attribute", not as "{target}"')
        return target


def _crew(value: object) -> object:
    return {"target": value} if isinstance(value, str) else value


class WorkerSettings(Table):
    """[worker]: how a worker runs crews.

    crews_per_process: 1 isolates every run; more run together in one process, denser and cheaper, and die together.
    no_progress_seconds: a run without any event for so long is ended; None only shows it as stuck.
    """

    slots: Annotated[int, Field(ge=1, le=1_000)] = 4
    crews_per_process: Annotated[int, Field(ge=1, le=1_000)] = 1
    lease_seconds: Annotated[float, Field(ge=2, le=3_600)] = 30.0
    poll_seconds: Seconds = 2.0
    grace_seconds: Annotated[float, Field(ge=0, le=86_400)] = 30.0
    budget_seconds: Seconds = 3_600.0
    no_progress_seconds: Seconds | None = None
    kill_grace_seconds: Annotated[float, Field(ge=0, le=600)] = 1.0
    backoff_seconds: Seconds = 5.0
    backoff_limit_seconds: Seconds = 600.0
    max_result_bytes: Annotated[int, Field(ge=1_024, le=100 * 1024 * 1024)] = 32 * 1024 * 1024


class ScreenSettings(Table):
    """[screen]: how the console looks, and for how long an operation can be taken back.

    columns: of the task list; empty: all that fit. production: patterns such as "prod*" and "*@db1*" for the
    database@host of a connection that wears production_theme. bell rings the terminal's for a new alert.
    on_hangup: what becomes of the pool beside a screen whose terminal is gone: "hand back" gives it its grace as any
    other end does; with "finish" it goes on alone until what it runs is done.
    The screen takes a first look at these in commands/style.py, before there are settings.
    """

    theme: str = "crewtop-dark"
    interval_seconds: Annotated[float, Field(ge=0.1, le=60)] = 1.0
    mouse: bool = True
    bell: bool = False
    utc: bool = True
    columns: tuple[str, ...] = ()
    production: tuple[str, ...] = ()
    production_theme: str = "crewtop-production"
    on_hangup: Literal["hand back", "finish"] = "hand back"
    no_progress_seconds: Seconds = NO_PROGRESS_SECONDS
    undo_minutes: Annotated[float, Field(ge=0, le=1_440)] = UNDO_MINUTES


def _priority(value: object) -> object:
    if not isinstance(value, str):
        return value
    levels = {level.name.lower(): int(level) for level in Priority}
    if value.lower() not in levels:
        raise ValueError(f"{value!r} is no priority: use 0 to 4, or critical, high, normal, low")
    return levels[value.lower()]


class Schedule(Table):
    """[schedules.<name>]: a task that comes again and again, once for each tick over all workers.

    cron: five fields, in the time zone named by zone; inputs: as for enqueue; priority: 0 to 4, or a level's name.
    missed: what becomes of ticks while no worker ran: "skip" drops what is over a minute late, "once" makes up for
    all of them with one task, "all" with one for each, at most the newest 100. enabled false keeps it from firing.
    """

    cron: str
    zone: str = "UTC"
    crew: Annotated[str, Field(min_length=1, max_length=200)]
    inputs: dict[str, Any] = Field(default_factory=dict)
    queue: Annotated[str, Field(min_length=1, max_length=200)] = "default"
    priority: Annotated[int, Field(ge=0, le=4), BeforeValidator(_priority)] = int(Priority.NORMAL)
    max_attempts: Annotated[int, Field(ge=1, le=100)] = 3
    missed: Literal["skip", "once", "all"] = "skip"
    enabled: bool = True

    @field_validator("inputs")
    @classmethod
    def _is_json(cls, inputs: dict[str, Any]) -> dict[str, Any]:
        try:
            text = json.dumps(inputs, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"not JSON: {error}") from None
        if storable_json(text)[1]:
            raise ValueError("NUL is among them, which PostgreSQL cannot store: leave it out")
        return inputs

    @model_validator(mode="after")
    def _comes(self) -> Schedule:
        from crewtop.model.schedules import check  # cron and zones cost a screen's start 10 ms, and most have none

        check(self.cron, self.zone)
        return self


class Retention(Table):
    """[retention]: for how many days tasks are kept once they have ended so; 0 keeps them for ever.

    With a task go its runs, steps, calls and history; counters and rollups stay. A unique key is held as long as its
    task is kept.
    """

    completed_days: Days = 14.0
    cancelled_days: Days = 30.0
    failed_days: Days = 90.0

    def seconds(self) -> dict[str, float]:
        """For how many seconds tasks of each status are kept; what is kept for ever is left out."""
        days = {"completed": self.completed_days, "cancelled": self.cancelled_days, "failed": self.failed_days}
        return {status: number * 86_400.0 for status, number in days.items() if number}


class TracesSettings(Table):
    """[traces]: the OTLP/HTTP collector that workers tell of runs, without /v1/traces; None: as OTEL_... says."""

    endpoint: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = None


def _view(name: str, text: str) -> str:
    """A view as its terms are typed, with every quote closed, so that more can follow."""
    if text.lstrip().startswith("@"):
        raise ValueError(f"{name}: a view cannot begin with another one: write {text.split()[0]} out")
    try:
        return filters.words(filters.parse(text))
    except filters.FilterError as error:
        raise ValueError(f"{name}: {error}") from None


def _bytes(value: object) -> object:
    return size_of(value) if isinstance(value, str) else value


class RecordingSettings(Table):
    """[recording]: a worker keeps what the screen would show, of the newest hours, in at most max_size bytes.

    One worker of a host does. folder: where; None: recordings/ in the user's folder for state. max_size also takes
    texts such as "500 MB".
    """

    folder: Path | None = None
    hours: Annotated[float, Field(ge=0.1, le=8_760)] = 24.0
    max_size: Annotated[int, Field(ge=10_000_000, le=10**12), BeforeValidator(_bytes)] = 200_000_000


class Settings(BaseSettings):
    """Everything that can be configured. views: [views], filters by name, for @NAME in a filter and --view.

    recording None: no worker records.
    """

    model_config = SettingsConfigDict(env_prefix="CREWTOP_", env_nested_delimiter="__", extra="forbid", frozen=True)

    postgres: Annotated[Postgres, NoDecode] = Postgres()
    redis: Annotated[RedisServer, NoDecode] = RedisServer()
    data_dir: Path | None = None
    crews: dict[str, Annotated[CrewSettings, BeforeValidator(_crew)]] = Field(default_factory=dict)
    queue: QueueSettings = QueueSettings()
    worker: WorkerSettings = WorkerSettings()
    screen: ScreenSettings = ScreenSettings()
    llm: Llm = Llm()
    schedules: dict[Annotated[str, Field(min_length=1, max_length=200)], Schedule] = Field(default_factory=dict)
    retention: Retention = Retention()
    alerts: Alerts = Alerts()
    recording: RecordingSettings | None = None
    traces: TracesSettings = TracesSettings()
    views: dict[Annotated[str, Field(pattern=r"^[^@\s]\S{0,49}$")], str] = Field(default_factory=dict)

    @field_validator("views")
    @classmethod
    def _parses(cls, views: dict[str, str]) -> dict[str, str]:
        return {name: _view(name, text) for name, text in views.items()}

    @field_validator("postgres", mode="before")
    @classmethod
    def _dsn(cls, value: object) -> object:
        return {"dsn": value} if isinstance(value, str) else value

    @field_validator("redis", mode="before")
    @classmethod
    def _url(cls, value: object) -> object:
        return {"url": value} if isinstance(value, str) else value

    def rates(self) -> dict[str, Rates]:
        """The user's own prices as the ledger reckons with them."""
        return {model: price.rates() for model, price in self.llm.prices.items()}


@dataclass(frozen=True, slots=True)
class Configuration:
    """settings, the file they came from (None: there is none), and the folder that module names are found from."""

    settings: Settings
    file: Path | None
    folder: Path


def load(file: Path | None = None, flags: Mapping[str, Any] | None = None) -> Configuration:
    """Read the settings; flags are nested like the file, such as {"worker": {"slots": 8}}, and win.

    Raises CrewtopError naming the file, the key, the value and what is allowed.
    """
    path = toml.find(file)
    table = toml.read(path) if path else {}

    class Layered(Settings):
        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], *_: PydanticBaseSettingsSource, **sources: PydanticBaseSettingsSource
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return sources["init_settings"], sources["env_settings"], InitSettingsSource(settings_cls, table)

    try:
        settings = Layered(**(flags or {}))
    except ValidationError as error:
        raise CrewtopError(_complaint(error, path)) from None
    except SettingsError as error:
        raise CrewtopError(f"environment: {error}") from None
    return Configuration(settings, path, path.parent if path else Path.cwd())


def _complaint(error: ValidationError, path: Path | None) -> str:
    """The first thing that is wrong, in one line, without the value where it may be a secret."""
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    given = first.get("input")
    value = f" = {given!r}" if isinstance(given, int | float | bool) else ""
    where = f"{path}: " if path else "settings: "
    return f"{where}{key}{value}: {first['msg'].removeprefix('Value error, ')}"
