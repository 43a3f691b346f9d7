"""Wake-ups, kills, live logs and events over Redis. Without it everything goes on by polling Postgres."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Self, TypeVar

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline, PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError, ResponseError

from crewtop.live import keys
from crewtop.live.events import add_changes
from crewtop.live.states import add_states
from crewtop.model.backoff import pause
from crewtop.model.errors import CrewtopError
from crewtop.model.live import Change, Stand
from crewtop.model.snapshot import Health

TIMEOUT_SECONDS = 1.0
QUIET_SECONDS = 5.0
"""How long a listener reads on where nothing comes."""
BACKOFF_SECONDS = (0.5, 15.0)
LOG_LINES = 5_000
"""A run's live log keeps its newest lines; the whole tail is stored with the run when it ends."""
LOG_EXPIRES_SECONDS = 86_400
BLOCK_MILLISECONDS = 500
"""How long a reader of streams waits for something new."""

_FAILURES = (RedisError, OSError, asyncio.TimeoutError)
T = TypeVar("T")
Entries = list[tuple[str, dict[str, str]]]
"""What streams hold, oldest first: positions and fields."""


@dataclass(frozen=True, slots=True)
class Woken:
    """Something may be ready. Also said after each reconnect, since wake-ups may have been missed."""


@dataclass(frozen=True, slots=True)
class Kill:
    """An operator took this run's lease away, or wants it cancelled."""

    run_id: int


