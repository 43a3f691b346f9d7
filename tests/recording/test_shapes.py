"""Snapshots as plain data and as differences: whatever they hold, the same comes out of a recording."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crewtop.model.snapshot import QueueRow, Snapshot, Throttle
from crewtop.recording.delta import Broken, Words, applied, even
from crewtop.recording.shapes import Unreadable, schema_of, shape_of
from tests.tui.fixtures import BUSY, EMPTY, HELD_BACK, INCIDENT

SHAPE, SCHEMA = shape_of(Snapshot), schema_of(Snapshot)

st.register_type_strategy(str, st.sampled_from(["", "support", "returns", "db1", "a\x1b[2J", "token=hunter2xyz", "🚢"]))
st.register_type_strategy(int, st.integers(-(2**40), 2**40) | st.integers(0, 3))
st.register_type_strategy(
    float, st.floats(allow_nan=False, allow_infinity=False, width=32) | st.sampled_from([0.0, 1.5, 0.0042])
)
st.register_type_strategy(
    Decimal, st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=0, max_value=99)
)
st.register_type_strategy(datetime, st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC)))
SNAPSHOTS = st.sampled_from([BUSY, EMPTY, HELD_BACK, INCIDENT]) | st.builds(Snapshot)


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value, separators=(",", ":")))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(SNAPSHOTS, min_size=2, max_size=4))
def test_what_was_written_comes_back(snapshots: list[Snapshot]) -> None:
    written, read = Words(), Words()
    plain = through_json(SHAPE.plain(snapshots[0]))
    for old, new in pairwise(snapshots):
        plain = applied(plain, through_json(SHAPE.delta(old, new, written)), read)
        assert plain == through_json(SHAPE.plain(new))
        assert SHAPE.plain(SHAPE.value(plain, SCHEMA)) == SHAPE.plain(new)


@st.composite
def rows_in_life(draw: st.DrawFn) -> list[Snapshot]:
    """The same queues again and again, a few figures of each another one, such as a cost where there was none."""
    rows = [draw(st.builds(QueueRow, name=st.just(name))) for name in "abc"]
    snapshots = [replace(BUSY, queues=tuple(rows))]
    for _ in range(2):
        alive = draw(st.sets(st.sampled_from([each.name for each in fields(QueueRow)][1:]), min_size=1, max_size=3))
        for place, row in enumerate(rows):
            other = draw(st.builds(QueueRow))
            moved = draw(st.sets(st.sampled_from(sorted(alive | {"cost_per_1000"})), min_size=1))
            rows[place] = replace(row, **{name: getattr(other, name) for name in moved})
        snapshots.append(replace(BUSY, queues=tuple(rows)))
    return snapshots


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows_in_life())
def test_rows_that_change_beside_rows_of_which_something_is_unknown_come_back(snapshots: list[Snapshot]) -> None:
    written, read = Words(), Words()
    plain = through_json(SHAPE.plain(snapshots[0]))
    for old, new in pairwise(snapshots):
        plain = applied(plain, through_json(SHAPE.delta(old, new, written)), read)
        assert plain == through_json(SHAPE.plain(new))


def test_a_change_of_what_is_unknown_in_one_row_leaves_its_neighbour_readable() -> None:
    """A queue that never ran has no cost; the next one's moves."""
    changes = even([[0, 1.0, 0], [0, 0, [5, 0, 1]]])
    rows = [["a", 1, None], ["b", 2, [1, 0, 3]]]
    assert [applied(row, change, Words()) for row, change in zip(rows, changes, strict=True)] == [
        ["a", 2, None],
        ["b", 2, [6, 0, 4]],
    ]


def test_figures_keep_what_the_screen_shows() -> None:
    shown = SHAPE.value(SHAPE.plain(replace(BUSY, bucket_seconds=12.34567)), SCHEMA)
    assert shown.queues == BUSY.queues
    assert shown.workers == BUSY.workers
    assert shown.running == BUSY.running
    assert shown.spend_today == BUSY.spend_today
    assert shown.at == BUSY.at
    assert shown.bucket_seconds == 12.346


def test_a_still_picture_takes_no_bytes() -> None:
    assert SHAPE.delta(BUSY, replace(BUSY), Words()) == 0


def test_only_what_changed_is_written() -> None:
    changed = replace(BUSY, queues=(replace(BUSY.queues[0], ready=815), *BUSY.queues[1:]))
    assert len(json.dumps(SHAPE.delta(BUSY, changed, Words()))) < 80


