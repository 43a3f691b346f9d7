"""The connection to Postgres: a small pool, statements by file name, and one error for 'not now'."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any, Self, cast
from urllib.parse import SplitResult, parse_qs, urlsplit

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from crewtop.model.errors import CrewtopError, Unavailable

CONNECT_TIMEOUT_SECONDS = 5.0

# A plan that is kept for a prepared statement may have been made while tables were small, and would go on reading
# whole tables once they are not: claims and ends took four times as long. Statements that are planned each time
# need no such word, and a pooler refuses settings that it does not know.
_SETTINGS_FOR_KEPT_PLANS = {"jit": "off", "enable_seqscan": "off"}

# What only a pooler says, where it could not be told by its backend's number.
_SIGNS_OF_A_POOLER = (
    asyncpg.ProtocolViolationError,  # a setting at the start of a session that it does not let through
    asyncpg.InvalidSQLStatementNameError,  # the statement was prepared in another client's session
    asyncpg.DuplicatePreparedStatementError,
)

# What a healthy server says to a statement that is at fault; everything else may pass by waiting.
_TRANSIENT = (
    OSError,
    asyncio.TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # shutdown, terminated, starting up
    asyncpg.InsufficientResourcesError,  # too many connections, disk full
    asyncpg.ObjectNotInPrerequisiteStateError,  # a database that takes no connections just now
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.ReadOnlySQLTransactionError,  # an old primary after a failover
    asyncpg.TransactionRollbackError,  # deadlock, serialization
    asyncpg.InternalClientError,
)


class TooSlow(Unavailable):
    """A statement took longer than it may, and was cancelled."""


@cache
def statement(name: str) -> str:
    """The text of store/<name>.sql."""
    return files("crewtop.store").joinpath(f"{name}.sql").read_text("utf-8")


def filled(name: str, marks: Mapping[str, str]) -> str:
    """The same with a piece of SQL in the place of each mark: {"order": "id"} for /* order */. Never input."""
    text = statement(name)
    for mark, piece in marks.items():
        text = text.replace(f"/* {mark} */", piece)
    return text


@dataclass(frozen=True, slots=True)
class Prepared:
    """One statement on one connection: see Database.prepared. at_once: what is asked for is sent before it waits."""

    fetch: Callable[..., Coroutine[Any, Any, list[asyncpg.Record]]]
    at_once: bool

    async def send(self, *arguments: object) -> asyncio.Task[list[asyncpg.Record]]:
        """Return as soon as the server will get it whatever becomes of this process, with a task that waits for its
        answer.
        """
        answer = asyncio.create_task(self.fetch(*arguments))
        if self.at_once:
            await asyncio.sleep(0)
        else:
            await asyncio.wait([answer])
        return answer


class Database:
    """A pool of connections to one database.

    Arguments: dsn; application_name, shown in pg_stat_activity; connections, the most that it opens; timeout in
    seconds for one statement, which is cancelled then; prepared=False gives every statement a plan for its own
    arguments, True keeps plans unless a pooler such as PgBouncer stands between.
    """

    def __init__(
        self,
        dsn: str,
        *,
        application_name: str,
        connections: int = 4,
        timeout: float = 30.0,
        prepared: bool = True,
    ) -> None:
        self.dsn = dsn
        self._application_name = application_name
        self._connections = connections
        self._timeout = timeout
        self._prepared = prepared
        self._pooled: bool | None = None
        self.identity: str | None = None
        """What no other database has, restored copies excepted; None until it was reached, or where that is secret."""
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End every connection, running statements included."""
        self._let_go()

    @property
    def pooled(self) -> bool:
        """Whether a pooler stands between, as far as any connection has told."""
        return bool(self._pooled)

    async def fetch(self, name: str, *arguments: object, **marks: str) -> list[asyncpg.Record]:
        """Run store/<name>.sql in a transaction of its own and answer its rows; marks as for filled.

        Raises Unavailable where the server cannot answer now (TooSlow: not within the timeout), CrewtopError where the
        schema is missing.
        """
        async with self.connection() as connection:
            try:
                return await connection.fetch(filled(name, marks), *arguments, timeout=self._timeout)
            except (TimeoutError, asyncpg.QueryCanceledError) as error:
                raise TooSlow(_slow(error)) from error

    async def fetchrow(self, name: str, *arguments: object, **marks: str) -> asyncpg.Record | None:
        """Like fetch, for the one row of a statement that has at most one."""
        rows = await self.fetch(name, *arguments, **marks)
        return rows[0] if rows else None

    @asynccontextmanager
    async def prepared(self, name: str) -> AsyncIterator[Prepared]:
        """store/<name>.sql on a connection of its own, for as long as the block lasts. Raises as fetch does."""
        async with self.connection() as connection:
            text, at_once = statement(name), not self._pooled  # a pooler may keep no statement
            ask = (
                (await connection.prepare(text, timeout=self._timeout)).fetch
                if at_once
                else partial(connection.fetch, text)
            )

            async def fetch(*arguments: object) -> list[asyncpg.Record]:
                with self._telling():
                    return await ask(*arguments, timeout=self._timeout)  # asyncpg sends before it first waits

            yield Prepared(fetch, at_once)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
        """A connection of the pool, for several statements in one transaction. Raises as fetch does."""
        with self._telling():
            pool = await self._opened()
            connection = await _acquired(pool)
            try:
                yield cast("asyncpg.Connection[asyncpg.Record]", connection)
            finally:
                await pool.release(connection)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Around whatever asks the server: what goes wrong is told as fetch does."""
        try:
            yield
        except _SIGNS_OF_A_POOLER as error:
            self._pooled = True
            self._let_go()
            raise Unavailable(f"postgres: {reason(error)}: taking what stands between for a pooler") from error
        except asyncpg.QueryCanceledError as error:
            raise TooSlow(_slow(error)) from error
        except _TRANSIENT as error:
            raise Unavailable(f"postgres: {reason(error)}") from error
        except (
            asyncpg.UndefinedTableError,
            asyncpg.InvalidSchemaNameError,
            asyncpg.UndefinedFunctionError,
        ) as error:
            raise CrewtopError(f"{self.name} has no crewtop schema ({error}): run `crewtop db init`") from error
        except asyncpg.InvalidCatalogNameError as error:
            raise CrewtopError(f"postgres: {error}: create it, or mend the DSN") from error
        except asyncpg.InsufficientPrivilegeError as error:
            raise CrewtopError(f"postgres: {error}: ask for the role, or use another DSN") from error

    @property
    def name(self) -> str:
        """Which database this is, without its password."""
        parts = self._address
        if parts is None:
            return "the database"
        return f"{parts.path.lstrip('/') or 'database'} on {parts.hostname or 'a local socket'}"

    @property
    def host(self) -> str:
        """Where this database is: a host, with its port where the address names one; '' where that cannot be read."""
        parts = self._address
        if parts is None:
            return ""
        host = parts.netloc.rpartition("@")[2] or ",".join(parse_qs(parts.query).get("host", ()))
        return "a local socket" if host[:1] in ("", "/") else host

    @property
    def _address(self) -> SplitResult | None:
        """None for a DSN of another form, or one that cannot be read: parts of it may be a password."""
        try:
            parts = urlsplit(self.dsn)
        except ValueError:
            return None
        return parts if parts.scheme.startswith("postgres") and "@" not in parts.path else None

    async def _opened(self) -> asyncpg.Pool[asyncpg.Record]:
        async with self._opening:
            if self._pool is None:
                if self._pooled is None:
                    self._pooled, self.identity = await _first_look(self.dsn, self._application_name)
                prepared = self._prepared and not self._pooled
                self._pool = await asyncpg.create_pool(
                    self.dsn,
                    min_size=0,
                    max_size=self._connections,
                    timeout=CONNECT_TIMEOUT_SECONDS,
                    max_inactive_connection_lifetime=60,
                    command_timeout=self._timeout,
                    statement_cache_size=100 if prepared else 0,
                    server_settings={
                        "application_name": self._application_name,
                        **(_SETTINGS_FOR_KEPT_PLANS if prepared else {}),
                    },
                    reset=_keep_as_it_is,
                )
            return self._pool

    def _let_go(self) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            pool.terminate()


async def _first_look(dsn: str, application_name: str) -> tuple[bool, str | None]:
    """Whether another server answers than the one that the session was promised, and the database's identity.

    A server tells its process number at the start, for cancelling. A pooler (PgBouncer, Supavisor, PgCat, Odyssey)
    makes up a number of its own, since the server behind a session changes with every transaction.
    """
    with _readable():
        connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(
            dsn,
            timeout=CONNECT_TIMEOUT_SECONDS,
            command_timeout=CONNECT_TIMEOUT_SECONDS,
            statement_cache_size=0,
            server_settings={"application_name": application_name},
        )
    try:
        answering: int = await connection.fetchval("SELECT pg_backend_pid()")
        return answering != connection.get_server_pid(), await _identity(connection)
    finally:
        await connection.close(timeout=CONNECT_TIMEOUT_SECONDS)


async def _identity(connection: asyncpg.Connection[asyncpg.Record]) -> str | None:
    """The number that a cluster was given when it was made, and the database's own in it."""
    try:
        identity: str = await connection.fetchval(
            "SELECT to_hex(system_identifier) || '.' || oid FROM pg_control_system(), pg_database"
            " WHERE datname = current_database()"
        )
    except asyncpg.PostgresError:  # a server that is none of PostgreSQL's own, or that does not let everybody ask
        return None
    return identity


