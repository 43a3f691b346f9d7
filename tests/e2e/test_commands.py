"""The command line as scripts and people without a screen use it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from crewtop.cli import hoisted
from crewtop.model.task import RunOutcome
from crewtop.store.schema import SCHEMA_VERSION
from tests.e2e.conftest import Site
from tests.store.helpers import end, put, take


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (["tasks", "--data-dir", "d"], ["--data-dir", "d", "tasks"]),
        (["--data-dir=d", "tasks"], ["--data-dir=d", "tasks"]),
        (["tasks", "--config=c", "--json", "--redis", "r"], ["--config=c", "--redis", "r", "tasks", "--json"]),
        (["enqueue", "x", "--", "--config", "y"], ["enqueue", "x", "--", "--config", "y"]),
        (["tasks", "--config"], ["--config", "tasks"]),
        (["demo", "--ascii", "--theme", "x"], ["--ascii", "--theme", "x", "demo"]),
        ([], []),
    ],
)
def test_flags_mean_the_same_before_and_after_a_command(typed: list[str], read: list[str]) -> None:
    assert hoisted(typed) == read


async def test_a_task_from_the_command_line_and_back(site: Site) -> None:
    code, out, _ = await site.crewtop(
        "enqueue", "echo", "--input", "order=A-1", "--inputs-json", "-", "--queue", "q", "-p", "1", stdin='{"n": 1}'
    )
    assert (code, out) == (0, "1\n")
    assert await site.sql("SELECT inputs::text FROM crewtop.tasks") == '{"n": 1, "order": "A-1"}'
    code, out, _ = await site.crewtop("tasks", "--status", "pending", "--json")
    page = json.loads(out)
    assert (code, [(row["id"], row["queue"], row["priority"]) for row in page["rows"]]) == (0, [(1, "q", 1)])
    code, out, _ = await site.crewtop("show", "1")
    assert code == 0
    assert "echo" in out
    assert '"order": "A-1"' in out


async def test_actions_say_what_became_of_each_task_and_exit_with_one_if_any_was_refused(site: Site) -> None:
    await put(site.database, *"aaa", max_attempts=1)
    for claim in await take(site.database, limit=2):
        await end(site.database, claim, RunOutcome.FAILED, error="no")
    code, out, err = await site.crewtop("retry", "1", "3", "99", "--reason", "quota is back", "--yes")
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == "1: retried"
    assert lines[1].startswith("3: not retried: queued ")
    assert lines[2] == "99: not retried: there is no such task"
    assert err == "1 done, 2 refused (operation 1)\n"
    assert await site.crewtop("cancel", "1", "3", "-y") == (
        0,
        "1: cancelled\n3: cancelled\n",
        "2 done, 0 refused (operation 2)\n",
    )


async def test_without_yes_and_without_a_terminal_nothing_is_done(site: Site) -> None:
    await put(site.database, "a")
    code, out, err = await site.crewtop("cancel", "1")
    assert (code, out) == (2, "")
    assert "cancel 1 task: 1" in err
    assert "crewtop: nothing was changed: there is no terminal to ask on; add --yes" in err
    assert await site.sql("SELECT status FROM crewtop.tasks") == "pending"


async def test_without_a_terminal_crewtop_prints_one_plain_picture(site: Site) -> None:
    await put(site.database, "a", queue="see [bold]\x1b[2Jhere")
    code, out, err = await site.crewtop()
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    assert "see [bold]␛[2Jhere" in out


async def test_the_snapshot_as_json_has_every_field_and_no_secret(site: Site) -> None:
    await put(site.database, "a")
    code, out, _ = await site.crewtop("snapshot", "--json")
    picture = json.loads(out)
    assert code == 0
    assert {"at", "database", "postgres", "redis", "queues", "series", "workers", "running", "wait", "run"} <= set(
        picture
    )
    assert picture["queues"][0]["ready"] == 1
    assert picture["queues"][0]["wait"]["p95_seconds"] is None


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["tasks", "status:nope"], "status 'nope' is unknown: use one of waiting"),
        (
            ["tasks", "--sort", "size"],
            "sort 'size' is unknown: use newest, oldest, cost, tokens, priority, id, crew, queue",
        ),
        (["tasks", "stauts:failed"], "filter key 'stauts' is unknown: did you mean status"),
        (["tasks", "--view", "mine"], "no view is saved: '@mine' needs one under [views]"),
        (["tasks", "error:ghp_abcdefghijklmnopqrst"], "masked text cannot be searched for"),
        (["retry", "--filter", '""', "--yes"], "an empty filter would retry every task"),
        (["show", "42"], "there is no task 42: `crewtop tasks` lists them"),
        (["enqueue", "echo", "--input", "novalue"], "--input 'novalue' is not of the form key=value"),
        (["enqueue", "echo", "--inputs-json", "[1]"], "--inputs-json is a list: use an object"),
        (["enqueue", "echo", "--priority", "9"], "priority 9 is out of range: use 0 to 4, or critical"),
        (["--config", "/no/such.toml", "tasks"], "/no/such.toml: there is no such file"),
        (["enqueue", "echo", "--budget", "1e15"], "--budget 1e+15 is out of range"),
        (["enqueue", "echo", "--budget", "nan"], "--budget nan is out of range"),
        (["--redis", "localhost:6379", "tasks"], "redis: the URL is none: use redis://"),
        (["--postgres", "postgresql://u:hunt/er2@h/db", "tasks"], "postgres: the DSN cannot be read"),
        (["--postgres", "postgresql://u:hunter2@[::1/db", "tasks"], "postgres: the DSN cannot be read"),
    ],
)
async def test_a_mistake_is_one_line_and_exit_code_two(site: Site, arguments: list[str], complaint: str) -> None:
    code, out, err = await site.crewtop(*arguments)
    assert (code, out) == (2, "")
    assert complaint in err
    assert "Traceback" not in err
    assert "er2" not in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["stats", "--by", "luck"], "Error: Invalid value for '--by': 'luck' is not one of 'crew', 'queue', "),
        (["--colour", "blue", "stats"], "Error: Invalid value for '--colour': 'blue' is not one of 'auto', '16', "),
        (["record", "--list", "x"], "Error: Invalid value: --list takes no FILE: leave out x"),
    ],
)
async def test_a_command_line_that_cannot_be_read(site: Site, arguments: list[str], complaint: str) -> None:
    code, out, err = await site.crewtop(*arguments)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith(complaint)


async def test_a_saved_view_narrows_lists_and_actions(site: Site, tmp_path: Path) -> None:
    await put(site.database, "support", "research", "research", queue="q")
    config = tmp_path / "crewtop.toml"
    config.write_text('[views]\nmine = "crew:re* status:pending"\n')
    code, out, _ = await site.crewtop(
        "tasks", "--view", "mine", "queue:q", "--sort", "-id", "--json", "--config", str(config)
    )
    assert (code, [row["id"] for row in json.loads(out)["rows"]]) == (0, [3, 2])
    code, out, _ = await site.crewtop("cancel", "--filter", "@mine id:2", "--yes", "--config", str(config))
    assert code == 0
    assert await site.sql("SELECT array_agg(id) FROM crewtop.tasks WHERE status = 'cancelled'") == [2]
    assert await site.sql("SELECT scope FROM crewtop.operations") == "status:pending crew:re* id:2"


async def test_a_long_text_goes_whole_and_untouched_into_a_pipe(site: Site) -> None:
    """Cases C01 and C02: a list shows its beginning, a file gets all of it as it was."""
    await put(site.database, "a")
    [claim] = await take(site.database)
    text = json.dumps("see \x1b[2J " + "x" * 200_000, ensure_ascii=False)
    await end(site.database, claim, RunOutcome.COMPLETED, result=text, log_tail="last words")
    assert await site.crewtop("show", "1", "--body", "result") == (0, text + "\n", "")
    assert await site.crewtop("show", "1", "--body", "log") == (0, "last words\n", "")
    code, _, err = await site.crewtop("show", "1", "--body", "traceback")
    assert (code, err) == (2, "crewtop: no run of task 1 has a traceback: `crewtop show 1` tells its story\n")


async def test_a_reader_that_has_enough_is_no_failure(site: Site) -> None:
    process = await asyncio.create_subprocess_shell(
        f"{sys.executable} -m crewtop snapshot --json | head -c 2; echo ${{PIPESTATUS[0]}}",
        cwd=Path(__file__).parents[2], env=site.env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        executable="/bin/bash",
    )  # fmt: skip
    out, err = await process.communicate()
    assert out.split()[-1] == b"0"
    assert err == b""


async def test_a_pool_without_crews_says_so_at_once(site: Site) -> None:
    (site.folder / "crewtop.toml").write_text("")
    code, _, err = await site.crewtop("worker", "--burst")
    assert code == 2
    assert "no crews are registered" in err


async def test_db_check_and_init_say_what_there_is(site: Site, dsn: str) -> None:
    code, out, _ = await site.crewtop("db", "check")
    assert code == 0
    assert f"schema version {SCHEMA_VERSION}" in out
    await site.sql("DROP SCHEMA crewtop CASCADE")
    code, _, err = await site.crewtop("tasks")
    assert code == 2
    assert "no crewtop schema" in err
    assert "run `crewtop db init`" in err
    code, out, _ = await site.crewtop("db", "init")
    assert code == 0
    assert out.endswith(f"created, version {SCHEMA_VERSION}\n")
    assert (await site.crewtop("db", "init"))[1].endswith(f"already there, version {SCHEMA_VERSION}\n")


async def test_the_screens_process_never_imports_crewai(site: Site) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import sys, crewtop.cli, crewtop.commands.screen, crewtop.commands.pool, crewtop.tui.app;"
        "import crewtop.monitor.monitor;"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('crewai', 'openai')))",
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert out == b"[]\n"
