"""How each type of the model is written as plain data, found out from the dataclasses themselves.

Text is masked and made safe to show on its way in, so that no secret ever reaches a file. Amounts of money keep eight
significant digits, other fractions three decimals, or two significant digits below a hundredth: as much as the screen
shows, and half of the bytes.
"""

from __future__ import annotations

import math
import types
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal, InvalidOperation
from enum import Enum
from functools import cache, lru_cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from crewtop.recording.delta import SAME, Delta, Plain, Words, columns, even, number_delta
from crewtop.text import masked, shown

Schema = Mapping[str, Sequence[str]]
"""By the name of each dataclass: its fields, in the order in which they are written."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MONEY = Context(prec=8)
_REMEMBERED_CHARACTERS = 512

MOST, MOST_EXPONENT = 1e100, 100
"""No figure is larger, no amount has a larger exponent: what a stranger's file has beyond cannot be reckoned with."""


class Unreadable(ValueError):
    """Plain data that is no value of its type."""


class Shape:
    """How values of one type are written. old is None, or of the same type as new."""

    def plain(self, value: Any) -> Plain:
        """A value as plain data."""
        raise NotImplementedError

    def delta(self, old: Any, new: Any, words: Words | None) -> Delta:
        """What applied() needs to make plain(new) of plain(old). words None: strings stay as they are."""
        raise NotImplementedError

    def value(self, plain: Plain, schema: Schema) -> Any:
        """The value that was written under a schema. Raises Unreadable."""
        raise NotImplementedError


class Leaf(Shape):
    """A scalar of one of the types below."""

    kinds: tuple[type, ...] = ()

    def delta(self, old: Any, new: Any, words: Words | None) -> Delta:
        was, now = None if old is None else self.plain(old), self.plain(new)
        if type(was) is type(now) and was == now:
            return SAME
        return number_delta(was, now) if isinstance(now, int | float) and not isinstance(now, bool) else now

    def plain(self, value: Any) -> Plain:
        return value

    def value(self, plain: Plain, schema: Schema) -> Any:
        if not isinstance(plain, self.kinds) or (isinstance(plain, bool) and bool not in self.kinds):
            raise Unreadable(f"{str(plain)[:40]!r} is no {self.kinds[0].__name__}")
        return plain


class Truth(Leaf):
    kinds = (bool,)


class Whole(Leaf):
    kinds = (int,)


class Text(Leaf):
    kinds = (str,)

    def plain(self, value: str) -> str:
        return _safe(value) if len(value) <= _REMEMBERED_CHARACTERS else shown(masked(value))


class Fraction(Leaf):
    """A float. What is not finite, which no figure is, is written as its name, and is unreadable."""

    kinds = (float, int)

    def plain(self, value: float) -> Plain:
        if not math.isfinite(value):
            return str(float(value))
        return _brief(round(value, 3) if abs(value) >= 0.01 else float(f"{value:.1e}"))

    def value(self, plain: Plain, schema: Schema) -> float:
        told = super().value(plain, schema)
        if not -MOST < told < MOST:
            raise Unreadable(f"{str(told)[:40]} is no figure of a snapshot")
        return float(told)


class Amount(Leaf):
    """A Decimal. Eight digits of it survive as a float; what no float can hold is written as a string."""

    kinds = (float, int, str)

    def plain(self, value: Decimal) -> Plain:
        kept = _MONEY.plus(value) if value.is_finite() else value
        if not kept:
            return 0
        as_float = float(kept)
        return _brief(as_float) if Decimal(repr(as_float)) == kept and 1e-12 < abs(as_float) < 1e12 else str(kept)

    def value(self, plain: Plain, schema: Schema) -> Decimal:
        told = super().value(plain, schema)
        try:
            amount = Decimal(repr(told) if isinstance(told, float) else told)
        except InvalidOperation:
            raise Unreadable(f"{told[:40]!r} is no amount") from None
        if not amount.is_finite() or abs(amount.adjusted()) > MOST_EXPONENT:
            raise Unreadable(f"{str(told)[:40]} is no amount of a snapshot")
        return amount


