"""PostgreSQL in a data folder: made once, atomically; durable; reached over a socket only."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from crewtop.embedded.place import EmbeddedError, Place
from crewtop.embedded.programs import postgres_programs
from crewtop.embedded.server import ENVIRONMENT, Server, complaint, open_log

_STATUS_LINE = 7  # LOCK_FILE_LINE_PM_STATUS, counted from 1 as 8, in PostgreSQL's src/include/utils/pidfile.h


class Postgres(Server):
    """The PostgreSQL of a data folder."""

    title = "PostgreSQL"
    process_name = "postgres"
    stop_signal = signal.SIGINT  # its fast shutdown: ends sessions, writes a checkpoint

    def __init__(self, place: Place) -> None:
        super().__init__(place, folder=place.pgdata, socket_name=".s.PGSQL.5432")

    @property
    def dsn(self) -> str:
        """The address of the database `crewtop`; with the port, else a client takes one from PGPORT."""
        return f"postgresql://postgres@/crewtop?host={self.place.sockets}&port=5432"

    def serves(self) -> bool:
        """Return whether sessions are accepted: it also listens while it recovers and while it shuts down."""
        if not self.listens():
            return False
        with suppress(FileNotFoundError):
            lines = (self.place.pgdata / "postmaster.pid").read_text().split("\n")
            return len(lines) > _STATUS_LINE and lines[_STATUS_LINE].strip() == "ready"
        return False

    def command(self, lock: int) -> list[str]:
        """Return the command line; make the cluster first where there is none."""
        programs = postgres_programs(self.place)
        if not self.place.pgdata.exists():
            self._create_cluster(programs, lock)
        options = {
            "listen_addresses": "",
            "port": "5432",
            "unix_socket_directories": str(self.place.sockets),
            "unix_socket_permissions": "0700",
            # Nothing rotates the log while servers run, so it gets only what no client is told.
            "log_min_messages": "log",
            "log_checkpoints": "off",
        }
        settings = [f"--{name}={value}" for name, value in options.items()]
        return [str(programs / "postgres"), "-D", str(self.place.pgdata), *settings]

    def kill_leftovers(self) -> None:
        """Also remove the pid file, whose number may by now be another process's: PostgreSQL would refuse to start."""
        super().kill_leftovers()
        for lock_file in (self.place.pgdata / "postmaster.pid", self.socket.with_name(f"{self.socket.name}.lock")):
            lock_file.unlink(missing_ok=True)

    def _create_cluster(self, programs: Path, lock: int) -> None:
        """Make a cluster with the database `crewtop` under another name, then rename it: it is whole or not there."""
        fresh = self.place.pgdata.with_name("postgres.new")
        with suppress(FileNotFoundError):
            shutil.rmtree(fresh)
        self.place.make_private(fresh)
        where = ["-D", str(fresh)]
        initdb = [str(programs / "initdb"), *where, "--username=postgres", "--auth=trust", "--encoding=UTF8"]
        # The same order of text on every host, and case rules for all letters.
        locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        self._run([*initdb, *locale], lock)
        single = [str(programs / "postgres"), "--single", *where, "-c", "exit_on_error=on", "postgres"]
        self._run(single, lock, b"CREATE DATABASE crewtop\n")
        fresh.rename(self.place.pgdata)
        parent = os.open(self.place.data_dir, os.O_RDONLY)
        os.fsync(parent)  # else a power cut could bring back the old name, which the next start clears away
        os.close(parent)

    def _run(self, command: list[str], lock: int, script: bytes = b"") -> None:
        """Run one step of making the cluster.

        It inherits the lock: if we are killed, the next start waits until it has ended, and clears up behind it.
        """
        with open_log(self.log) as log:
            start = log.tell()
            done = subprocess.run(
                command,
                input=script,
                stdout=log,
                stderr=log,
                cwd=self.place.data_dir,
                env=ENVIRONMENT,
                pass_fds=[lock],
                start_new_session=True,
                check=False,
                umask=0o077,
                **self.place.account.identity(),
            )
        if done.returncode != 0:
            raise EmbeddedError(f"PostgreSQL could not make {self.place.pgdata}: {complaint(self.log, start)}")
