"""A real PgBouncer in transaction mode before the test's own database, where one is installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

POOL_SIZE = 2
PORT = 6432
PATIENCE_SECONDS = 20.0

SETTINGS = """
[databases]
* = host={host} port=5432 user=postgres

[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 200
logfile = {folder}/pgbouncer.log
"""


@contextmanager
def pgbouncer(dsn: str) -> Iterator[str]:
    """Yield the DSN that leads to the same database through a PgBouncer with two connections."""
    program = shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("no pgbouncer here: install it, such as by apt-get install pgbouncer")
    host = parse_qs(urlsplit(dsn).query)["host"][0]
    owner = Path(host).stat()  # PgBouncer refuses to run as root; the server's own account reaches its socket
    account: dict[str, Any] = {}
    with TemporaryDirectory(prefix="crewtop-pooler-") as folder:
        settings = Path(folder) / "pgbouncer.ini"
        settings.write_text(SETTINGS.format(host=host, folder=folder, port=PORT, size=POOL_SIZE))
        if os.geteuid() == 0:
            account = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
            os.chown(folder, owner.st_uid, owner.st_gid)
        process = subprocess.Popen(
            [program, "-q", str(settings)], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **account
        )
        try:
            _wait_for(Path(folder) / f".s.PGSQL.{PORT}", process, Path(folder) / "pgbouncer.log")
            name = urlsplit(dsn).path.lstrip("/")
            yield f"postgresql://somebody@/{name}?host={folder}&port={PORT}"
        finally:
            process.kill()
            process.wait()


def _wait_for(socket_file: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not _listens(socket_file):
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"pgbouncer did not start: {log.read_text() if log.exists() else 'no log'}")
        time.sleep(0.02)


def _listens(socket_file: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(socket_file))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        return True
