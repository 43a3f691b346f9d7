"""JSON that folds: a cursor on its rows, and keys that fold and unfold what is under it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crewtop.tui.folding import Folds, document
from crewtop.tui.reading import AT_ONCE_CHARACTERS, Reading
from tests.tui.fixtures import HOSTILE

ORDER = {"id": 7, "lines": [{"sku": "A"}, {"sku": "B"}], "note": "x", "empty": {}}


def reading(value: object, height: int = 40, cells: int = 60) -> Reading:
    made = Reading()
    made.set(json.dumps(value), "json")
    if made.rows(cells, height) is None:
        assert made.job is not None
        made.finish(made.job, made.job.rows())
    return made


def picture(made: Reading, height: int = 40, cells: int = 60) -> list[str]:
    """The rows as one sees them: '>' is the cursor, '-' and '+' before what is open and what is folded."""
    signs = {True: "-", False: "+", None: " "}
    return [
        (">" if (row.line, row.offset) == made.under else " ")
        + " " * row.indent
        + signs[row.opens]
        + row.text
        + row.beside
        for row in made.rows(cells, height) or []
    ]


def press(made: Reading, *commands: str) -> Reading:
    for command in commands:
        assert made.scroll(command) or made.fold(command) or command == "show"
        made.rows(60, 40)
    return made


ALL = [
    "-{",
    '   "id": 7,',
    '  -"lines": [',
    "    -{",
    '       "sku": "A"',
    "     },",
    "    -{",
    '       "sku": "B"',
    "     }",
    "   ],",
    '   "note": "x",',
    '   "empty": {}',
    " }",
]


def marked(rows: list[str], cursor: int) -> list[str]:
    return [(">" if i == cursor else " ") + row for i, row in enumerate(rows)]


FOLDED_LINES = [*ALL[:2], '  +"lines": […],  2 items', *ALL[10:]]


@pytest.mark.parametrize(
    ("commands", "rows", "cursor"),
    [
        ((), ALL, 0),
        (("down", "down"), ALL, 2),
        (("down", "down", "fold"), FOLDED_LINES, 2),
        (("down", "down", "show"), FOLDED_LINES, 2),
        (("down", "down", "show", "show"), ALL, 2),
        (("down", "down", "fold", "unfold"), ALL, 2),
        (("down", "down", "fold", "down"), FOLDED_LINES, 3),
        (("down", "down", "fold", "down", "up"), FOLDED_LINES, 2),
        (("down", "down", "down", "down", "fold"), ALL, 3),
        (("down", "down", "down", "down", "fold", "fold", "fold"), [*ALL[:3], "    +{…},  1 key", *ALL[6:]], 2),
        (("down", "show"), ALL, 1),
        (("last", "show"), ["+{…}  4 keys"], 0),
        (("fold",), ["+{…}  4 keys"], 0),
        (("fold_all",), FOLDED_LINES, 0),
        (("fold_all", "fold_all"), ALL, 0),
        (("last", "fold_all"), FOLDED_LINES, 5),
        (("down", "down", "down", "down", "fold_all"), FOLDED_LINES, 2),
        (("last",), ALL, 12),
    ],
)
def test_keys_fold_and_unfold(commands: tuple[str, ...], rows: list[str], cursor: int) -> None:
    assert picture(press(reading(ORDER), *commands)) == marked(rows, cursor)


def test_a_match_in_what_is_folded_is_unfolded() -> None:
    made = press(reading(ORDER), "fold_all")
    made.look('"B"')
    assert picture(made)[-8:] == [
        "     +{…},  1 key",
        "     -{",
        '>       "sku": "B"',
        "      }",
        "    ],",
        '    "note": "x",',
        '    "empty": {}',
        "  }",
    ]


def test_long_strings_wrap_and_end_their_rows_at_newlines() -> None:
    made = reading({"text": "one\ntwo " + "word " * 8}, cells=30)
    assert [row.text for row in made.rows(30, 40) or []] == [
        "{",
        '"text": "one\\n',
        "two word word word word ",
        'word word word word "',
        "}",
    ]


def test_a_backslash_before_an_n_is_no_newline() -> None:
    made = reading({"path": "C:\\new\\north"})
    assert [row.text for row in made.rows(60, 40) or []][1] == '"path": "C:\\\\new\\\\north"'


def test_the_cursor_goes_through_the_rows_of_a_long_string() -> None:
    made = reading({"text": "x" * 200}, height=4, cells=30)
    for _ in range(5):
        made.scroll("down")
    assert picture(made, 4, 30)[-1].startswith(">")
    made.scroll("last")
    assert picture(made, 4, 30)[-1] == "> }"


def test_secrets_are_masked_by_the_name_of_their_key_and_by_their_shape() -> None:
    value = {
        "password": "hunter2hunter2",
        "note": "key sk-proj-Zx81kQ9vTq0aa7bLm4f2a here",
        "db": "postgres://u:pw@h/d",
    }
    shown = "\n".join(picture(reading(value)))
    assert "••••" in shown
    for secret in ("hunter2h", "Zx81kQ9v", ":pw@"):
        assert secret not in shown


def test_a_secret_is_not_found_by_searching_for_it() -> None:
    made = reading({"password": "hunter2hunter2"})
    made.look("hunter2h")
    assert made.search.said == "no match for 'hunter2h'"


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_keys_and_values_are_shown_and_obeyed_nowhere(text: str) -> None:
    made = press(reading({text: [text, {"a": text}]}), "down", "show")
    assert all(row.isprintable() for row in picture(made) + picture(press(made, "show")))


@pytest.mark.parametrize("value", [[], {}, 7, None, True, "text"])
def test_what_holds_nothing_does_not_fold(value: object) -> None:
    made = reading(value)
    assert not made.folds
    assert not made.fold("show")


def test_a_megabyte_is_prepared_elsewhere_and_then_folds() -> None:
    value = {"rows": [{"n": i, "text": "x" * 60} for i in range(10_000)]}
    text = json.dumps(value)
    made = Reading()
    made.set(text, "json")
    assert len(text) > 800_000 > AT_ONCE_CHARACTERS
    assert made.rows(80, 20) is None
    assert made.job is not None
    made.finish(made.job, made.job.rows())
    press(made, "fold_all")
    assert picture(made) == [">-{", '   +"rows": […]  10,000 items', "  }"]
    made.look('"n": 9999')
    assert '"n": 9999,' in [row.text for row in made.rows(80, 20) or []]
    assert made.search.said == "match 1 of 1"


def test_nothing_is_lost_between_the_beginning_and_the_end() -> None:
    made = reading(ORDER)
    assert json.loads(made.text) == ORDER


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=25,
)


@given(_JSON, st.lists(st.sampled_from(["up", "down", "fold", "unfold", "show", "fold_all", "last", "page_up"])))
@settings(max_examples=150, deadline=None)
def test_no_keys_in_no_order_lose_the_cursor(value: object, commands: list[str]) -> None:
    made = reading(value, height=5, cells=20)
    for command in commands:
        made.scroll(command)
        made.fold(command)
        rows = made.rows(20, 5) or []
        assert 1 <= len(rows) <= 5
        assert made.under is None or made.under in [(row.line, row.offset) for row in rows]


@given(_JSON.filter(lambda value: isinstance(value, list | dict) and bool(value)), st.integers(-30, 30))
@settings(max_examples=150, deadline=None)
def test_there_and_back_again(value: object, rows: int) -> None:
    folds = Folds(document(json.dumps(value, indent=2), 20, nested=True))
    for line in range(0, len(folds.document.lines), 3):
        folds.fold(line, True)
    place = folds.nearest((len(folds.document.lines) // 2, 0))
    moved = folds.moved(place, rows)
    if moved not in ((0, 0), folds.last):
        assert folds.moved(moved, -rows) == place
