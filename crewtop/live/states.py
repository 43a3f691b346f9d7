"""What is told of where tasks stand, after each commit, for the state cache: see state_cache.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.resources import files

from redis.asyncio.client import Pipeline

from crewtop.live import keys
from crewtop.model.live import Stand
from crewtop.model.task import ENDED, TaskStatus

LIVE_SECONDS = 4.0
"""A state is believed for so long without a word: with COPY_SECONDS the longest that an untold change goes unseen."""

ENDED_SECONDS = 60.0
"""The same of an end, which only an operator takes back, and he tells."""

COPY_SECONDS = 1.0
"""A reader that hears what is told believes what it knows for so long without a word."""

PORTION = 500
"""Tasks that one script looks at: it holds up all others meanwhile, for less than a millisecond."""

_TELL = files("crewtop.live").joinpath("tell_states.lua").read_text("utf-8")


def milliseconds(status: str) -> int:
    """How long a state with this status is believed."""
    return round((ENDED_SECONDS if status in ENDED else LIVE_SECONDS) * 1_000)


def add_states(pipeline: Pipeline, database: str, stands: Sequence[Stand]) -> None:
    """Queue what tells these: of each task that somebody asked for, unless something newer is known."""
    for start in range(0, len(stands), PORTION):
        told = [
            f"{task_id}\n" if status is None else f"{task_id} {version} {status}\n"
            for task_id, version, status in stands[start : start + PORTION]
        ]
        times = (milliseconds("running"), milliseconds("completed"))
        pipeline.eval(_TELL, 1, keys.tasks(database), keys.told(database), *times, "".join(told))


def told_stands(message: str) -> Iterator[Stand]:
    """What a message on keys.told says; a line that others put there says nothing."""
    for line in message.split("\n"):
        with suppress(ValueError, TypeError):
            yield _stand(*line.split(" "))


def _stand(task_id: str, version: str = "0", status: str | None = None) -> Stand:
    return Stand(int(task_id), int(version), status if status is None else TaskStatus(status))