class Instant(Leaf):
    """A datetime, as microseconds since 1970; they come back in UTC."""

    kinds = (int,)

    def plain(self, value: datetime) -> int:
        return microseconds(value)

    def value(self, plain: Plain, schema: Schema) -> datetime:
        return instant(super().value(plain, schema))


class Member(Leaf):
    """A member of an enumeration, as its value."""

    def __init__(self, kind: type[Enum]) -> None:
        self._kind = kind

    def plain(self, value: Enum) -> Plain:
        return value.value

    def value(self, plain: Plain, schema: Schema) -> Any:
        try:
            return self._kind(plain)
        except ValueError:
            raise Unreadable(f"{str(plain)[:40]!r} is no {self._kind.__name__}") from None


class Optional(Shape):
    """Something, or None."""

    def __init__(self, inner: Shape) -> None:
        self.inner = inner

    def plain(self, value: Any) -> Plain:
        return None if value is None else self.inner.plain(value)

    def delta(self, old: Any, new: Any, words: Words | None) -> Delta:
        if new is None:
            return SAME if old is None else None
        if old is None:
            plain = self.inner.plain(new)
            return plain if isinstance(plain, str | bool) else [plain]
        return self.inner.delta(old, new, words)

    def value(self, plain: Plain, schema: Schema) -> Any:
        return None if plain is None else self.inner.value(plain, schema)


class Rows(Shape):
    """A tuple of any length. Rows that are dataclasses are told apart by their first field, which names them."""

    def __init__(self, item: Shape) -> None:
        self.item = item

    def plain(self, value: Sequence[Any]) -> Plain:
        return [self.item.plain(item) for item in value]

    def delta(self, old: Sequence[Any], new: Sequence[Any], words: Words | None) -> Delta:
        if old is new or old == new:
            return SAME
        if isinstance(self.item, Record) and old:
            return {"rows": _Steps(self.item, words).of(old, new)}
        return [self.plain(new)]

    def value(self, plain: Plain, schema: Schema) -> tuple[Any, ...]:
        if not isinstance(plain, list):
            raise Unreadable(f"{str(plain)[:40]!r} is no list")
        return tuple(self.item.value(item, schema) for item in plain)


