"""`crewtop record`, and what a worker with [recording] does beside its work."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import structlog
import typer
from platformdirs import user_state_path

from crewtop import words
from crewtop.commands.read import monitor
from crewtop.config import Configuration, RecordingSettings
from crewtop.model.errors import CrewtopError, Refused, Unavailable
from crewtop.model.sizes import length_of, size_of
from crewtop.model.snapshot import Health, Snapshot
from crewtop.monitor.monitor import Monitor
from crewtop.recording.cut import cut
from crewtop.recording.file import RecordingError, index
from crewtop.recording.instants import instant_of
from crewtop.recording.reader import Recording, files_of, open_recording
from crewtop.recording.rolling import Rolling, only_writer
from crewtop.recording.writer import Full, Writer
from crewtop.stores import Stores
from crewtop.text import shown
from crewtop.worker.main import Beside

log = structlog.get_logger()

WORKER_INTERVAL_SECONDS = 1.0
LOCK_RETRY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Asked:
    """What `crewtop record` was asked for, as typed: length None is until it is ended, interval None the screen's."""

    file: Path
    length: str | None
    interval: float | None
    max_size: str


async def record(configuration: Configuration, asked: Asked) -> int:
    """Record into a file until told to stop; answers the exit code: 1 where the file was full before.

    Raises Refused for what was typed wrong, and RecordingError where the file cannot be written.
    """
    try:
        seconds = None if asked.length is None else length_of(asked.length)
        most_bytes = size_of(asked.max_size)
    except ValueError as error:
        raise Refused(str(error)) from None
    interval = asked.interval or configuration.settings.screen.interval_seconds
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if seconds is not None:
        loop.call_later(seconds, stop.set)
    async with monitor(configuration) as reader:
        return await _into_file(snapshots(reader, interval, stop, _say), asked.file, interval, most_bytes)


async def _into_file(pictures: AsyncIterator[Snapshot], file: Path, interval: float, most_bytes: int) -> int:
    writer: Writer | None = None
    code, count = 0, 0
    try:
        async for picture in pictures:
            if writer is None:
                writer = Writer(file, picture.where, interval, most_bytes)
                _say(f"recording {picture.where} into {file}, a picture every {interval:g} s: Ctrl-C ends it")
            writer.write(picture)
            count += 1
    except Full as error:
        _say(f"stopped: {error} (--max-size)")
        code = 1
    finally:
        if writer is not None:
            writer.close()
    if writer is None or writer.begin is None or writer.end is None:
        raise RecordingError(f"{file}: nothing was recorded: there was no picture")
    span = f"{words.stamp(writer.begin)} to {words.stamp(writer.end)}"
    _say(f"{file}: {count:,} pictures, {span}, {words.size(writer.size)}")
    return code


async def snapshots(
    reader: Monitor, interval: float, stop: asyncio.Event, trouble: Callable[[str], None]
) -> AsyncIterator[Snapshot]:
    """A picture every interval seconds until stop is set.

    While the database does not answer they are the last one, with the reason; before the first one trouble is told.
    """
    last: Snapshot | None = None
    told_at, said = 0.0, ""
    while not stop.is_set():
        began = time.monotonic()
        try:
            last, told_at = await reader.snapshot(), began
            yield last
        except Unavailable as error:
            if last is not None:
                since = timedelta(seconds=began - told_at)
                yield replace(last, at=last.at + since, postgres=Health(False, None, str(error)))
            elif said != str(error):
                said = str(error)
                trouble(f"no picture yet, trying again: {said}")
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, interval - (time.monotonic() - began))):
                await stop.wait()


def keeping(configuration: Configuration) -> list[Beside]:
    """What a worker with [recording] does beside its work; nothing without it."""
    asked = configuration.settings.recording
    if asked is None:
        return []
    no_progress = configuration.settings.screen.no_progress_seconds

    async def keep(opened: Stores, _: str) -> None:
        await keep_rolling(Monitor(opened, no_progress), rolling_folder(configuration), asked)

    return [keep]


