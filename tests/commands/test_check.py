"""What a monitoring system is told: a word, a line, figures, and an exit code."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crewtop.commands.check import MEASURES, Limit, Status, checked, limit
from crewtop.model.errors import Refused
from crewtop.model.snapshot import QueueRow, Snapshot
from tests.e2e.conftest import Site, site  # noqa: F401  a fixture
from tests.store.helpers import one, put
from tests.tui.fixtures import BUSY, EMPTY

QUEUE = QueueRow("support", ready=3, oldest=130.0, stuck=1, failed=4, ended=50, error_rate=0.04)


def picture(*queues: QueueRow) -> Snapshot:
    return replace(EMPTY, queues=queues)


@pytest.mark.parametrize(
    ("name", "typed", "expected"),
    [
        ("oldest", "5m", Limit(None, 300)),
        ("oldest", "90:2.5m", Limit(90, 150)),
        ("stuck", "0", Limit(None, 0)),
        ("error_rate", "2%:5", Limit(2, 5)),
        ("workers", "3:1", Limit(3, 1)),
    ],
)
def test_limits_as_typed(name: str, typed: str, expected: Limit) -> None:
    assert limit(MEASURES[name], typed) == expected


@pytest.mark.parametrize(
    ("name", "typed", "complaint"),
    [
        ("oldest", "5x", "--oldest '5x' is no limit: use CRIT or WARN:CRIT, such as 5m or 2m:5m"),
        ("stuck", "1:2:3", "--stuck '1:2:3' is no limit"),
        ("failed", "-1", "is no limit"),
        ("oldest", "", "is no limit"),
        ("oldest", "5m:2m", "turn the two around"),
        ("workers", "1:3", "turn the two around"),
        ("error_rate", "101%", "--error-rate 101%: more than all runs: use 0% to 100%"),
    ],
)
def test_what_is_no_limit_says_what_one_is(name: str, typed: str, complaint: str) -> None:
    with pytest.raises(Refused, match=complaint.replace("'", ".")):
        limit(MEASURES[name], typed)


@pytest.mark.parametrize(
    ("name", "typed", "status", "words"),
    [
        ("oldest", "2m:5m", Status.WARNING, "support: oldest 2m10s (at most 2m)"),
        ("oldest", "5m", Status.OK, "support: oldest 2m10s"),
        ("stuck", "0", Status.CRITICAL, "support: 1 stuck (at most 0)"),
        ("failed", "4", Status.OK, "support: 4 failed"),
        ("error_rate", "2%:5%", Status.WARNING, "support: 4% of runs failed (at most 2%)"),
        ("workers", "1", Status.CRITICAL, "support: 0 workers (at least 1)"),
    ],
)
def test_a_figure_beyond_its_limit(name: str, typed: str, status: Status, words: str) -> None:
    found, said, _ = checked(picture(QUEUE), "support", {name: limit(MEASURES[name], typed)})
    assert (found, said) == (status, words)


def test_the_worst_counts_and_comes_first() -> None:
    limits = {name: limit(MEASURES[name], typed) for name, typed in (("oldest", "2m:5m"), ("stuck", "0"))}
    status, said, data = checked(picture(QUEUE), None, limits)
    assert status is Status.CRITICAL
    assert said == "all queues: 1 stuck (at most 0), oldest 2m10s (at most 2m)"
    assert data == "oldest=130s;120;300 stuck=1;;0 failed=4 error_rate=4% workers=0"


def test_what_does_not_exist_is_no_zero() -> None:
    limits = {"oldest": Limit(1, 2), "error_rate": Limit(None, 5), "workers": Limit(2, 1)}
    status, said, data = checked(picture(QueueRow("support")), "support", limits)
    assert (status, said) == (Status.CRITICAL, "support: 0 workers (at least 1), nothing waits, no run has ended")
    assert data == "oldest=U;1;2 stuck=0 failed=0 error_rate=U;;5 workers=0;2:;1:"


def test_without_limits_it_is_judged_as_on_the_screen() -> None:
    quiet = QueueRow("support", paused=True)
    assert checked(picture(), None, {})[:2] == (Status.OK, "all queues: nothing is wrong")
    assert checked(picture(quiet), "support", {})[:2] == (Status.WARNING, "support: paused, 0 ready")
    failing = replace(QUEUE, name="other", error_rate=0.9)
    assert checked(picture(quiet, failing), "support", {})[0] is Status.WARNING
    assert checked(picture(quiet, failing), None, {})[0] is Status.CRITICAL


def test_a_queue_that_is_not_there() -> None:
    with pytest.raises(Refused, match="there is no queue suport: there are "):
        checked(BUSY, "suport", {})


async def test_one_line_and_an_exit_code(site: Site) -> None:  # noqa: F811
    await put(site.database, "echo", queue="support")
    await one(site.database, "UPDATE crewtop.tasks SET run_at = now() - interval '182 s'")
    code, out, err = await site.crewtop("check", "--queue", "support", "--oldest", "2m:5m", "--stuck", "0")
    assert (code, err) == (1, "")
    assert out.startswith("WARNING - support: oldest 3m")
    assert out.endswith("s;120;300 stuck=0;;0 failed=0 error_rate=U workers=0\n")
    assert out.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--queue", "no|ne"], "UNKNOWN - there is no queue no/ne: there are none yet\n"),
        (["--postgres", "postgresql://me:secret@127.0.0.1:9/x"], "UNKNOWN - postgres: "),
        (["--oldest", "soon"], "UNKNOWN - --oldest 'soon' is no limit"),
        (["--config", "/none.toml"], "UNKNOWN - "),
        (["--postgres", "postgresql://[::1"], "UNKNOWN - postgres: the DSN cannot be read: use postgresql://"),
        (["--timeout", "0"], "UNKNOWN - Invalid value for '--timeout': "),
        (["--nonsense"], "UNKNOWN - No such option: --nonsense"),
    ],
)
async def test_what_cannot_be_checked_is_unknown(site: Site, arguments: list[str], line: str) -> None:  # noqa: F811
    code, out, _ = await site.crewtop("check", *arguments)
    assert code == 3
    assert out.startswith(line)
    assert "secret" not in out


async def test_a_database_of_another_version_is_unknown_not_a_warning(site: Site) -> None:  # noqa: F811
    """As where crewtop is newer here than there: whatever goes wrong with the check itself is no state of the shop."""
    await one(site.database, "ALTER TABLE crewtop.alerts DROP COLUMN told")
    code, out, err = await site.crewtop("check")
    assert (code, err) == (3, "")
    assert out.startswith("UNKNOWN - ")
    assert "told" in out


async def test_no_database_at_all_is_unknown(site: Site) -> None:  # noqa: F811
    """As where CREWTOP_POSTGRES does not reach the monitor's user: in an empty one of its own all would be right."""
    data = site.folder / "data"
    for name in ("CREWTOP_POSTGRES", "CREWTOP_REDIS"):
        site.env.pop(name, None)
    code, out, _ = await site.crewtop("--data-dir", str(data), "check")
    said = f"no database is configured, and nobody uses the embedded one in {data}: set CREWTOP_POSTGRES"
    assert (code, out) == (3, f"UNKNOWN - {said}, or start a worker\n")
    assert not data.exists()
