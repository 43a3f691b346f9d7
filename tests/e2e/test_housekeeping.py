"""Schedules, roles and a pooler as a team meets them: by the command line and with real workers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from crewtop.store import schema
from tests.e2e.conftest import CONFIG, Site
from tests.pooler import pgbouncer

SCHEDULES = """
[schedules.nightly]
cron = "30 2 * * *"
zone = "Europe/Berlin"
crew = "echo"
inputs = {day = "today", api_key = "sk-abcdefghijklmnopqrstuvwx"}
missed = "once"

[schedules.off]
cron = "* * * * *"
crew = "echo"
enabled = false
"""


async def test_a_real_worker_puts_a_tick_in_and_runs_it(site: Site) -> None:
    (site.folder / "crewtop.toml").write_text(CONFIG + SCHEDULES)
    code, out, _ = await site.crewtop("schedules")
    assert (code, out.splitlines()) == (
        0,
        [
            "nightly: no worker has it yet: restart one with this configuration",
            "off: no worker has it yet: restart one with this configuration",
        ],
    )
    worker = site.worker()
    await site.until("(SELECT count(*) = 2 FROM crewtop.schedules)")
    worker.terminate()
    worker.wait()
    await site.sql("UPDATE crewtop.schedules SET next_at = now() - interval '3 days'")
    site.worker()
    await site.until("EXISTS (SELECT FROM crewtop.tasks WHERE schedule = 'nightly' AND status = 'completed')")
    assert await site.sql("SELECT count(*) FROM crewtop.tasks") == 1
    code, out, _ = await site.crewtop("schedules")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].split() == ["NAME", "CRON", "ZONE", "NEXT", "LAST", "TASK", "CREW"]
    assert lines[1].startswith("nightly  30 2 * * *  Europe/Berlin  2")
    assert "1 completed" in lines[1]
    assert lines[2].split()[:8] == ["off", "*", "*", "*", "*", "*", "UTC", "off"]
    code, out, _ = await site.crewtop("schedules", "--json")
    nightly = json.loads(out)["schedules"][0]
    assert (nightly["name"], nightly["zone"], nightly["last_task"]) == ("nightly", "Europe/Berlin", 1)
    assert "sk-abc" not in out
    _, out, _ = await site.crewtop("show", "1")
    assert "schedule nightly" in out


async def test_a_wrong_schedule_is_one_line_at_the_start(site: Site) -> None:
    (site.folder / "crewtop.toml").write_text(CONFIG + SCHEDULES.replace("30 2", "30 25"))
    code, _, err = await site.crewtop("worker", "--burst")
    assert code == 2
    assert err.count("\n") == 1
    assert "crewtop.toml: schedules.nightly: cron '30 25 * * *' cannot be used (Bad hour): use five fields" in err


async def test_a_database_of_an_older_version_is_upgraded_by_one_command(site: Site) -> None:
    old = (Path(__file__).parents[1] / "store" / "schema_v1.sql").read_text()
    async with site.database.connection() as connection:
        await connection.execute("DROP SCHEMA crewtop CASCADE")
        await connection.execute(old)
    for command in (["db", "check"], ["worker", "--burst"]):
        code, _, err = await site.crewtop(*command)
        assert code == 2
        assert "has schema version 1" in err
        assert "run `crewtop db upgrade`" in err
    for said in ("upgraded from version 1", "already there"):
        code, out, err = await site.crewtop("db", "upgrade")
        assert ("producers and screens wait" in err) == (said != "already there")
        assert (code, out.split(": ", 1)[1]) == (0, f"{said}, version {schema.SCHEMA_VERSION}\n")
    assert (await site.crewtop("enqueue", "echo"))[0] == 0


@pytest.mark.xdist_group("roles")
async def test_a_viewer_on_the_command_line_looks_and_is_refused(site: Site) -> None:
    code, printed, _ = await site.crewtop("db", "roles")
    assert code == 0
    assert "CREATE ROLE" in printed
    assert (await site.crewtop("db", "roles", "--apply"))[0] == 0
    name = f"viewer_{os.getpid()}"
    await site.sql(f"CREATE ROLE {name} LOGIN IN ROLE crewtop_viewer")
    await site.crewtop("enqueue", "echo")
    owner = site.env["CREWTOP_POSTGRES"]
    site.env["CREWTOP_POSTGRES"] = owner.replace("://postgres@", f"://{name}@")
    code, out, _ = await site.crewtop("snapshot", "--json")
    assert (code, json.loads(out)["read_only"]) == (0, True)
    code, out, err = await site.crewtop("cancel", "1", "--yes")
    assert (code, out) == (2, ""), err
    assert "permission denied" in err
    assert await site.sql("SELECT status FROM crewtop.tasks") == "pending"
    await site.sql(f"DROP ROLE {name}")


async def test_everything_works_through_pgbouncer_in_transaction_mode(site: Site) -> None:
    """Case C15: two server connections for all, without a word in the configuration, and without Redis."""
    with pgbouncer(site.env["CREWTOP_POSTGRES"]) as through:
        site.env |= {"CREWTOP_POSTGRES": through, "CREWTOP_REDIS": "unix:///nowhere"}
        code, out, _ = await site.crewtop("db", "check")
        assert code == 0
        assert "pooled: nothing is prepared" in out
        assert "down, polling every 0.2 s" in out
        assert (await site.crewtop("enqueue", "echo", "--input", "n=1"))[0] == 0
        for _ in range(11):
            await site.queue.enqueue("echo", {})
        site.worker("--slots", "4")
        await site.until("(SELECT count(*) = 12 FROM crewtop.tasks WHERE status = 'completed')")
        failing = await site.queue.enqueue("fail", {}, max_attempts=1)
        await site.until("(SELECT status = 'failed' FROM crewtop.tasks WHERE id = $1)", failing)
        code, out, _ = await site.crewtop("retry", str(failing), "--yes")
        assert (code, out) == (0, f"{failing}: retried\n")
        await site.until("(SELECT failed_runs = 2 FROM crewtop.tasks WHERE id = $1)", failing)
        code, out, _ = await site.crewtop("snapshot", "--json")
        assert (code, json.loads(out)["postgres"]["up"]) == (0, True)
        assert 'event=postgres pooled then="nothing is prepared"' in site.logs()
        assert "traceback" not in site.logs().lower()
