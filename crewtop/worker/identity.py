"""Who a worker is: a new identity each time that it starts, so that a restart never keeps a dead one's leases alive."""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """id is unique over hosts, restarts and reused pids."""

    id: str
    host: str
    pid: int
    boot_id: str


def fresh_identity() -> Identity:
    """The identity of this process, from now until it ends."""
    boot_id = secrets.token_hex(4)
    return Identity(worker_id_of(os.getpid()) + boot_id, short_host(), os.getpid(), boot_id)


def worker_id_of(pid: int) -> str:
    """How the id of a worker with that pid on this host begins."""
    return f"{short_host()}:{pid}:"


def short_host() -> str:
    """This host's name without its domain."""
    return socket.gethostname().split(".")[0][:60] or "host"
