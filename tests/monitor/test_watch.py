"""One worker judges for all, what it finds is delivered at least once and its end too, and a death costs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from crewtop import operations
from crewtop.config_alerts import Alerts, Delivery
from crewtop.live.fast_lane import FastLane
from crewtop.model.alerts import Rule
from crewtop.model.errors import CrewtopError, Refused, Unavailable
from crewtop.model.snapshot import Snapshot
from crewtop.monitor.monitor import Monitor
from crewtop.monitor.watch import Watch
from crewtop.store import alerts as store
from crewtop.store import housekeeping, lease
from crewtop.store.database import Database
from crewtop.stores import Addresses, Stores
from tests.monitor.hooks import Hook, listening
from tests.store.helpers import beat, expire, one, put, take

AT_ONCE = {"stuck": Rule("stuck", "stuck tasks", above=0, clear_below=0, for_seconds=0, clear_seconds=0)}


@pytest.fixture
def hook() -> Iterator[Hook]:
    with listening() as opened:
        yield opened


@pytest.fixture
def monitor(database: Database, live: FastLane) -> Monitor:
    return Monitor(Stores(database, live, Addresses("", None, "", embedded=False)), no_progress_seconds=60)


class Eyes:
    """Looks as told: at the real picture, or at none, as when the database is away."""

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self.away = False
        self.looks = 0

    async def __call__(self) -> Snapshot:
        self.looks += 1
        if self.away:
            raise Unavailable("postgres: connection refused")
        return await self.monitor.snapshot()


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def worker(
    database: Database,
    eyes: Eyes,
    name: str = "w1",
    hook: Hook | None = None,
    rules: Mapping[str, Rule] = AT_ONCE,
    clock: Clock | None = None,
) -> Watch:
    """What a live worker does for alerts."""
    await lease.heartbeat(database, beat(name))
    targets = {"ops": Delivery.model_validate({"webhook": hook.url})} if hook is not None else {}
    return Watch(database, name, eyes, rules, targets, (60,) * 5, clock or Clock())


async def stuck(database: Database) -> int:
    """A task whose worker is gone."""
    [task_id] = await put(database, "a")
    await take(database)
    await expire(database, task_id)
    return task_id


async def freed(database: Database) -> None:
    await one(database, "UPDATE crewtop.tasks SET lease_expires_at = now() + interval '1 hour'")


async def states(database: Database) -> list[tuple[str, str]]:
    async with database.connection() as connection:
        rows = await connection.fetch("SELECT rule, state FROM crewtop.alerts ORDER BY since")
        return [tuple(row) for row in rows]


async def test_what_is_wrong_is_told_and_so_is_its_end(database: Database, monitor: Monitor, hook: Hook) -> None:
    watch = await worker(database, Eyes(monitor), hook=hook)
    await stuck(database)
    await watch.judge()
    await watch.deliver("ops")
    assert hook.events == [("fired", "default")]
    assert hook.got[0]["text"].endswith(": default: 1 task is stuck (stuck)")
    await watch.judge()
    await watch.deliver("ops")
    assert len(hook.got) == 1, "it is told once"
    await freed(database)
    await watch.judge()
    await watch.deliver("ops")
    assert hook.events == [("fired", "default"), ("ended", "default")]
    assert await states(database) == [("stuck", "ended")]
    assert (await monitor.snapshot()).alerts == ()


async def test_one_of_several_workers_judges_and_one_that_died_is_followed(
    database: Database, monitor: Monitor, hook: Hook
) -> None:
    eyes = [Eyes(monitor), Eyes(monitor)]
    first, second = await worker(database, eyes[0], hook=hook), await worker(database, eyes[1], "w0", hook=hook)
    await one(database, "UPDATE crewtop.workers SET started_at = now() - interval '1 hour' WHERE id = 'w0'")
    await stuck(database)
    for watch in (first, second, first, second):
        await watch.judge()
        await watch.deliver("ops")
    assert [each.looks for each in eyes] == [2, 0]
    await one(database, "UPDATE crewtop.alert_watch SET until = now() - interval '1 s'")  # the first one died
    await second.judge()
    await second.deliver("ops")
    await freed(database)
    await second.judge()
    await second.deliver("ops")
    assert hook.events == [("fired", "default"), ("ended", "default")], "what the first one told is not told again"


async def test_a_worker_that_ends_lets_another_judge_at_once(database: Database, monitor: Monitor) -> None:
    first, eyes = await worker(database, Eyes(monitor)), Eyes(monitor)
    await first.judge()
    second = await worker(database, eyes, "w2")
    await one(database, "UPDATE crewtop.workers SET started_at = now() - interval '1 hour' WHERE id = 'w2'")
    await second.judge()
    assert eyes.looks == 0
    await first.release()
    await second.judge()
    assert eyes.looks == 1


async def test_who_can_tell_somebody_judges_rather_than_who_cannot_and_then_the_newest(
    database: Database, monitor: Monitor, hook: Hook
) -> None:
    mute, old, new = Eyes(monitor), Eyes(monitor), Eyes(monitor)
    watches = [await worker(database, old, "w1", hook), await worker(database, new, "w2", hook)]
    watches.append(await worker(database, mute, "w3"))
    await one(
        database,
        "UPDATE crewtop.workers SET started_at = CASE id WHEN 'w1' THEN now() - interval '2 h' ELSE now() END",
    )
    for watch in (watches[2], watches[0], watches[2], watches[1], watches[0], watches[2]):
        await watch.judge()
    assert (mute.looks, old.looks, new.looks) == (1, 1, 1)


async def test_a_worker_that_slept_too_long_writes_nothing(database: Database, monitor: Monitor) -> None:
    eyes = Eyes(monitor)
    watch = await worker(database, eyes)
    await stuck(database)

    class Late(Eyes):
        async def __call__(self) -> Snapshot:
            picture = await super().__call__()
            await one(database, "UPDATE crewtop.alert_watch SET worker_id = 'w2', since = now() + interval '1 h'")
            return picture

    watch = await worker(database, Late(monitor))
    await watch.judge()
    assert await states(database) == []


async def test_a_webhook_that_is_away_is_tried_again_by_whoever_judges_then(
    database: Database, monitor: Monitor, hook: Hook
) -> None:
    watch = await worker(database, Eyes(monitor), hook=hook)
    await stuck(database)
    hook.status, hook.body = 503, b"later"
    await watch.judge()
    await watch.deliver("ops")
    await watch.deliver("ops")
    assert len(hook.got) == 1, "not at once"
    [listed] = (await store.listing(database, 10)).alerts
    assert (listed.undelivered, listed.error) == (1, "HTTP 503: later")
    await freed(database)
    await watch.judge()
    await watch.release()
    another = await worker(database, Eyes(monitor), "w2", hook)
    await another.judge()
    hook.status = 200
    await another.deliver("ops")
    assert len(hook.got) == 1, "an end waits for its beginning"
    await one(database, "UPDATE crewtop.alert_notices SET next_at = now()")
    await another.deliver("ops")
    await another.deliver("ops")
    assert hook.events[1:] == [("fired", "default"), ("ended", "default")]
    assert hook.got[0]["alert"]["id"] == hook.got[1]["alert"]["id"]


async def test_what_nobody_took_for_a_day_is_given_up(database: Database, monitor: Monitor, hook: Hook) -> None:
    watch = await worker(database, Eyes(monitor), hook=hook)
    await stuck(database)
    hook.status = 500
    await watch.judge()
    await one(database, "UPDATE crewtop.alert_notices SET owed_at = now() - interval '25 h'")
    await watch.deliver("ops")
    await one(database, "UPDATE crewtop.alert_notices SET next_at = now()")
    await watch.deliver("ops")
    assert len(hook.got) == 1
    assert await one(database, "SELECT gave_up_at IS NOT NULL FROM crewtop.alert_notices")


async def test_what_is_silenced_is_told_nobody_until_that_is_lifted(
    database: Database, monitor: Monitor, hook: Hook
) -> None:
    watch = await worker(database, Eyes(monitor), hook=hook, rules={"stuck": replace(AT_ONCE["stuck"], for_seconds=60)})
    await stuck(database)
    await watch.judge()
    [pending] = (await monitor.snapshot()).alerts
    await monitor.silence(pending, None)
    await one(database, "UPDATE crewtop.alerts SET since = since - interval '2 min'")
    await watch.judge()
    await watch.deliver("ops")
    picture = await monitor.snapshot()
    assert (picture.alerts[0].state, hook.got) == ("firing", [])
    [silence] = picture.silences
    assert silence.by == operations.operator()
    await monitor.unsilence(silence)
    await watch.judge()
    await watch.deliver("ops")
    assert hook.events == [("fired", "default")]
    with pytest.raises(Refused, match=rf"silence {silence.id} is not silenced"):
        await monitor.unsilence(silence)


async def test_a_silence_for_a_while_ends_by_itself(database: Database) -> None:
    made = await operations.silence(database, "stuck", "sup*", 60.0, reason="deploy")
    assert made.until == made.at + timedelta(seconds=60)
    assert [each.reason for each in (await store.listing(database, 1)).silences] == ["deploy"]
    await one(database, "UPDATE crewtop.silences SET until = now() - interval '1 s'")
    assert (await store.listing(database, 1)).silences == ()
    with pytest.raises(Refused, match=r"rule stuck on sup. is not silenced"):
        await operations.unsilence(database, None, "stuck", "sup*")


OUTAGE = {"store": Rule("store", "store", for_seconds=30, clear_seconds=0)}


async def test_a_database_that_is_away_is_told_while_it_is_and_kept_once_it_is_back(
    database: Database, monitor: Monitor, hook: Hook
) -> None:
    eyes, clock = Eyes(monitor), Clock()
    watch = await worker(database, eyes, hook=hook, rules=OUTAGE, clock=clock)
    await watch.judge()
    eyes.away = True
    for clock.seconds in (5, 20, 34):
        await watch.judge()
        await watch.deliver("ops")
    assert hook.got == []
    clock.seconds = 35
    hook.status = 500
    await watch.judge()
    await watch.deliver("ops")
    hook.status = 200
    await watch.deliver("ops")
    await watch.deliver("ops")
    assert hook.events == [("fired", "postgres"), ("fired", "postgres")], "one refused, one taken"
    assert "connection refused" in hook.got[1]["text"]
    eyes.away = False
    await watch.judge()
    await watch.deliver("ops")
    assert hook.events[2:] == [("ended", "postgres")]
    assert await states(database) == [("store", "ended")]
    assert await one(database, "SELECT count(*) FROM crewtop.alert_notices WHERE delivered_at IS NOT NULL") == 2


async def test_an_outage_has_its_end_even_if_another_worker_judges_after_it(
    database: Database, monitor: Monitor, hook: Hook
) -> None:
    eyes, clock = Eyes(monitor), Clock()
    first = await worker(database, eyes, hook=hook, rules=OUTAGE, clock=clock)
    await first.judge()
    eyes.away = True
    for clock.seconds in (5, 60):
        await first.judge()
    await first.deliver("ops")
    await one(database, "UPDATE crewtop.alert_watch SET until = now() - interval '1 s'")
    second = await worker(database, Eyes(monitor), "w2", hook, OUTAGE)
    await second.judge()
    await first.judge()
    await second.deliver("ops")
    assert hook.events == [("fired", "postgres"), ("ended", "postgres")]
    assert await states(database) == [("store", "ended")]


async def test_what_passes_by_while_the_database_is_away_is_nothing(
    database: Database, monitor: Monitor, hook: Hook
) -> None:
    eyes, clock = Eyes(monitor), Clock()
    watch = await worker(database, eyes, hook=hook, rules=OUTAGE, clock=clock)
    await watch.judge()
    eyes.away, clock.seconds = True, 5
    await watch.judge()
    eyes.away = False
    await watch.judge()
    assert await states(database) == []


async def test_a_look_costs_the_snapshot_and_two_statements(database: Database, monitor: Monitor) -> None:
    """Nothing is written where nothing changes."""
    watch = await worker(database, Eyes(monitor))
    await stuck(database)
    await watch.judge()
    asked: list[Any] = []

    class Counting(Database):
        async def fetch(self, name: str, *arguments: object, **marks: str) -> Any:
            asked.append(name)
            return await super().fetch(name, *arguments, **marks)

    async with Counting(database.dsn, application_name="test") as counting:
        again = Watch(counting, "w1", Eyes(monitor), AT_ONCE, {}, (60,) * 5)
        await again.judge()
        await again.judge()
    assert asked == ["take_watch", "take_watch"]


async def test_old_alerts_and_silences_are_forgotten(database: Database, monitor: Monitor, hook: Hook) -> None:
    watch = await worker(database, Eyes(monitor), hook=hook)
    await stuck(database)
    await watch.judge()
    await freed(database)
    await watch.judge()
    await operations.silence(database, "*", "*", 60.0)
    await housekeeping.prune(database)
    assert len(await states(database)) == 1
    await one(database, "UPDATE crewtop.alerts SET ended_at = now() - interval '31 days'")
    await one(database, "UPDATE crewtop.silences SET at = at - interval '31 days', until = until - interval '31 days'")
    await housekeeping.prune(database)
    assert await states(database) == []
    assert await one(database, "SELECT count(*) FROM crewtop.silences") == 0
    assert await one(database, "SELECT count(*) FROM crewtop.alert_notices") == 0


async def test_names_from_redis_cannot_break_the_writing(database: Database, monitor: Monitor) -> None:
    class Hostile(Eyes):
        async def __call__(self) -> Snapshot:
            picture = await super().__call__()
            queues = tuple(replace(queue, name="q\0\ud800" + "x" * 900) for queue in picture.queues)
            return replace(picture, queues=queues)

    watch = await worker(database, Hostile(monitor))
    await stuck(database)
    await watch.judge()
    await watch.judge()
    assert await states(database) == [("stuck", "firing")]


def test_rules_of_the_configuration_go_beside_those_that_everybody_has() -> None:
    rules = Alerts.model_validate({"rules": {"stuck": {"for_seconds": 5}, "late": {"enabled": False}}}).rows()
    assert (rules["stuck"].for_seconds, rules["stuck"].watches) == (5, "stuck tasks")
    assert "late" not in rules


async def test_a_database_that_is_away_twice_in_a_row_is_one_outage(
    database: Database, monitor: Monitor, hook: Hook
) -> None:
    eyes, clock = Eyes(monitor), Clock()
    rules = {"store": replace(OUTAGE["store"], clear_seconds=60)}
    watch = await worker(database, eyes, hook=hook, rules=rules, clock=clock)
    await watch.judge()
    for clock.seconds, eyes.away in ((5, True), (40, True), (45, False), (50, True), (90, True), (95, False)):
        await watch.judge()
        await watch.deliver("ops")
    assert hook.events == [("fired", "postgres")]
    assert await states(database) == [("store", "clearing")]


async def test_a_database_that_is_gone_is_away(database: Database, monitor: Monitor, hook: Hook) -> None:
    class Gone(Eyes):
        async def __call__(self) -> Snapshot:
            if self.away:
                raise CrewtopError('postgres: database "shop" does not exist: create it, or mend the DSN')
            return await super().__call__()

    eyes, clock = Gone(monitor), Clock()
    watch = await worker(database, eyes, hook=hook, rules=OUTAGE, clock=clock)
    await watch.judge()
    eyes.away = True
    for clock.seconds in (5, 40):
        await watch.judge()
    await watch.deliver("ops")
    assert hook.events == [("fired", "postgres")]


async def test_an_end_is_told_to_those_who_were_told_of_the_beginning(
    database: Database, monitor: Monitor, hook: Hook
) -> None:
    """Though the configuration says otherwise by then: the rule is gone, and somebody else is there."""
    watch = await worker(database, Eyes(monitor), hook=hook)
    await stuck(database)
    await watch.judge()
    await watch.deliver("ops")
    await watch.release()
    with listening() as other:
        targets = {name: Delivery.model_validate({"webhook": to.url}) for name, to in (("ops", hook), ("new", other))}
        await lease.heartbeat(database, beat("w2"))
        watch = Watch(database, "w2", Eyes(monitor), {}, targets, (60,) * 5, Clock())
        await watch.judge()
        await watch.deliver("ops")
        assert hook.events == [("fired", "default"), ("ended", "default")]
        assert other.events == []


async def _got(hook: Hook) -> None:
    async with asyncio.timeout(20):
        while not hook.got:  # noqa: ASYNC110  a thread of the webhook's says so
            await asyncio.sleep(0.01)


async def test_what_hangs_holds_up_nobody_else(database: Database, monitor: Monitor, hook: Hook) -> None:
    await lease.heartbeat(database, beat("w1"))
    with listening() as other:
        targets = {name: Delivery.model_validate({"webhook": to.url}) for name, to in (("ops", hook), ("pager", other))}
        watch = Watch(database, "w1", Eyes(monitor), AT_ONCE, targets, (60,) * 5)
        hook.go_on.clear()
        await stuck(database)
        await watch.judge()
        hangs = asyncio.create_task(watch.deliver("ops"))
        await _got(hook)
        await watch.deliver("pager")
        await freed(database)
        await watch.judge()
        await watch.deliver("pager")
        assert other.events == [("fired", "default"), ("ended", "default")]
        assert not hangs.done()
        hook.go_on.set()
        await hangs
        await watch.deliver("ops")
    assert hook.events == [("fired", "default"), ("ended", "default")]


async def test_what_is_being_told_as_the_database_comes_back_is_told_once(
    database: Database, monitor: Monitor, hook: Hook
) -> None:
    eyes, clock = Eyes(monitor), Clock()
    watch = await worker(database, eyes, hook=hook, rules=OUTAGE, clock=clock)
    await watch.judge()
    eyes.away = True
    hook.go_on.clear()
    for clock.seconds in (5, 40):
        await watch.judge()
    telling = asyncio.create_task(watch.deliver("ops"))
    await _got(hook)
    eyes.away = False
    await watch.judge()
    hook.go_on.set()
    await telling
    await watch.deliver("ops")
    assert hook.events == [("fired", "postgres"), ("ended", "postgres")]


async def test_what_fires_while_only_a_worker_without_targets_is_there_is_told_once_one_with_some_is(
    database: Database, monitor: Monitor, hook: Hook
) -> None:
    """As while the others restart, beside a pool on somebody's laptop."""
    mute = await worker(database, Eyes(monitor))
    await stuck(database)
    await mute.judge()
    await mute.judge()
    assert await states(database) == [("stuck", "firing")]
    watch = await worker(database, Eyes(monitor), "w2", hook)
    await watch.judge()
    await watch.deliver("ops")
    assert hook.events == [("fired", "default")]


async def test_a_worker_that_ends_while_it_tells_notes_that_it_did(
    database: Database, monitor: Monitor, hook: Hook
) -> None:
    watch = await worker(database, Eyes(monitor), hook=hook)
    await stuck(database)
    await watch.judge()
    hook.go_on.clear()
    telling = asyncio.create_task(watch.deliver("ops"))
    await _got(hook)
    telling.cancel()
    ending = asyncio.create_task(watch.release())
    hook.go_on.set()
    await ending
    await one(database, "UPDATE crewtop.alert_notices SET next_at = now()")
    another = await worker(database, Eyes(monitor), "w2", hook)
    await another.judge()
    await another.deliver("ops")
    assert hook.events == [("fired", "default")]
