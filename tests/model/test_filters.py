"""The grammar of filters, orders and saved views."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewtop.model.filter_words import JUDGEMENTS, KEYS, Value
from crewtop.model.filters import (
    SORTS,
    FilterError,
    Pattern,
    TaskFilter,
    Term,
    expand,
    known_sort,
    order_words,
    parse,
    words,
)
from crewtop.model.task import TaskStatus

HOUR = 3_600


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("", TaskFilter()),
        ("status:failed,retry", TaskFilter((TaskStatus.FAILED, TaskStatus.RETRY))),
        ("status=failed", TaskFilter((TaskStatus.FAILED,))),
        ("crew:a crew:b queue:q", TaskFilter(crews=("a", "b"), queues=("q",))),
        ("crew:re*,support", TaskFilter(crews=(Pattern(("re", "")), "support"))),
        ('crew:"re*, \\"all\\"","*"*', TaskFilter(crews=('re*, "all"', Pattern(("*", ""))))),
        ("priority:P1 quota exceeded", TaskFilter(priority=1, text="quota exceeded")),
        ("quota priority:1 exceeded", TaskFilter(priority=1, text="quota exceeded")),
        ("priority:0,1", TaskFilter(terms=(Term("priority", (0, 1)),))),
        ("priority<=1", TaskFilter(terms=(Term("priority", (1,), "<="),))),
        ("age>1h age<2d", TaskFilter(terms=(Term("age", (HOUR,), ">"), Term("age", (48 * HOUR,), "<")))),
        ("cost>$0.5 cost<=2", TaskFilter(
            terms=(Term("cost", (Decimal("0.5"),), ">"), Term("cost", (Decimal(2),), "<=")))),
        ("tokens>1000 attempts>=2", TaskFilter(terms=(Term("tokens", (1000,), ">"), Term("attempts", (2,), ">=")))),
        ('error:timeout error:"no answer"', TaskFilter(
            terms=(Term("error", ("timeout",)), Term("error", ("no answer",))))),
        ("worker:db1* worker:w2", TaskFilter(terms=(Term("worker", (Pattern(("db1", "")), "w2")),))),
        ("failure:3fa92c01", TaskFilter(terms=(Term("failure", ("3fa92c01",)),))),
        ("key:ORDER-1 parent:123 id:1,2", TaskFilter(
            terms=(Term("key", ("ORDER-1",)), Term("parent", (123,)), Term("id", (1, 2))))),
        ("is:stuck is:unpriced", TaskFilter(terms=(Term("is", ("stuck",)), Term("is", ("unpriced",))))),
        ("!queue:bulk -status:completed", TaskFilter(
            terms=(Term("queue", ("bulk",), negated=True), Term("status", (TaskStatus.COMPLETED,), negated=True)))),
        ("http://x [/] -9 --token a@b", TaskFilter(text="http://x [/] -9 --token a@b")),
        ('"status:failed"  "a  b', TaskFilter(text="status:failed a  b")),
        ("ValueError: [key=14629,state=CLOSED] {p}/{t}[/{n}]", TaskFilter(
            text="ValueError: [key=14629,state=CLOSED] {p}/{t}[/{n}]")),
    ],
)  # fmt: skip
def test_a_filter_means_what_is_typed(typed: str, meant: TaskFilter) -> None:
    assert parse(typed) == meant
    assert parse(words(meant)) == meant
    assert hash(parse(typed)) == hash(meant)


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        ("status:done", "status 'done' is unknown: use one of waiting, pending, running"),
        ("is:lost", "is 'lost' is unknown: use one of stuck, cancelling, scheduled, unpriced"),
        ("priority:9", "priority '9' is out of range: use 0 to 4"),
        ("stauts:failed", "filter key 'stauts' is unknown: did you mean status, or put it in quotes to look for it"),
        ("zzz:1", "filter key 'zzz' is unknown: use one of status, crew, queue, .* or put it in quotes"),
        ("crew:", "filter 'crew:' has no value: crew takes a crew's name"),
        ("age:1h", "filter 'age:1h' compares with ':': use age> or age>= or age< or age<=, or put it in quotes"),
        ("crew>a", "filter 'crew>a' compares with '>': use crew:, or put"),
        ("age>1", "age '1' is no duration: use 0s to 5200w, such as 90s, 5m, 2h, 3d, 1w"),
        ("age>9999999999w", "age '9999999999w' is no duration"),
        ("cost>-1", "cost '-1' is no amount: use dollars from 0 up"),
        ("cost>nan", "cost 'nan' is no amount"),
        ("tokens>1.5", "tokens '1.5' is out of range: use a whole number from 0 to 9223372036854775807"),
        ("id:0", "id '0' is out of range: use a whole number from 1"),
        ("id:9223372036854775808", "is out of range"),
        ("tokens>1,2", "compares with 2 values: use one"),
        ("failure:XYZ", "failure 'XYZ' is none: use its eight hexadecimal digits, such as failure:3fa92c01"),
    ],
)
def test_a_wrong_filter_says_what_is_allowed(typed: str, complaint: str) -> None:
    with pytest.raises(FilterError, match=complaint):
        parse(typed)


def names() -> st.SearchStrategy[str | Pattern]:
    parts = st.lists(st.text(max_size=8), min_size=2, max_size=3).map(lambda found: Pattern(tuple(found)))
    return st.text(max_size=20) | parts


def values(key: str) -> st.SearchStrategy[Value]:
    match key:
        case "status":
            return st.sampled_from(TaskStatus)
        case "is":
            return st.sampled_from(list(JUDGEMENTS))
        case "error":
            return st.text()
        case "failure":
            return st.text("0123456789abcdef", min_size=8, max_size=8)
        case "age":
            return st.integers(0, 5_200 * 604_800)
        case "cost":
            return st.decimals(0, 10**11, places=9)
        case "priority":
            return st.integers(0, 4)
        case "tokens" | "attempts" | "parent" | "id":
            return st.integers(1, 1_000)
    return names()


@st.composite
def terms(draw: st.DrawFn) -> Term:
    """Any term that no other field of a filter says."""
    key = draw(st.sampled_from(list(KEYS)))
    sign = draw(st.sampled_from(KEYS[key].signs))
    most = 1 if sign != ":" else 3
    found = draw(st.lists(values(key), min_size=1, max_size=most))
    negated = draw(st.booleans())
    in_a_field = key in ("status", "crew", "queue") or (key == "priority" and len(found) == 1)
    return Term(key, tuple(found), sign, negated or (sign == ":" and in_a_field))


def distinct(found: list[Term]) -> tuple[Term, ...]:
    """Without a second plain term on a key, which would add to the first."""
    plain = [term.key for term in found if term.sign == ":" and not term.negated]
    return tuple(term for term in found if term.negated or term.sign != ":" or plain.count(term.key) == 1)


@given(
    st.lists(st.sampled_from(TaskStatus), max_size=3).map(tuple),
    st.lists(names(), max_size=3).map(tuple),
    st.lists(names(), max_size=3).map(tuple),
    st.none() | st.text(min_size=1),
    st.lists(terms(), max_size=4).map(distinct),
    st.none() | st.integers(0, 4),
)
def test_whatever_is_meant_can_be_typed(
    statuses: tuple[TaskStatus, ...],
    crews: tuple[str | Pattern, ...],
    queues: tuple[str | Pattern, ...],
    text: str | None,
    rest: tuple[Term, ...],
    priority: int | None,
) -> None:
    alone = any(term.key == "priority" and term.sign == ":" and not term.negated for term in rest)
    meant = TaskFilter(statuses, crews, queues, None if alone else priority, text, rest)
    assert parse(words(meant)) == meant
    assert expand(words(meant), {}) == words(meant)


@given(st.text() | st.lists(st.sampled_from([*'"\\!-:<>=*, @', "crew", "status", "failed", "age", "1h"])).map("".join))
def test_whatever_is_typed_is_refused_or_said_again(typed: str) -> None:
    try:
        meant = parse(typed)
    except FilterError:
        return
    assert parse(words(meant)) == meant


def test_a_saved_view_takes_the_place_of_its_name() -> None:
    views = {"mine": "status:failed crew:a", "late": "age>1h"}
    assert expand("@mine", views) == "status:failed crew:a"
    assert expand(" @late queue:q", views) == "age>1h queue:q"
    assert expand("queue:q @late", views) == "queue:q @late"
    with pytest.raises(FilterError, match="view '@mien' is unknown: did you mean @mine, or put it in quotes"):
        expand("@mien", views)
    with pytest.raises(FilterError, match="no view is saved: '@x' needs one under"):
        expand("@x", {})


def test_every_order_goes_both_ways_and_has_words() -> None:
    for sort in SORTS:
        assert known_sort(f"-{sort}") == f"-{sort}"
        assert order_words(sort) != order_words(f"-{sort}")
    assert (order_words("cost"), order_words("-cost")) == ("dearest first", "cheapest first")
    with pytest.raises(FilterError, match="sort '--cost' is unknown: use newest, oldest, cost,"):
        known_sort("--cost")
