"""Differences between two states of plain data, as JSON, and how they are put back together.

Plain data is None, a bool, a number, a string or a list of these. A difference says by its own looks what it means, so
that a reader needs to know nothing of what the data is about, and recordings of newer versions stay readable:

    0               as it was
    a number        so much more (where a number was)
    a string, null, true, false    this instead
    [x]             x instead
    [d, e, ...]     the differences of a list's items, item by item; two at least
    {"rows": [...]}    the new rows of a list, made from the old ones, one after another:
        n           the next n rows are as they were
        [d, e, ...] the next row, with these differences
        {"at": i}   go on with the old row i
        {"next": n, "of": [...]}   the next n rows, with these differences, column by column
        {"new": n, "of": [...]}    n rows that are new, column by column:
            [x, ...]         one value a row
            0, "x", null, {"rows": ...} ... all have the same
            {"all": x}       and that is a list
            {"by": [x, ...]} the first one's, and how much more each has than the one before
            {"e": k, "of": [x, ...]}    numbers, in units of 10 ** -k
            {"words": [...]} strings: new ones as they are, others by their place among those that came like this
            {"of": [...]}    lists, column by column
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

Plain = Any
"""None, bool, int, float, str, or a list of these."""

Delta = Any

SAME = 0

MOST_ROWS = 100_000
"""A list is never longer: a file from a stranger cannot fill the memory with a few bytes."""

MOST_CELLS = 20_000_000
"""Rows and their values that a segment may spread out into, of all its snapshots together: likewise."""

DECIMALS = 9
"""Sums of recorded numbers are right to so many."""


class Broken(ValueError):
    """A difference that does not fit what it is applied to."""


class Words:
    """Strings that came before in a segment, by number: the same on the way in as on the way out."""

    def __init__(self, said: Sequence[str] = ()) -> None:
        self.said = list(said)
        self._places = {word: place for place, word in enumerate(said)}
        self._room = MOST_CELLS

    def spread(self, cells: int) -> None:
        """Note that a few bytes became so many cells. Raises Broken beyond MOST_CELLS of them."""
        self._room -= cells
        if cells < 0 or self._room < 0:
            raise Broken(f"more than {MOST_CELLS:,} values in a segment")

    def put(self, word: str | None) -> int | str | None:
        """What stands for a string in a column."""
        if word is None:
            return None
        place = self._places.get(word)
        return self._add(word) if place is None else place

    def get(self, told: Any) -> str | None:
        """The string that it stands for. Raises Broken."""
        if told is None:
            return None
        if isinstance(told, str):
            return self._add(told)
        if not isinstance(told, int) or not 0 <= told < len(self.said):
            raise Broken(f"there is no word {told}")
        return self.said[told]

    def _add(self, word: str) -> str:
        self._places[word] = len(self.said)
        self.said.append(word)
        return word


def number_delta(old: Plain, new: Plain) -> Delta:
    """The difference of two leaves, of which new is a number and old may be anything."""
    if _is_number(old):
        difference = _plus(new, -old)
        if difference and _plus(old, difference) == new:
            return difference
    return [new]


def columns(rows: Sequence[list[Plain]], words: Words | None) -> list[Any]:
    """New rows of one length, one at least, column by column; words None: strings stay as they are."""
    return [_column(values, words) for values in zip(*rows, strict=True)]


def even(deltas: Sequence[list[Delta]]) -> list[list[Delta]]:
    """Differences of rows, two items each at least, made equally long, down to the lists in them."""
    widest = max(map(len, deltas))
    padded = [delta + [SAME] * (widest - len(delta)) for delta in deltas]
    return [list(row) for row in zip(*(_even_column(values) for values in zip(*padded, strict=True)), strict=True)]


def _even_column(values: Sequence[Delta]) -> Sequence[Delta]:
    lists = [value for value in values if isinstance(value, list) and len(value) > 1]
    if not lists or any(value is not SAME for value in values if not isinstance(value, list) or len(value) < 2):
        return values
    return even([value if isinstance(value, list) else [SAME, SAME] for value in values])


def _column(values: Sequence[Plain], words: Words | None) -> Any:
    first = values[0]
    if all(type(value) is type(first) and value == first for value in values):
        return {"all": first} if isinstance(first, list) else first
    if words is not None and all(value is None or isinstance(value, str) for value in values):
        return {"words": [words.put(value) for value in values]}
    if isinstance(first, list) and first and all(isinstance(v, list) and len(v) == len(first) for v in values):
        return {"of": columns(values, words)}
    if all(map(_is_number, values)):
        return _numbers(values)
    return list(values)


def _numbers(values: Sequence[float]) -> Any:
    if all(isinstance(value, int) for value in values):
        steps = [values[0], *(later - earlier for earlier, later in pairwise(values))]
        shorter = sum(len(str(step)) for step in steps) < sum(len(str(value)) for value in values)
        return {"by": steps} if shorter else list(values)
    places = max(len(repr(value).partition(".")[2]) for value in values)
    units = [round(value * 10**places) for value in values]
    if "e" not in "".join(map(repr, values)) and _of_units(units, places) == list(values):
        return {"e": places, "of": units}
    return list(values)


def _of_units(units: Sequence[int], places: int) -> list[float]:
    scale = 10**places
    return [unit // scale if unit % scale == 0 else round(unit / scale, places) for unit in units]


def applied(old: Plain, delta: Delta, words: Words) -> Plain:
    """What old has become. Raises Broken where the difference does not fit; old stays as it was."""
    if _is_number(delta):
        if delta == SAME:
            return old
        if not _is_number(old):
            raise Broken(f"a number is added to {type(old).__name__}")
        return _plus(old, delta)
    if isinstance(delta, list):
        return delta[0] if len(delta) == 1 else _items(old, delta, words)
    if isinstance(delta, dict):
        return _rows(old, delta.get("rows"), words)
    return delta


def _is_number(value: Plain) -> bool:
    return type(value) is int or type(value) is float


def _plus(one: float, other: float) -> float:
    total = one + other
    if isinstance(total, int):
        return total
    total = round(total, DECIMALS)
    return int(total) if total.is_integer() else total


def _items(old: Plain, delta: list[Delta], words: Words) -> Plain:
    if _still(delta):
        return old
    if not isinstance(old, list):
        raise Broken(f"differences of items, of {type(old).__name__}")
    changed = old.copy()
    for place, change in enumerate(delta):
        _change(changed, place, change, words)
    return changed


def _change(items: list[Plain], place: int, change: Delta, words: Words) -> None:
    if _still(change):
        return
    if place >= len(items):
        raise Broken("more differences than there are items")
    items[place] = applied(items[place], change, words)


def _still(change: Delta) -> bool:
    """Whether nothing has changed, be it said once or, where even() made it as long as its neighbours, item by item."""
    if isinstance(change, list):
        return len(change) > 1 and all(map(_still, change))
    return type(change) is int and change == SAME


def _rows(old: Plain, steps: Any, words: Words) -> list[Plain]:
    if not isinstance(old, list) or not isinstance(steps, list):
        raise Broken("rows are made of what are none")
    new: list[Plain] = []
    place = 0
    for step in steps:
        if isinstance(step, int):
            words.spread(step)
            new += old[place : place + step]
            place += step
        elif isinstance(step, list):
            new.append(applied(_row(old, place), step, words))
            place += 1
        elif "at" in step:
            place = step["at"]
            _row(old, place)
        elif "next" in step:
            new += _changed(old[place : place + step["next"]], step["next"], step["of"], words)
            place += step["next"]
        else:
            new += _table(step["new"], step["of"], words)
        if len(new) > MOST_ROWS:
            raise Broken(f"a list of more than {MOST_ROWS:,} rows")
    return new


def _row(rows: list[Plain], place: Any) -> Plain:
    if not isinstance(place, int) or not 0 <= place < len(rows):
        raise Broken(f"there is no row {place}")
    return rows[place]


def _changed(old: list[Plain], count: Any, told: Any, words: Words) -> list[Plain]:
    """So many rows with their differences, which are told column by column: in most columns nothing has changed."""
    if len(old) != count or len(told) < 2 or not all(isinstance(row, list) for row in old):
        raise Broken(f"{count} rows are changed, and there are {len(old)} like these")
    words.spread(count * len(told))
    new: list[list[Plain]] = [row.copy() for row in old]
    for place, column in enumerate(told):
        if not _still(column):
            for row, change in zip(new, _values(column, count, words), strict=True):
                _change(row, place, change, words)
    return new


def _table(count: Any, told: Any, words: Words) -> list[list[Any]]:
    """The rows of columns()."""
    if not isinstance(count, int) or not 0 < count <= MOST_ROWS:
        raise Broken(f"{count} rows")
    words.spread(count * (1 + len(told)))
    return [list(row) for row in zip(*(_values(column, count, words) for column in told), strict=True)]


def _values(column: Any, count: int, words: Words) -> list[Plain]:
    """The values of a column, one a row."""
    if not isinstance(column, list | dict):
        return [column] * count
    match column:
        case list():
            found = column
        case {"rows": _}:
            found = [column] * count
        case {"all": value}:
            found = [value] * count
        case {"by": list(steps)}:
            found = list(accumulate(steps))
        case {"words": list(told)}:
            found = [words.get(each) for each in told]
        case {"e": int(places), "of": list(units)} if 0 <= places <= DECIMALS:
            found = _of_units(units, places)
        case {"of": list(inner)}:
            found = _table(count, inner, words)
        case _:
            raise Broken("a column of nothing")
    if len(found) != count:
        raise Broken(f"{len(found)} values for {count} rows")
    return found
