"""Processes beside the screen: the embedded pool's worker, and what a demo needs."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import typer

from crewtop.config import Configuration
from crewtop.worker.main import FINISH, own_environment, worker_command
from crewtop.worker.work import registered

LOG_BYTES = 10 * 1024 * 1024
KILL_AFTER_GRACE_SECONDS = 15.0
RESTART_SECONDS = 2.0


class Pool:
    """A worker as a process of its own session, so that no key and no hang-up of this terminal reaches it unasked.

    One that dies is started again. Its log is pool.log in the data folder.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], log: Path) -> None:
        self._command, self._env, self._log = command, env, log
        self.left = False
        self._over = threading.Event()
        self.process = self._start()
        self._keeper = threading.Thread(target=self._keep, name="pool", daemon=True)
        self._keeper.start()

    def end(self, grace_seconds: float) -> None:
        """Drain it: it gets its grace, and what it could not finish goes back to the queue."""
        self._over.set()
        self._keeper.join()
        end(self.process, grace_seconds, f"draining the pool, log in {self._log}")

    def leave(self) -> None:
        """Let it finish what it runs, however long that takes, and end on its own, without anybody waiting for it."""
        self._over.set()
        self._keeper.join()
        if self.process.poll() is None:
            self.process.send_signal(FINISH)
        self.left = True

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as output:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=own_environment(**self._env),
                start_new_session=True,
            )

    def _keep(self) -> None:
        while not self._over.wait(RESTART_SECONDS):
            # Status 0 is a worker that an operator drained, and 2 one that cannot work: its log says why.
            if self.process.poll() not in (None, 0, 2):
                self.process = self._start()


@contextmanager
def pool_worker(
    configuration: Configuration, slots: int, flags: Sequence[str], env: Mapping[str, str]
) -> Iterator[Pool]:
    """A Pool for as long as the block lasts; flags and env lead it to the same stores.

    A screen that is killed leaves it running. Raises CrewtopError where no crew is registered.
    """
    registered(configuration)  # said here, since a worker would say it into its log
    pool = Pool(worker_command("--slots", str(slots), *flags), env, log_file(configuration))
    try:
        yield pool
    finally:
        if not pool.left:
            pool.end(configuration.settings.worker.grace_seconds)


def end(process: subprocess.Popen[bytes], grace_seconds: float, doing: str) -> None:
    """SIGTERM, the grace, and SIGKILL for what is still there; Ctrl-C hurries it."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(1.0)
        return
    except subprocess.TimeoutExpired:
        with suppress(OSError):  # the terminal may be what was lost
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
