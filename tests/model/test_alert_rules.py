"""What the rules that everybody has see in a snapshot, and what of it cannot be known."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from crewtop.model.alert_rules import DEFAULTS, WATCHED, signs
from crewtop.model.alerts import Alert, Rule, Sign, Silence
from crewtop.model.money import Money
from crewtop.model.problems import KINDS, problems
from crewtop.model.providers import Providers
from crewtop.model.snapshot import Health, QueueRow, Snapshot, Standby
from crewtop.model.task import SERVICE_LEVELS_SECONDS
from tests.tui.fixtures import EMPTY, INCIDENT, NOW

LOST = "lost runs: lost runs: 10 runs lost their lease in 15m: workers die or lose the database"
LEVELS = SERVICE_LEVELS_SECONDS


def seen(snapshot: Snapshot, *rules: Rule) -> list[Sign]:
    return list(signs(snapshot, rules or DEFAULTS, LEVELS).signs)


def said(snapshot: Snapshot) -> list[str]:
    return [f"{sign.rule}: {sign.subject}: {sign.words}" for sign in seen(snapshot) if sign.high]


def test_every_rule_watches_something_that_there_is_and_has_its_own_name() -> None:
    assert {rule.watches for rule in DEFAULTS} <= set(WATCHED)
    assert len({rule.name for rule in DEFAULTS}) == len(DEFAULTS)
    assert len(set(WATCHED)) == len(WATCHED), "no figure is called like a kind of problem"


def test_a_quiet_shop_is_quiet() -> None:
    calm = replace(EMPTY, queues=(QueueRow("q", ready=3, waits=(None, 1.0, None, 2.0, None)),), redis=Health(True))
    assert said(calm) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"queues": (QueueRow("q", stuck=2),)}, ["stuck: q: 2 tasks are stuck"]),
        ({"lost_runs": 10}, [LOST]),
        ({"lost_runs": 9}, []),
        ({"standbys": (Standby("db2", 61.0), Standby("db3", 1.0), Standby("db4", None))},
         ["replication lag: standby db2: is 1m01s behind"]),
        ({"spend_per_hour": Money(Decimal("50.5"), 2, 9)}, ["spend: spend: at least $50.50 within the last hour"]),
        ({"redis": Health(True, evicts="allkeys-lru")},
         ["evicting: redis keys: drops keys where it is full (allkeys-lru): set maxmemory-policy noeviction"]),
        ({"postgres": Health(False, None, "refused")}, ["store: postgres: down, these are the last figures: refused"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_seen(changes: dict[str, object], expected: list[str]) -> None:
    calm = replace(EMPTY, redis=Health(True))
    assert said(replace(calm, **changes)) == expected  # type: ignore[arg-type]


def test_of_standbys_that_nobody_gave_a_name_the_worst_counts() -> None:
    standbys = (Standby("walreceiver", 61.0), Standby("walreceiver", 30.0))
    [sign] = [each for each in seen(replace(EMPTY, standbys=standbys)) if each.rule == "replication lag"]
    assert (sign.value, sign.high) == (61.0, True)


def test_a_wait_is_judged_by_the_queues_own_levels_if_it_has_some() -> None:
    queue = QueueRow("q", waits=(None, 20.0, None, None, None), service_levels=(1.0, 10.0, 10.0, 10.0, 10.0))
    [sign] = [each for each in seen(replace(EMPTY, queues=(queue,))) if each.rule == "oldest"]
    assert (sign.value, sign.severity) == (2.0, "wrong")
    assert sign.words == "a task of P1 has waited 20s, its service level is 10s"
    paused = replace(queue, paused=True)
    assert [each for each in seen(replace(EMPTY, queues=(paused,))) if each.rule == "oldest"] == []


def test_a_rule_for_some_queues_sees_these_alone() -> None:
    shop = replace(EMPTY, queues=(QueueRow("support", stuck=1), QueueRow("research", stuck=1)), lost_runs=99)
    assert [s.subject for s in seen(shop, Rule("r", "stuck tasks", above=0, queue="sup*"))] == ["support"]
    assert seen(shop, Rule("r", "lost runs", above=0, queue="sup*")) == []


def test_a_kind_of_problem_is_judged_as_the_screen_judges_it() -> None:
    by_problem = {(p.kind, p.name): p.words for p in problems(INCIDENT)}
    rules = [Rule(kind, kind) for kind in KINDS]
    assert {(s.watches, s.subject): s.words for s in seen(INCIDENT, *rules)} == by_problem


def test_while_a_store_is_away_what_it_would_tell_is_unknown() -> None:
    def unknown(snapshot: Snapshot) -> set[str]:
        return set(signs(snapshot, DEFAULTS, LEVELS).unknown)

    of_providers = {"no key", "dead key", "circuit", "throttled"}
    up = replace(EMPTY, redis=Health(True), providers=Providers(), lost_runs=0)
    assert unknown(up) == set()
    assert unknown(replace(up, providers=Providers(age=40.0))) == of_providers
    assert unknown(replace(up, providers=None, redis=Health(False))) == {*of_providers, "evicting"}
    assert unknown(replace(up, postgres=Health(False))) == {rule.name for rule in DEFAULTS} - {"store"}


def firing(watches: str, subject: str, **fields: object) -> Alert:
    alert = Alert("1", watches, subject, watches, "wrong", "firing", NOW, "words", fired_at=NOW - timedelta(minutes=12))
    return replace(alert, **fields)  # type: ignore[arg-type]


def test_what_fires_comes_first_and_says_for_how_long() -> None:
    alert = firing("no worker", "support")
    found = problems(replace(INCIDENT, alerts=(alert,)))
    assert [(p.kind, p.name, p.standing(NOW)) for p in found][:2] == [
        ("store", "redis", ""),
        ("no worker", "support", "alert 'no worker' for 12m"),
    ]


def test_what_is_silenced_comes_last_and_says_by_whom() -> None:
    quiet = Silence(1, "*", "support", NOW + timedelta(hours=1), None, "dana@ops1", None, NOW)
    found = problems(replace(INCIDENT, alerts=(firing("no worker", "support"),), silences=(quiet,)))
    assert (found[-1].kind, found[-1].standing(NOW)) == (
        "no worker",
        "alert 'no worker' for 12m, silenced for 1h by dana@ops1",
    )


def test_an_alert_on_a_figure_is_a_problem_of_its_own_once_it_fires() -> None:
    alert = firing("oldest", "support", queue="support")
    found = problems(replace(EMPTY, redis=Health(True), alerts=(alert,)))
    assert [(p.kind, p.about, p.name, p.words) for p in found] == [("oldest", "queue", "support", "words")]
    pending = replace(alert, state="pending", fired_at=None)
    assert problems(replace(EMPTY, redis=Health(True), alerts=(pending,))) == []
