"""The stream of changes: small, capped, masked, and of no consequence when it cannot be written."""

from __future__ import annotations

from pathlib import Path

from redis.asyncio import Redis

from crewtop.live import keys
from crewtop.live.events import ENTRIES, MOST_AT_ONCE, lost_before, transition
from crewtop.live.fast_lane import FastLane
from crewtop.model.live import UNKNOWN, Change, Transition

CHANGE = Change(7, "q", "a", "running", "failed", "worker:w", 70, "out of cheese")


async def told(live: FastLane) -> list[Transition | None]:
    found = await live.newest([keys.EVENT], ENTRIES)
    assert found is not None
    return [transition(position, fields) for position, fields in found[keys.EVENT]]


async def test_a_change_comes_back_as_it_was_told_with_its_time(live: FastLane) -> None:
    assert await live.tell([CHANGE, Change(8, UNKNOWN, UNKNOWN, None, "pending", "producer", number=30)])
    first, second = await told(live)
    assert first is not None
    assert second is not None
    assert first == Transition(first.at, 7, "q", "a", "running", "failed", "worker:w", 70, "out of cheese")
    assert second == Transition(second.at, 8, UNKNOWN, UNKNOWN, None, "pending", "producer", count=30)
    assert first.at <= second.at


async def test_secrets_and_what_a_terminal_obeys_do_not_get_into_redis(live: FastLane, redis_url: str) -> None:
    reason = "401 for api_key=sk-abcdefghijklmnopqrstuvwx \x1b[2J\u202e\ud800 " + "x" * 10_000
    await live.tell([CHANGE._replace(reason=reason)])
    async with Redis.from_url(redis_url, decode_responses=True) as client:
        [(_, fields)] = await client.xrange(keys.EVENT)
    assert "abcdefgh" not in str(fields)
    assert fields["reason"].startswith("401 for api_key=••••uvwx ␛[2J<U+202E><U+D800> xxx")
    assert len(fields["reason"]) == 200


async def test_hostile_names_come_back_as_data(live: FastLane) -> None:
    names = "\x1b]52;c;\x07[/]", "a\nb\r\u2028💥"
    await live.tell([CHANGE._replace(queue=names[0], crew=names[1])])
    [found] = await told(live)
    assert found is not None
    assert (found.queue, found.crew) == names


async def test_what_others_put_there_is_left_out(live: FastLane, redis_url: str) -> None:
    async with Redis.from_url(redis_url) as client:
        await client.xadd(keys.EVENT, {"task": "seven", "new": "x", "actor": "y"})
        await client.xadd(keys.EVENT, {b"\xff": b"\xfe"})
        await client.xadd(keys.EVENT, {"task": 1, "new": "x", "actor": "y", "count": "-5", "lost": "9" * 99})
    bad, worse, odd = await told(live)
    assert (bad, worse) == (None, None)
    assert odd is not None
    assert odd.count == 1
    assert lost_before({"lost": "9" * 99}) == 0


async def test_the_stream_is_capped_and_expires(live: FastLane, redis_url: str) -> None:
    for _ in range(ENTRIES // MOST_AT_ONCE + 3):
        await live.tell([CHANGE] * MOST_AT_ONCE)
    async with Redis.from_url(redis_url) as client:
        assert ENTRIES <= await client.xlen(keys.EVENT) < ENTRIES * 1.1
        assert 0 < await client.ttl(keys.EVENT) <= 86_400


async def test_beyond_what_one_batch_may_tell_they_are_counted(live: FastLane) -> None:
    await live.tell([CHANGE] * (MOST_AT_ONCE + 11), lost=4)
    found = await live.newest([keys.EVENT], ENTRIES)
    assert found is not None
    assert len(found[keys.EVENT]) == MOST_AT_ONCE
    assert sum(lost_before(fields) for _, fields in found[keys.EVENT]) == 15


async def test_a_stream_that_cannot_be_written_holds_up_no_wake_up(live: FastLane, redis_url: str) -> None:
    async with Redis.from_url(redis_url) as client:
        await client.set(keys.EVENT, "not a stream")
        heard = client.pubsub()
        await heard.subscribe(keys.wake("q"))
        await heard.get_message(timeout=5)
        for _ in range(3):
            assert not await live.tell([CHANGE])
            assert "WRONGTYPE" in str(live.down)
            await live.wake(["q"], [CHANGE])
            message = await heard.get_message(timeout=5)
            assert message is not None
            assert message["type"] == "message"
        await heard.aclose()


async def test_without_redis_nothing_is_told_and_nothing_raises(tmp_path: Path) -> None:
    async with FastLane(f"unix://{tmp_path}/no.sock") as away:
        assert not await away.tell([CHANGE])
        await away.wake(["q"], [CHANGE])
        assert await away.newest([keys.EVENT], 1) is None
        assert await away.read({keys.EVENT: "0"}, 1) is None
