"""Charts: the dots, the axes, and the page of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from crewtop.model.snapshot import Snapshot
from crewtop.tui.axes import AMOUNTS, COUNTS, LENGTHS, scale, times
from crewtop.tui.charts import Curve, plot, stretched
from crewtop.tui.manner import Manner
from crewtop.tui.views.charts import Charts
from tests.tui.fixtures import BUSY, EMPTY, SERIES

UNKNOWN = {"oldest": None, "wait_p50": None, "wait_p99": None, "run_p50": None, "run_p99": None}
PARTLY = replace(BUSY, series=tuple(replace(point, **UNKNOWN) for point in SERIES))
FULL = replace(BUSY, series=tuple(replace(point, failed=2, oldest=10.0 + i) for i, point in enumerate(SERIES)))


def text(curves: list[Curve], cells: int, height: int, ascii_only: bool = False) -> list[str]:
    return ["".join(span.text for span in spans) for spans in plot(curves, cells, height, ascii_only)]


def page(snapshot: Snapshot = FULL, ascii_only: bool = False) -> Charts:
    view = Charts(Manner(ascii_only))
    view.take(snapshot)
    return view


def shown(view: Charts, width: int, height: int) -> list[str]:
    return [line.text for line in view.lines(width, height)]


def test_an_area_is_filled_to_its_value_and_a_gap_is_left_empty() -> None:
    values = (8.0, 8.0, 3.0, 3.0, None, None, 0.0, 0.0)
    assert text([Curve(values, 8.0, "accent")], 4, 2) == ["⣿   ", "⣿⣿ ⣀"]


def test_textures_tell_curves_apart_without_colour() -> None:
    curves = [Curve((4.0,) * 2, 4.0, "muted", "sparse"), Curve((2.0,) * 2, 4.0, "accent")]
    drawn = text(curves, 1, 2)
    assert drawn[1] == "⣿"
    assert drawn[0] not in ("⣿", " ")
    ascii_drawn = [
        text([Curve((1.0,), 1.0, "text", texture)], 1, 1, True)[0] for texture in ("solid", "half", "sparse", "line")
    ]
    assert ascii_drawn == ["#", "+", ".", "*"]


def test_a_line_has_its_cells_for_itself_and_is_joined() -> None:
    area, line = Curve((8.0,) * 4, 8.0, "accent"), Curve((0.0, 0.0, 8.0, 8.0), 8.0, "watch", "line")
    spans = plot([area, line], 2, 2)
    assert [[(span.text, span.role) for span in row] for row in spans] == [
        [("⣿", "accent"), ("⡏", "watch")],
        [("⣀⠇", "watch")],
    ]


def test_bars_have_air_between_them_where_they_are_wide_enough() -> None:
    assert stretched([1.0, 2.0], 8, parted=True) == [1.0, 1.0, 1.0, None, 2.0, 2.0, 2.0, None]
    assert stretched([1.0, 2.0], 4, parted=True) == [1.0, 1.0, 2.0, 2.0]
    assert stretched([1.0, None, 2.0], 3) == [1.0, None, 2.0]


@pytest.mark.parametrize(
    ("most", "height", "steps", "top", "ticks"),
    [
        (1_214, 8, COUNTS, 1_250, (0, 500, 1_000)),
        (3, 4, COUNTS, 3, (0, 2)),
        (7.5, 4, LENGTHS, 7.5, (0, 5)),
        (372, 8, LENGTHS, 390, (0, 120, 240, 360)),
        (3.4, 6, AMOUNTS, 3.5, (0, 2)),
        (0, 4, COUNTS, 0, (0,)),
        (None, 4, COUNTS, 0, (0,)),
    ],
)
def test_values_are_told_in_round_numbers(
    most: float | None, height: int, steps: tuple[float, ...], top: float, ticks: tuple[float, ...]
) -> None:
    found = scale(most, height, steps)
    assert (found.top, found.ticks) == (top, ticks)


def test_times_are_those_of_the_clock() -> None:
    step, ticks = times(datetime(2026, 3, 14, 13, 47, 20, tzinfo=UTC), 900, 60)
    assert step == 300
    assert [f"{tick.at:%H:%M:%S}" for tick in ticks] == ["13:50:00", "13:55:00", "14:00:00"]
    assert [tick.cell for tick in ticks] == [10, 30, 50]


def test_the_page_has_values_times_and_a_legend() -> None:
    drawn = "\n".join(shown(page(), 200, 45))
    for words in ("Backlog", "Throughput", "Wait", "Run", "Spend pace", "oldest, right", "p50 0.2s", "p99 4s"):
        assert words in drawn
    for words in ("1,000│", "14:00", "$3.00│", "└"):
        assert words in drawn


def test_a_low_screen_shows_two_charts_at_a_time_and_leads_through_all() -> None:
    view = page()
    names = ("Backlog", "Throughput", "Wait", "Run", "Spend")
    titles = []
    for _ in range(5):
        titles.append([line.split()[0] for line in shown(view, 80, 19) if line.lstrip().startswith(names)])
        view.do("down", 19)
    assert titles[0] == ["Backlog", "Throughput"]
    assert titles[1] == ["Throughput", "Wait"]
    assert titles[3] == titles[4] == ["Run", "Spend"]


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("size", [(200, 45), (120, 35), (80, 19), (60, 15), (40, 6), (20, 3)])
def test_the_page_fits_every_screen(size: tuple[int, int], ascii_only: bool) -> None:
    lines = shown(page(ascii_only=ascii_only), *size)
    assert len(lines) <= max(6, size[1])
    if size[0] >= 40:
        assert max(map(len, lines)) <= size[0]
    assert not ascii_only or "".join(lines).isascii()


def test_the_picture_moves_only_when_a_bucket_is_over() -> None:
    view = page()
    before = shown(view, 120, 35)
    last = FULL.series[-1]
    filling = replace(last, at=last.at + timedelta(seconds=10), done=0)
    view.take(replace(FULL, series=(*FULL.series, filling)))
    assert shown(view, 120, 35) == before


def test_what_is_not_known_is_not_drawn() -> None:
    drawn = "\n".join(shown(page(PARTLY), 120, 35))
    assert "oldest, right" not in drawn
    assert "p50" not in drawn
    nothing = replace(PARTLY, series=tuple(replace(point, run_p95=None, wait_p95=None) for point in PARTLY.series))
    assert "nothing is known of this time" in "\n".join(shown(page(nothing), 120, 35))


def test_a_new_shop_says_when_its_charts_begin() -> None:
    assert "Nothing to draw yet" in "\n".join(shown(page(EMPTY), 80, 19))