class FastLane:
    """One client. No method raises because Redis is away: it answers None or nothing, and down says why.

    url: redis://, rediss:// or unix://; None for none, with the reason. whose: names the database whose tasks are
    told of, None while that is not known: then nothing is told of where they stand.
    """

    def __init__(
        self, url: str | None, why_none: str = "not configured", whose: Callable[[], str | None] = str
    ) -> None:
        self.whose = whose
        self._redis: Redis | None = None
        self.down: str | None = None if url else why_none
        self._retry_at = 0.0
        self._failures = 0
        if url:
            self._redis = _client(url)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Give the connections back; who listens hears no more."""
        redis, self._redis = self._redis, None
        if redis is not None:
            await redis.aclose()

    async def wake(self, queues: Iterable[str], changes: Sequence[Change] = (), stands: Sequence[Stand] = ()) -> None:
        """Tell workers that something in these queues is ready, whoever watches why, and the state cache where tasks
        stand now: in one round trip.
        """
        names = list(queues)

        async def publish(redis: Redis) -> None:
            pipeline = redis.pipeline(transaction=False)
            for queue in names:
                pipeline.publish(keys.wake(queue), "")
            if (database := self.whose()) is not None:
                add_states(pipeline, database, stands)
            add_changes(pipeline, changes)
            await pipeline.execute()

        await self._attempt(publish)

    async def tell(self, changes: Sequence[Change], lost: int = 0) -> bool:
        """Tell whoever watches what was changed, after lost others that were not told; answers whether it is told."""

        async def add(redis: Redis) -> bool:
            pipeline = redis.pipeline(transaction=False)
            add_changes(pipeline, changes, lost)
            await pipeline.execute()
            return True

        return await self._attempt(add) or False

    async def stand(self, stands: Sequence[Stand]) -> None:
        """Tell the state cache where tasks stand now. What Redis does not take is seen when the entries expire."""
        if stands and (database := self.whose()) is not None:
            await self.ask(lambda pipeline: add_states(pipeline, database, stands))

    async def nudge(self, worker_id: str) -> None:
        """Tell a worker that there are orders for it."""
        await self.kill(worker_id, 0)

    async def kill(self, worker_id: str, run_id: int) -> None:
        """Tell a worker that a run has lost its lease; its next heartbeat would tell it too."""
        await self._attempt(lambda redis: redis.publish(keys.kill(worker_id), str(run_id)))

    async def listen(self, worker_id: str, queues: Sequence[str] | None) -> AsyncIterator[Woken | Kill]:
        """Wake-ups of these queues (None: all) and kills for this worker, for ever; reconnects on its own."""

        async def subscribe(channel: PubSub) -> None:
            if queues is None:
                await channel.psubscribe(keys.WAKE + "*")
            else:
                await channel.subscribe(*(keys.wake(queue) for queue in queues))
            await channel.subscribe(keys.kill(worker_id))

        async with contextlib.aclosing(self._hear(subscribe)) as heard:
            async for message in heard:
                yield _read(message) if isinstance(message, dict) else Woken()

    async def told(self) -> AsyncIterator[str | bool]:
        """What is told of tasks (keys.told), until this is closed; True once it listens, False while it cannot, since
        something may be missed.
        """
        subscribed = self._hear(lambda channel: channel.subscribe(keys.told(self.whose() or "")))
        async with contextlib.aclosing(subscribed) as heard:
            async for message in heard:
                yield str(message["data"]) if isinstance(message, dict) else message

    async def _hear(
        self, subscribe: Callable[[PubSub], Awaitable[object]]
    ) -> AsyncGenerator[dict[str, Any] | bool, None]:
        """What comes on channels, until this is closed; True once it listens, False when it no longer does."""
        while self._redis is not None:
            try:
                async with self._redis.pubsub(ignore_subscribe_messages=True) as channel:
                    async with asyncio.timeout(TIMEOUT_SECONDS):
                        await subscribe(channel)
                    self._worked()
                    yield True
                    while True:
                        async with asyncio.timeout(QUIET_SECONDS + TIMEOUT_SECONDS):  # it may connect anew
                            message = await channel.get_message(timeout=QUIET_SECONDS)
                        if message is not None:
                            yield message
            except _FAILURES as error:
                rest = self._failed(error)
                yield False
                await asyncio.sleep(rest)

    async def append_log(self, run_id: int, lines: Sequence[str]) -> None:
        """Add lines to a run's live log."""

        async def add(redis: Redis) -> None:
            pipeline = redis.pipeline(transaction=False)
            for line in lines[-LOG_LINES:]:
                pipeline.xadd(keys.log(run_id), {"line": line}, maxlen=LOG_LINES, approximate=True)
            pipeline.expire(keys.log(run_id), LOG_EXPIRES_SECONDS)
            await pipeline.execute()

        await self._attempt(add)

    async def read_log(self, run_id: int, after: str) -> tuple[str, list[str]] | None:
        """Lines after a position ('0' for the beginning) and the new position; waits up to half a second for some.

        None where Redis is away.
        """

        name = keys.log(run_id)
        found = await self.read({name: after}, 1_000)
        if found is None:
            return None
        entries = found.get(name, [])
        return (entries[-1][0] if entries else after), [fields["line"] for _, fields in entries]

    async def newest(self, names: Sequence[str], count: int) -> dict[str, Entries] | None:
        """The last count entries of each of these streams. None where Redis is away."""

        async def ask(redis: Redis) -> dict[str, Entries]:
            pipeline = redis.pipeline(transaction=False)
            for name in names:
                pipeline.xrevrange(name, count=count)
            return {name: entries[::-1] for name, entries in zip(names, await pipeline.execute(), strict=True)}

        return await self._attempt(ask)

    async def read(self, after: Mapping[str, str], count: int) -> dict[str, Entries] | None:
        """At most count entries of each stream after a position in it; waits up to half a second for some.

        Streams with nothing new are left out. None where Redis is away.
        """

        async def ask(redis: Redis) -> dict[str, Entries]:
            positions: Any = dict(after)
            answer: Any = await redis.xread(positions, count=count, block=BLOCK_MILLISECONDS)
            streams = answer.items() if isinstance(answer, dict) else answer or ()
            return {name: _flat(entries) for name, entries in streams}

        return await self._attempt(ask)

    async def health(self) -> Health:
        """Whether Redis answers, how fast, and what it is; named too is a policy by which keys would go."""

        async def ask(redis: Redis) -> Health:
            start = time.monotonic()
            await redis.ping()
            latency = time.monotonic() - start
            info: dict[str, Any] = {}
            with contextlib.suppress(ResponseError):  # a user who may not ask; the rest works all the same
                info = await redis.info()
            return described(info, latency)

        return await self._attempt(ask) or Health(False, None, self.down or "no answer")

    async def ask(self, add: Callable[[Pipeline], object]) -> list[Any] | None:
        """The answers to all that add puts into a pipeline, in one round trip: what is refused is an exception there.

        None where Redis is away.
        """

        async def send(redis: Redis) -> list[Any]:
            pipeline = redis.pipeline(transaction=False)
            add(pipeline)
            return await pipeline.execute(raise_on_error=False)

        return await self._attempt(send)

    async def run(self, script: str, names: Sequence[str], arguments: Sequence[str | int]) -> Any:
        """What a Lua script answers for these keys. None where Redis is away, or refuses it."""

        async def ask(redis: Redis) -> Any:
            try:
                return await redis.evalsha(_digest(script), len(names), *names, *arguments)
            except NoScriptError:  # it never had it, or has begun anew
                return await redis.eval(script, len(names), *names, *arguments)

        return await self._attempt(ask)

    async def _attempt(self, ask: Callable[[Redis], Awaitable[T]]) -> T | None:
        """Do it, or remember why not; while it is down, at most one attempt a back-off."""
        if self._redis is None or time.monotonic() < self._retry_at:
            return None
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS + BLOCK_MILLISECONDS / 1000):
                answer = await ask(self._redis)
        except ResponseError as error:  # it is there: one thing that it refuses shall not hold up the others
            self.down = _line(error)
            return None
        except _FAILURES as error:
            self._failed(error)
            return None
        self._worked()
        return answer

    def _worked(self) -> None:
        self.down, self._failures, self._retry_at = None, 0, 0.0

    def _failed(self, error: BaseException) -> float:
        """Note a failure; answers the jittered seconds to rest."""
        self.down = _line(error)
        self._failures += 1
        rest = pause(self._failures, BACKOFF_SECONDS)
        self._retry_at = time.monotonic() + rest
        return rest