class Record(Shape):
    """A dataclass: the values of its fields in their order."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        hints = get_type_hints(kind)
        self.fields: list[tuple[Field[Any], Shape]] = [(f, shape_of(hints[f.name])) for f in fields(kind)]
        self.key = self.fields[0][0].name

    def plain(self, value: Any) -> Plain:
        return [shape.plain(getattr(value, field.name)) for field, shape in self.fields]

    def delta(self, old: Any, new: Any, words: Words | None) -> Delta:
        if old is new or old == new:
            return SAME
        changes = [shape.delta(getattr(old, f.name), getattr(new, f.name), words) for f, shape in self.fields]
        while changes and changes[-1] == SAME and not isinstance(changes[-1], bool):
            changes.pop()
        return changes + [SAME] * (2 - len(changes)) if changes else SAME

    def value(self, plain: Plain, schema: Schema) -> Any:
        names = schema.get(self.kind.__name__)
        if names is None or not isinstance(plain, list) or len(plain) != len(names):
            raise Unreadable(f"{str(plain)[:40]!r} is no {self.kind.__name__}")
        written = dict(zip(names, plain, strict=True))
        return self.kind(**{f.name: self._field(f, shape, written, schema) for f, shape in self.fields})

    def _field(self, field: Field[Any], shape: Shape, written: Mapping[str, Plain], schema: Schema) -> Any:
        if field.name in written:
            return shape.value(written[field.name], schema)
        if field.default is not MISSING:
            return field.default
        if field.default_factory is not MISSING:
            return field.default_factory()
        if isinstance(shape, Optional):
            return None
        raise Unreadable(f"it has no {self.kind.__name__}.{field.name}")


_LEAVES: Mapping[Any, Shape] = {
    bool: Truth(), int: Whole(), float: Fraction(), str: Text(), Decimal: Amount(), datetime: Instant(),
}  # fmt: skip


@cache
def shape_of(kind: Any) -> Shape:
    """The shape of a type. Raises TypeError for one that the model does not use yet: teach it here."""
    if kind in _LEAVES:
        return _LEAVES[kind]
    if is_dataclass(kind) and isinstance(kind, type):
        return Record(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return Member(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal and all(isinstance(argument, str) for argument in arguments):
        return _LEAVES[str]
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return Rows(shape_of(arguments[0]))
    if origin in (types.UnionType, Union) and len(arguments) == 2 and type(None) in arguments:
        return Optional(shape_of(next(argument for argument in arguments if argument is not type(None))))
    raise TypeError(f"{kind} has no shape in a recording")


def schema_of(kind: type) -> dict[str, list[str]]:
    """The fields of a dataclass and of all that are in it, in the order in which this version writes them."""
    found: dict[str, list[str]] = {}

    def visit(shape: Shape) -> None:
        match shape:
            case Optional():
                visit(shape.inner)
            case Rows():
                visit(shape.item)
            case Record() if shape.kind.__name__ not in found:
                found[shape.kind.__name__] = [field.name for field, _ in shape.fields]
                for _, inner in shape.fields:
                    visit(inner)

    visit(shape_of(kind))
    return found


def microseconds(at: datetime) -> int:
    """An instant as microseconds since 1970."""
    return (at - EPOCH) // _MICROSECOND


def instant(since_1970: int) -> datetime:
    """The instant so many microseconds after 1970 began. Raises Unreadable beyond the years 1 to 9999."""
    try:
        return EPOCH + timedelta(microseconds=since_1970)
    except OverflowError:
        raise Unreadable(f"{since_1970} is no instant") from None


def _brief(value: float) -> float:
    return int(value) if float(value).is_integer() else value


@lru_cache(maxsize=4096)
def _safe(text: str) -> str:
    return shown(masked(text))


class _Steps:
    """The rows of a new list out of those of an old one, as crewtop.recording.delta describes it."""

    def __init__(self, item: Record, words: Words | None) -> None:
        self._item, self._words = item, words
        self._told: list[Any] = []
        self._changes: list[Delta] = []
        self._fresh: list[Plain] = []
        self._still = 0

    def of(self, old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
        """The steps from old to new."""
        places = {key: place for place, key in enumerate(_named(old, self._item.key))}
        at = 0
        for key, row in zip(_named(new, self._item.key), new, strict=True):
            place = places.get(key)
            if place is None:
                self._turn(fresh=True)
                self._fresh.append(self._item.plain(row))
                continue
            if place != at:
                self._turn()
                self._told.append({"at": place})
            at = place + 1
            # What is new in a row of a row is told without words: a reader meets it after the words of the whole table.
            change = self._item.delta(old[place], row, None)
            self._turn(still=change == SAME, changes=change != SAME)
            if change == SAME:
                self._still += 1
            else:
                self._changes.append(change)
        self._turn()
        return self._told

    def _turn(self, *, still: bool = False, changes: bool = False, fresh: bool = False) -> None:
        """Tell what was gathered so far of every other kind than the one that comes next."""
        if self._still and not still:
            self._told.append(self._still)
            self._still = 0
        if self._changes and not changes:
            alone = len(self._changes) == 1
            told = self._changes[0] if alone else self._table("next", even(self._changes))
            self._told.append(told)
            self._changes = []
        if self._fresh and not fresh:
            self._told.append(self._table("new", self._fresh))
            self._fresh = []

    def _table(self, what: str, rows: Sequence[list[Any]]) -> dict[str, Any]:
        return {what: len(rows), "of": columns(rows, self._words)}


def _named(rows: Sequence[Any], field: str) -> Iterator[tuple[Any, int]]:
    """What tells rows apart: their first field, and the how manyth it is that has it."""
    seen: Counter[Any] = Counter()
    for row in rows:
        name = getattr(row, field)
        seen[name] += 1
        yield name, seen[name]