async def _keep_as_it_is(_: asyncpg.Connection[asyncpg.Record]) -> None:
    """No statement of ours leaves anything in its session, so that a reset would only cost a round trip."""


async def _acquired(pool: asyncpg.Pool[asyncpg.Record]) -> PoolConnectionProxy[asyncpg.Record]:
    with _readable():
        return await pool.acquire(timeout=CONNECT_TIMEOUT_SECONDS)


@contextmanager
def _readable() -> Iterator[None]:
    """Around a connect: says what is wrong with a DSN that asyncpg cannot read."""
    try:
        yield
    except ValueError:  # without its text, which repeats parts of the DSN
        raise CrewtopError(
            "postgres: the DSN cannot be read: use postgresql://user:password@host/database, with / # ? @ in a "
            "password as %2F %23 %3F %40"
        ) from None


def reason(error: BaseException) -> str:
    """One line that says what went wrong, for errors that often carry no text."""
    text = re.sub(r"\s+", " ", str(error)).strip()
    return text or {"TimeoutError": "no answer in time"}.get(type(error).__name__, type(error).__name__)


def _slow(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return f"postgres: {reason(error)}"
    return f"postgres: {reason(error)}: raise statement_timeout for this role"


def columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """Rows turned into width columns, which is how unnest takes them.

    A column of nothing but None is left empty: unnest fills it up, and each value costs the driver half a microsecond.
    """
    if not rows:
        return [[] for _ in range(width)]
    return [[] if column.count(None) == len(column) else list(column) for column in zip(*rows, strict=True)]