async def keep_rolling(reader: Monitor, folder: Path, asked: RecordingSettings) -> None:
    """Keep the rolling recording until cancelled, unless another worker of this host does; then wait for its end."""
    told = ""
    while True:
        try:
            said = await _roll(reader, folder, asked)
        except CrewtopError as error:
            said = str(error)
        if said != told:
            told = said
            log.info("recording", then=said)
        await asyncio.sleep(LOCK_RETRY_SECONDS)


async def _roll(reader: Monitor, folder: Path, asked: RecordingSettings) -> str:
    """Record until cancelled; answers why it does not. Raises RecordingError where the folder cannot be written."""
    pictures = snapshots(reader, WORKER_INTERVAL_SECONDS, asyncio.Event(), lambda why: log.info("recording", then=why))
    first = await anext(pictures)
    with only_writer(folder, first.where) as held:
        if held is not None:
            other = f"of {held}, another database: set [recording] folder" if held != first.where else "already"
            return f"{folder}: another worker records there, {other}"
        log.info("recording", folder=str(folder), hours=asked.hours)
        rolling = Rolling(folder, first.where, WORKER_INTERVAL_SECONDS, asked.hours, asked.max_size)
        loop = asyncio.get_running_loop()
        try:
            # A disk that hangs holds up the thread, and no lease; the thread has ended before the file is closed.
            with ThreadPoolExecutor(1, "recording") as disk:
                await loop.run_in_executor(disk, rolling.write, first)
                async for picture in pictures:
                    await loop.run_in_executor(disk, rolling.write, picture)
        finally:
            with suppress(RecordingError):  # what a full disk does not take is no reason to go on once cancelled
                rolling.close()
    return "ended"


def rolling_folder(configuration: Configuration) -> Path:
    """Where the rolling recording of this host is."""
    asked = configuration.settings.recording
    return (asked.folder if asked is not None else None) or user_state_path("crewtop") / "recordings"


def print_list(configuration: Configuration) -> int:
    """Print the files of the rolling recording, the oldest first; answers the exit code."""
    folder = rolling_folder(configuration)
    files = files_of(folder) if folder.is_dir() else []
    if not files:
        raise Refused(f"{folder}: no rolling recording: add [recording] to the crewtop.toml of a worker")
    for file in files:
        typer.echo(_line(file))
    return 0


def _line(file: Path) -> str:
    """What is in a file of a rolling recording, or why nothing can be shown of it."""
    try:
        found, size = index(file), words.size(file.stat().st_size)
    except (RecordingError, OSError) as error:
        return str(error)
    span = (
        f"{words.stamp(found.segments[0].begin)} to {words.stamp(found.segments[-1].end)}"
        if found.segments
        else "empty"
    )
    damaged = f"  {found.damage}" if found.damage else ""
    return f"{file}  {span}  {size}  {shown(found.about.where)}{damaged}"


def cut_out(configuration: Configuration, of: Path | None, span: tuple[str, str], file: Path) -> int:
    """Write a span of a recording, by default the rolling one, into a file; answers the exit code."""
    recording = open_recording(of or rolling_folder(configuration))
    tell_damage(recording)
    begin, end = (instant_of(typed, recording.begin, recording.end) for typed in span)
    if begin > end:
        raise Refused(f"--cut {span[0]} {span[1]}: it ends before it begins")
    size = cut(recording, begin, end, file)
    _say(f"{file}: {words.stamp(begin)} to {words.stamp(end)}, {words.size(size)}: `crewtop replay {file}` shows it")
    return 0


def tell_damage(recording: Recording) -> None:
    """Say what of a recording cannot be shown."""
    for line in recording.damage:
        _say(line)


def _say(line: str) -> None:
    typer.echo(shown(line), err=True)
