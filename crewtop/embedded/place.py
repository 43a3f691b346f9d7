"""Where the servers' files live, as whom the servers run, and what that account may reach."""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT_DATA_DIR = Path("/var/lib/crewtop")
# PostgreSQL refuses root. An account that exists is taken: a console has no business adding users to a host.
UNPRIVILEGED_USERS = ("postgres", "nobody")
# sockaddr_un holds 108 bytes on Linux and 104 on macOS, with the final NUL; the longest name is .s.PGSQL.5432.
LONGEST_SOCKET_FOLDER = 104 - len("/.s.PGSQL.5432") - 1


class EmbeddedError(Exception):
    """The embedded servers cannot start or stop. The message is one line and names the next step."""


@dataclass(frozen=True)
class Account:
    """The user and the group that the servers run as."""

    uid: int
    gid: int

    def identity(self) -> dict[str, Any]:
        """Return the arguments of `subprocess.Popen` that start a program as this account."""
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def closed_to(self, path: Path) -> Path | None:
        """Return the first part of a resolved path, from the top, that has no x bit for the account.

        Only for root, who acts for another: for ourselves the system's own answer counts, which knows more than modes.
        """
        if self.uid == os.geteuid():
            return None
        for part in reversed([path, *path.parents]):
            found = part.stat()
            bit = stat.S_IXOTH
            if found.st_uid == self.uid:
                bit = stat.S_IXUSR
            elif found.st_gid == self.gid:
                bit = stat.S_IXGRP
            if not found.st_mode & bit:
                return part
        return None


@dataclass(frozen=True)
class Place:
    """One data folder: its paths, and the account of its servers."""

    data_dir: Path
    account: Account

    @property
    def pgdata(self) -> Path:
        """The PostgreSQL cluster."""
        return self.data_dir / "postgres"

    @property
    def sockets(self) -> Path:
        """The private folder of both sockets.

        In the data folder where its path fits into a socket address and needs no quoting in a DSN. Otherwise under
        /tmp, and neither in $TMPDIR nor in $XDG_RUNTIME_DIR: every process that uses the data folder must come to
        the same path, and the latter is removed at logout, under servers that others still use.
        """
        inside = self.data_dir / "run"
        if len(os.fsencode(inside)) <= LONGEST_SOCKET_FOLDER and re.fullmatch(r"[A-Za-z0-9_./-]+", str(inside)):
            return inside
        digest = hashlib.sha256(os.fsencode(self.data_dir)).hexdigest()[:16]
        return Path(f"/tmp/crewtop-{os.geteuid()}-{digest}")

    def make_private(self, folder: Path) -> None:
        """Make a folder that only the account may enter; an existing one must already be so.

        Raises:
            EmbeddedError: something else has that name, or the folder is another's or open to others.
        """
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() != self.account.uid:
            os.chown(folder, self.account.uid, self.account.gid, follow_symlinks=False)
            found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != self.account.uid or found.st_mode & 0o077:
            raise EmbeddedError(
                f"{folder} must be a folder of uid {self.account.uid} with mode 0700, it has uid {found.st_uid} and "
                f"mode {stat.S_IMODE(found.st_mode):04o}: remove it or choose another --data-dir"
            )


def prepare(data_dir: Path | None) -> Place:
    """Make the data folder where it is missing, and check that servers can live in it.

    Args:
        data_dir: None means the user's data folder, or /var/lib/crewtop for root.

    Raises:
        EmbeddedError: the folder is another user's, or as root no account can run the servers in it.
    """
    folder = (data_dir or default_data_dir()).resolve()
    # As root the account of the servers must be able to pass; what is private lies in folders of its own below.
    make_folders(folder, 0o755 if os.geteuid() == 0 else 0o700)
    owner = folder.stat().st_uid
    if owner != os.geteuid():
        raise EmbeddedError(
            f"data folder {folder} belongs to uid {owner}, not to uid {os.geteuid()}: choose another --data-dir"
        )
    place = Place(folder, _account(folder / "postgres"))
    closed = place.account.closed_to(folder)
    if closed:
        raise EmbeddedError(
            f"PostgreSQL does not run as root, and uid {place.account.uid}, which runs it, may not enter {closed} "
            f"(mode {stat.S_IMODE(closed.stat().st_mode):04o}): choose a --data-dir that all may reach (default "
            f"{ROOT_DATA_DIR}), set CREWTOP_POSTGRES to a server, or run crewtop as an ordinary user"
        )
    return place


def make_folders(folder: Path, mode: int) -> None:
    """Make a folder and its missing parents, all with `mode` whatever the umask; touch no folder that exists."""
    for path in reversed([folder, *folder.parents]):
        if not path.exists():
            with suppress(FileExistsError):  # another process may be first
                path.mkdir()
                path.chmod(mode)


def private_file(path: Path) -> int:
    """Open a file for reading and appending, made where missing, and return its descriptor.

    Closed to other users, since who can open a file can lock it.
    """
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)


def default_data_dir() -> Path:
    """Where the data lives unless somebody says otherwise: /var/lib/crewtop for root, else the user's data folder."""
    if os.geteuid() == 0:
        return ROOT_DATA_DIR
    from platformdirs import user_data_path  # late: most processes are told where, or have servers of their own

    return user_data_path("crewtop", appauthor=False)


def _account(pgdata: Path) -> Account:
    """Return ourselves; as root the owner of an existing cluster, else the first unprivileged user there is."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    with suppress(FileNotFoundError):
        found = pgdata.stat()
        if found.st_uid == 0:
            raise EmbeddedError(
                f"{pgdata} belongs to root, as whom PostgreSQL does not run: chown -R {UNPRIVILEGED_USERS[0]} it"
            )
        return Account(found.st_uid, found.st_gid)
    for name in UNPRIVILEGED_USERS:
        with suppress(KeyError):
            user = pwd.getpwnam(name)
            return Account(user.pw_uid, user.pw_gid)
    raise EmbeddedError(
        f"PostgreSQL does not run as root, and none of the users {', '.join(UNPRIVILEGED_USERS)} exists: make one "
        "(useradd --system postgres), set CREWTOP_POSTGRES to a server, or run crewtop as an ordinary user"
    )
