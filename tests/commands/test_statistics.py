"""How it went, as a table, as CSV and on a page whose figures are those of the database."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import pytest

from crewtop.commands.cost import Shown
from crewtop.commands.statistics import MOST_POINTS, print_statistics, step_of, write_report
from crewtop.config import Configuration, load
from crewtop.model.errors import Refused
from crewtop.model.pricing import Tokens
from crewtop.model.task import RunOutcome
from crewtop.plain.svg import Series, bars, even_top, lines
from crewtop.store import ledger
from crewtop.store.database import Database
from crewtop.store.housekeeping import MINUTES_SECONDS
from tests.store.helpers import call, end, one, put, take

HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(2)> \x1b[2J"
HOSTILE_ERROR = "\"'><svg onload=alert(3)> api_key=sk-abcdefghijklmnopqrstuvwxyz123456"


@pytest.fixture
def configuration(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configuration:
    monkeypatch.chdir(tmp_path)
    return load(None, {"postgres": dsn})


async def some(database: Database) -> None:
    for crew, outcome in (("a", RunOutcome.COMPLETED), (HOSTILE, RunOutcome.COMPLETED), (HOSTILE, RunOutcome.FAILED)):
        await put(database, crew, queue="support")
        [claim] = await take(database, crews=(crew,))
        cost = Decimal("0.125") if outcome is RunOutcome.COMPLETED else None
        await ledger.record_calls(database, [call(claim, tokens=Tokens(10, 0, 0, 5, 0), cost=cost, model="m<b>")])
        await end(database, claim, outcome, terminal=True, error=HOSTILE_ERROR if cost is None else None)


@dataclass
class Page(HTMLParser):
    """What a browser makes of a page: its elements, and the cells of its tables by row: words and exact figures."""

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    tables: dict[str, dict[str, list[tuple[str, str]]]] = field(default_factory=dict)
    heads: dict[str, list[str]] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._table, self._row, self._exact, self._text = "", "", "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "line", "rect", "polyline", "circle"):
            self.open.append(tag)
        if tag == "table":
            self._table = dict(attrs)["id"] or ""
            self.tables[self._table], self.heads[self._table] = {}, []
        self._text, self._exact = "", dict(attrs).get("title") or ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()
        if tag == "th" and "thead" in self.open:
            self.heads[self._table].append(self._text)
        elif tag == "th":
            self._row = self._text
            self.tables[self._table][self._row] = []
        elif tag == "td":
            self.tables[self._table][self._row].append((self._text, self._exact))

    def exact(self, table: str, row: str) -> dict[str, str]:
        return dict(zip(self.heads[table][1:], (exact for _, exact in self.tables[table][row]), strict=True))


async def read(configuration: Configuration, path: Path, since: str = "7d") -> tuple[str, Page]:
    assert await write_report(configuration, path, since) == 0
    text = path.read_text("utf-8")
    page = Page()
    page.feed(text)
    assert page.open == []
    return text, page


@pytest.mark.parametrize("since", ["30m", "7d"])
async def test_the_figures_of_the_page_are_those_of_the_database(
    database: Database, configuration: Configuration, tmp_path: Path, since: str
) -> None:
    await some(database)
    _, page = await read(configuration, tmp_path / "r.html", since)
    counts = "SELECT count(*)::text FROM crewtop.tasks WHERE status = $1"
    whole = page.exact("crews", "all")
    assert whole["done"] == await one(database, counts, "completed")
    assert whole["failed"] == await one(database, counts, "failed")
    assert Decimal(whole["cost"]) == await one(database, "SELECT sum(cost) FROM crewtop.llm_calls")
    assert int(whole["tokens"]) == 3 * 15
    assert float(whole["run p95"]) == pytest.approx(1.0, rel=0.01)
    assert whole["run n"] == "3"
    assert page.exact("queues", "support")["done"] == "2"
    assert page.exact("crews", "a")["success"] == "1.0"
    [failed] = page.tables["failures"].values()
    assert failed[0] == ("1", "1")
    assert page.tables["cost-by-model"]["openai/m<b>"][0] == ("3", "3")
    assert {"cost-by-crew", "cost-by-model", "crews", "queues", "failures"} == set(page.tables)
    assert sum(tag == "svg" for tag, _ in page.elements) >= 7
    assert page.tables["crews"]["all"][-3][0].startswith("~")  # of three durations


async def test_the_page_is_whole_in_itself_and_obeys_no_name(
    database: Database, configuration: Configuration, tmp_path: Path
) -> None:
    await some(database)
    text, page = await read(configuration, tmp_path / "r.html")
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img", "link", "iframe", "object", "embed", "foreignobject"}
    for _, attributes in page.elements:
        assert not any(name.startswith("on") or name in ("src", "href", "style") for name in attributes)
    assert "://" not in text
    assert "@import" not in text
    assert "url(" not in text
    assert "\x1b" not in text
    assert "abcdefghijklmnop" not in text  # a key in an error
    assert any("<script>alert(1)</script>" in row for row in page.tables["crews"])  # as text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


async def test_an_empty_system_has_a_page_too(configuration: Configuration, tmp_path: Path) -> None:
    _, page = await read(configuration, tmp_path / "r.html")
    assert page.exact("crews", "all")["success"] == ""
    assert page.tables["crews"]["all"][2][0] == "-"


async def test_a_file_that_cannot_be_written_and_a_time_that_is_none(
    configuration: Configuration, tmp_path: Path
) -> None:
    with pytest.raises(Refused, match=r"--html .*: No such file or directory: name a file in a folder"):
        await write_report(configuration, tmp_path / "none" / "r.html", "1d")
    with pytest.raises(Refused, match="--since 'soon' is no duration"):
        await write_report(configuration, tmp_path / "r.html", "soon")


async def test_a_table_for_people(
    database: Database,
    configuration: Configuration,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    await some(database)
    await print_statistics(configuration, "queue", "24h", Shown())
    said = capsys.readouterr().out
    assert said.startswith("finished by queue since ")
    for word in ("QUEUE", "SUCCESS", "66.7%", "RUN p95", "~1", "≥ $0.25", "~: of fewer than 20 durations"):
        assert word in said
    await print_statistics(configuration, "worker", "24h", Shown())
    said = capsys.readouterr().out
    assert "w1" in said
    assert "calls to models are not told apart by worker" in said


async def test_exact_figures_for_machines(
    database: Database, configuration: Configuration, capsys: pytest.CaptureFixture[str]
) -> None:
    await some(database)
    await print_statistics(configuration, "crew", "7d", Shown(csv=True))
    rows = {row["crew"]: row for row in csv.DictReader(io.StringIO(capsys.readouterr().out))}
    assert (rows["a"]["completed"], rows["a"]["cost_usd"], rows["a"]["tokens"], rows["a"]["run_n"]) == (
        "1",
        "0.125",
        "15",
        "1",
    )
    assert rows[HOSTILE]["unpriced_calls"] == "1"
    await print_statistics(configuration, "day", "7d", Shown(json=True))
    found = json.loads(capsys.readouterr().out)
    assert found["whole"]["completed"] == 2
    assert found["whole"]["cost"]["known_usd"] == "0.250"
    assert found["rows"][0]["run"]["p50_seconds"] == pytest.approx(1.0, rel=0.01)


def test_charts_are_few_enough_points_and_no_finer_than_what_is_known() -> None:
    for seconds in (60.0, 3_600.0, 86_400.0, MINUTES_SECONDS, 7 * 86_400.0, 366 * 86_400.0):
        step = step_of(seconds)
        assert seconds / step <= MOST_POINTS
        assert seconds <= MINUTES_SECONDS or step % 3_600 == 0


def test_a_line_has_gaps_where_nothing_is_known_and_a_chart_of_nothing_is_a_chart() -> None:
    drawn = lines([Series("x", "s1", [1.0, 2.0, None, 3.0])], ["a", "b", "c", "<d>"], str, "x")
    assert (drawn.count("<polyline"), drawn.count("<circle")) == (1, 1)
    assert "&lt;d&gt;" in drawn
    assert "<svg" in lines([Series("x", "s1", [])], [], str, "x")
    assert "<svg" in bars([], "x")


def test_a_bar_of_a_share_is_as_long_as_the_share() -> None:
    lengths = [
        float(width) for width in re.findall(r'width="([0-9.]+)"', bars([("q", 0.5, ""), ("r", 1.0, "")], "x", most=1))
    ]
    assert lengths[0] * 2 == lengths[1]
    assert bars([("q", 0.5, "")], "x", most=1).count(f'width="{lengths[0]}"') == 1


@pytest.mark.parametrize(
    ("most", "units", "top"),
    [
        (0, (1,), 2),
        (1, (1,), 2),
        (3, (1,), 4),
        (103, (1,), 120),
        (0.03, (60, 1), 0.04),
        (59, (60, 1), 60),
        (121, (60, 1), 240),
    ],
)
def test_a_scale_ends_at_an_even_figure(most: float, units: tuple[int, ...], top: float) -> None:
    assert even_top(most, units) == pytest.approx(top)