def described(info: Mapping[str, Any], latency: float) -> Health:
    """A server that answered within so many seconds, by what it says of itself."""
    name = "valkey" if "valkey_version" in info else "redis"
    version = info.get("valkey_version") or info.get("redis_version", "?")
    policy = info.get("maxmemory_policy", "noeviction")
    evicts = "" if policy == "noeviction" else policy
    warning = f", evicts ({policy}): set maxmemory-policy noeviction" if evicts else ""
    return Health(True, latency, f"{name} {version}{warning}", evicts)


@cache
def _digest(script: str) -> str:
    return hashlib.sha1(script.encode("utf-8"), usedforsecurity=False).hexdigest()


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or "no answer in time"


def _flat(entries: Any) -> Entries:
    """A stream's entries, which the newer protocol wraps once more."""
    while entries and isinstance(entries[0], list):
        entries = entries[0]
    return list(entries)


def _client(url: str) -> Redis:
    """A client. Raises CrewtopError, without the URL, which may hold a password, where it is none.

    Whoever uses it says how long it may take: redis-py would make a task of each command, which costs a third of its
    time, and on Python 3.11 it could swallow a cancellation.
    """
    try:
        return Redis.from_url(
            url,
            socket_timeout=None,
            socket_connect_timeout=TIMEOUT_SECONDS,
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
            encoding_errors="replace",
        )
    except ValueError:
        raise CrewtopError(
            "redis: the URL is none: use redis://, rediss:// or unix://, such as redis://db1:6379/0"
        ) from None


def _read(message: dict[str, Any]) -> Woken | Kill:
    """A channel's message; what does not parse as a kill only wakes, which is harmless."""
    if str(message["channel"]).startswith(keys.KILL) and str(message["data"]).isdigit():
        return Kill(int(message["data"]))
    return Woken()