def test_names_in_rows_of_rows_stay_theirs_where_all_rows_change() -> None:
    held = (Throttle("triage", "openai", 3.0), Throttle("writer", "anthropic", 4.0))
    changed = tuple(replace(row, paused_by=f"ann{n}", throttled=held) for n, row in enumerate(BUSY.queues[:2]))
    later = tuple(replace(row, paused_by=f"bob{n}", throttled=held[::-1]) for n, row in enumerate(changed))
    written, read = Words(), Words()
    plain = SHAPE.plain(start := replace(BUSY, queues=BUSY.queues[:2]))
    for old, new in pairwise([start, replace(start, queues=changed), replace(start, queues=later)]):
        plain = applied(plain, through_json(SHAPE.delta(old, new, written)), read)
        assert SHAPE.value(plain, SCHEMA).queues == new.queues


def test_text_is_masked_and_safe_before_it_is_written() -> None:
    row = replace(BUSY.running[0], activity="tool x \x1b[2J api_key=sk-proj-Zx81kQ9vTq0aa7bLm4f2a \x9b31m")
    text = json.dumps(SHAPE.plain(replace(BUSY, running=(row,))), ensure_ascii=False)
    assert "sk-proj" not in text
    assert "••••4f2a" in text
    assert text.isprintable()


def test_what_a_newer_version_adds_is_left_out_and_what_an_older_one_lacked_is_unknown() -> None:
    schema = {name: list(names) for name, names in SCHEMA.items()}
    plain = SHAPE.plain(BUSY)
    at = schema["Snapshot"].index("providers")
    plain[at] = "something else"
    schema["Snapshot"][at] = "from_the_future"
    shown = SHAPE.value(plain, schema)
    assert shown.providers is None
    assert shown.queues == BUSY.queues


def test_a_figure_that_has_no_unknown_is_not_made_up() -> None:
    schema = {**SCHEMA, "Snapshot": ["elsewhere" if name == "at" else name for name in SCHEMA["Snapshot"]]}
    with pytest.raises(Unreadable, match=r"it has no Snapshot\.at"):
        SHAPE.value(SHAPE.plain(BUSY), schema)


@pytest.mark.parametrize("wrong", ["x", [1], None, True, 1.5])
def test_data_of_another_type_is_refused(wrong: Any) -> None:
    plain = SHAPE.plain(BUSY)
    plain[SCHEMA["Snapshot"].index("running_total")] = wrong
    with pytest.raises(Unreadable):
        SHAPE.value(plain, SCHEMA)


@pytest.mark.parametrize("wrong", [math.inf, math.nan, 1e300, 10**400, "inf"], ids=lambda wrong: str(wrong)[:9])
def test_what_cannot_be_reckoned_with_is_refused(wrong: Any) -> None:
    level = SHAPE.plain(BUSY)[SCHEMA["Snapshot"].index("queues")][0]
    level[SCHEMA["QueueRow"].index("level")] = wrong
    cost = SHAPE.plain(BUSY)[SCHEMA["Snapshot"].index("queues")][0]
    cost[SCHEMA["QueueRow"].index("cost_per_1000")][SCHEMA["Money"].index("known")] = wrong
    for queue in (level, cost):
        with pytest.raises(Unreadable):
            shape_of(QueueRow).value(queue, SCHEMA)


@pytest.mark.parametrize(
    "delta",
    [
        {"rows": [{"new": 10**9, "of": [0]}]},
        {"rows": [{"new": 2, "of": [[1]]}]},
        {"rows": [{"at": 99}]},
        {"rows": [{"next": 3, "of": [0]}]},
        {"rows": [[0, 1]]},
        {"rows": [{"new": 1, "of": [{"words": [7]}]}]},
        {"rows": 3},
        5,
    ],
)
def test_a_difference_that_does_not_fit_is_refused(delta: Any) -> None:
    with pytest.raises(Broken):
        applied([], delta, Words())


def test_a_list_cannot_be_made_to_fill_the_memory() -> None:
    plain: Any = [[0, 0]] * 60_000
    with pytest.raises(Broken, match="more than 100,000 rows"):
        applied(plain, {"rows": [60_000, {"at": 0}, 60_000]}, Words())
    wide: Any = {"rows": [{"new": 100_000, "of": [{"of": [0] * 50}] * 20}]}
    with pytest.raises(Broken, match="more than 20,000,000 values in a segment"):
        applied([], wide, Words())
    words = Words()
    for _ in range(20_000_000 // 60_000):
        applied(plain, {"rows": [60_000]}, words)
    with pytest.raises(Broken, match="more than 20,000,000 values in a segment"):
        applied(plain, {"rows": [60_000]}, words)
