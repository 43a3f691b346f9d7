"""The fast lane: quick while it is there, silent when it is not."""

from __future__ import annotations

import asyncio
from pathlib import Path

from redis.asyncio import Redis

from crewtop.live import keys
from crewtop.live.fast_lane import LOG_LINES, FastLane, Kill, Woken, described
from crewtop.model.live import Stand
from crewtop.model.task import TaskStatus
from tests.shared_redis import hang_up_on_the_others


async def test_a_wake_up_reaches_the_workers_of_its_queue(live: FastLane, redis_url: str) -> None:
    async with FastLane(redis_url) as other:
        heard = live.listen("w1", ["support"])
        assert await anext(heard) == Woken()  # after every connect, since something may have been missed
        listening = asyncio.create_task(anext(heard))
        await other.wake(["bulk"])
        await other.wake(["support"])
        assert await asyncio.wait_for(listening, 10) == Woken()
        listening = asyncio.create_task(anext(heard))
        await other.kill("w2", 5)
        await other.kill("w1", 77)
        assert await asyncio.wait_for(listening, 10) == Kill(77)
        await heard.aclose()


async def test_a_cut_connection_is_made_again_and_a_wake_up_said(live: FastLane, redis_url: str) -> None:
    heard = live.listen("w1", None)
    assert await anext(heard) == Woken()
    listening = asyncio.create_task(anext(heard))
    async with Redis.from_url(redis_url) as client:
        await hang_up_on_the_others(client)
    assert await asyncio.wait_for(listening, 30) == Woken()
    await heard.aclose()


async def test_what_is_cancelled_while_it_tells_ends(live: FastLane) -> None:
    """Wherever the cancellation strikes: a worker that drains waits for these."""

    async def tell_for_ever() -> None:
        while True:
            await live.stand([Stand(1, 1, TaskStatus.RUNNING)])

    for turns in range(1, 80):
        telling = asyncio.create_task(tell_for_ever())
        for _ in range(turns):
            await asyncio.sleep(0)
        telling.cancel()
        await asyncio.wait([telling], timeout=10)
        assert telling.cancelled(), turns


async def test_log_lines_come_back_in_order_and_from_where_one_left_off(live: FastLane) -> None:
    await live.append_log(7, ["one", "two \x1b[2J"])
    first = await live.read_log(7, "0")
    assert first is not None
    position, lines = first
    assert lines == ["one", "two \x1b[2J"]
    await live.append_log(7, ["three"])
    second = await live.read_log(7, position)
    assert second is not None
    assert second[1] == ["three"]
    assert await live.read_log(7, second[0]) == (second[0], [])


async def test_a_log_is_capped_and_expires(live: FastLane, redis_url: str) -> None:
    for _ in range(4):
        await live.append_log(8, [f"line {n}" for n in range(LOG_LINES)])
    async with Redis.from_url(redis_url) as client:
        assert await client.xlen(keys.log(8)) < 2 * LOG_LINES
        assert await client.ttl(keys.log(8)) > 0


async def test_every_key_is_under_the_prefix(live: FastLane, redis_url: str) -> None:
    await live.append_log(9, ["x"])
    async with Redis.from_url(redis_url, decode_responses=True) as client:
        assert all(name.startswith(keys.PREFIX) for name in await client.keys("*"))


async def test_health_names_the_server_and_a_policy_that_loses_keys(live: FastLane, redis_url: str) -> None:
    healthy = await live.health()
    assert healthy.up
    assert healthy.detail.startswith("valkey 8")
    async with Redis.from_url(redis_url) as client:
        told = await client.info()
    losing = described({**told, "maxmemory_policy": "allkeys-lru"}, 0.001)
    assert losing.detail == f"{healthy.detail}, evicts (allkeys-lru): set maxmemory-policy noeviction"


async def test_a_server_that_accepts_and_says_nothing_holds_nobody_up() -> None:
    def silent(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        pass

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server, FastLane(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}") as lane:
        async with asyncio.timeout(10):
            assert await anext(lane.told()) is False
            assert not (await lane.health()).up


async def test_without_redis_nothing_raises_and_the_reason_is_kept(tmp_path: Path) -> None:
    async with FastLane(f"unix://{tmp_path}/no.sock") as away:
        await away.wake(["q"])
        await away.kill("w", 1)
        await away.append_log(1, ["x"])
        assert await away.read_log(1, "0") is None
        health = await away.health()
        assert not health.up
        assert "no.sock" in health.detail


async def test_none_configured_is_said(tmp_path: Path) -> None:
    async with FastLane(None, "no CREWTOP_REDIS") as none:
        assert (await none.health()).detail == "no CREWTOP_REDIS"
        assert [message async for message in none.listen("w", None)] == []
