"""Processes beside the screen: the embedded pool's worker, and what a demo needs."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from crewtop.config import Configuration
from crewtop.worker.main import own_environment, worker_command
from crewtop.worker.work import registered

LOG_BYTES = 10 * 1024 * 1024
KILL_AFTER_GRACE_SECONDS = 15.0


@contextmanager
def pool_worker(
    configuration: Configuration, slots: int, flags: Sequence[str], env: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A worker as a process of its own session, so that no key and no hang-up of this terminal reaches it unasked.

    flags name the same stores for it; its log is pool.log in the data folder. On the way out it is drained: it gets
    its grace, and what it could not finish goes back to the queue. A screen that is killed leaves it running.
    """
    registered(configuration)  # said here, since a worker would say it into its log
    log = log_file(configuration)
    with log.open("ab") as output:
        process = subprocess.Popen(
            worker_command("--slots", str(slots), *flags),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=own_environment(**env),
            start_new_session=True,
        )
    try:
        yield process
    finally:
        end(process, configuration.settings.worker.grace_seconds, f"draining the pool, log in {log}")


def end(process: subprocess.Popen[bytes], grace_seconds: float, doing: str) -> None:
    """SIGTERM, the grace, and SIGKILL for what is still there; Ctrl-C hurries it."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(1.0)
        return
    except subprocess.TimeoutExpired:
        typer.echo(f"crewtop: {doing} (up to {grace_seconds:g} s, Ctrl-C hurries)", err=True)
    try:
        process.wait(grace_seconds + KILL_AFTER_GRACE_SECONDS)
    except KeyboardInterrupt:
        process.send_signal(signal.SIGTERM)
        with_patience(process)
    except subprocess.TimeoutExpired:
        with_patience(process)


def with_patience(process: subprocess.Popen[bytes]) -> None:
    """A last wait before SIGKILL."""
    try:
        process.wait(KILL_AFTER_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def log_file(configuration: Configuration) -> Path:
    """Where the pool's output goes; started anew when it has grown over 10 MB."""
    from platformdirs import user_log_path

    folder = configuration.settings.data_dir or user_log_path("crewtop")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pool.log"
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    return path


def store_flags(configuration: Configuration) -> list[str]:
    """The flags that lead another crewtop process to the same configuration and data. Secrets go by environment."""
    flags = ["--config", str(configuration.file)] if configuration.file else []
    if configuration.settings.data_dir:
        flags += ["--data-dir", str(configuration.settings.data_dir)]
    return flags


def store_environment(configuration: Configuration) -> dict[str, str]:
    """The environment that leads another crewtop process to the same servers."""
    settings = configuration.settings
    named = {"CREWTOP_POSTGRES": settings.postgres.dsn, "CREWTOP_REDIS": settings.redis.url}
    return {name: value for name, value in named.items() if value}


def python_module(module: str, *arguments: str) -> list[str]:
    """How to run a module with the Python that runs this."""
    return [sys.executable, "-m", module, *arguments]
