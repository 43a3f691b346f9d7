"""Alerts as people meet them: a real worker that judges and tells, and the commands."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Site
from tests.monitor.hooks import listening
from tests.store.helpers import put


def configured(site: Site, text: str) -> None:
    file = site.folder / "crewtop.toml"
    file.write_text(file.read_text() + text)


def pager(site: Site) -> tuple[Path, str]:
    """A command that notes what it gets, a line each, and how it is configured."""
    noted, script = site.folder / "noted", site.folder / "page.py"
    script.write_text(f"import sys; open({str(noted)!r}, 'a').write(sys.stdin.read() + chr(10))")
    return noted, f"[alerts.deliver.pager]\ncommand = {json.dumps([sys.executable, str(script)])}\n"


async def test_a_worker_tells_of_a_crew_that_nobody_has_and_of_its_end(site: Site) -> None:
    noted, delivery = pager(site)
    configured(site, delivery + '[alerts.rules."no worker"]\nfor_seconds = 0\nclear_seconds = 0\n')
    [stranger] = await put(site.database, "stranger")
    await site.sql("UPDATE crewtop.tasks SET run_at = now() - interval '1 min'")
    site.worker()

    async def told() -> list[tuple[str, str]]:
        lines = noted.read_text().splitlines() if noted.exists() else []
        return [(json.loads(line)["alert"]["event"], json.loads(line)["alert"]["rule"]) for line in lines]

    async def fired() -> bool:
        return ("fired", "no worker") in await told()

    await site.until(fired)
    code, out, _ = await site.crewtop("alerts")
    assert code == 0
    assert "firing" in out
    assert "no live worker has the crew stranger: 1 task waits " in out
    assert re.search(r"^the rules of this machine: worker \S+ judges, by its own$", out, re.M)
    assert (await site.crewtop("cancel", str(stranger), "--yes"))[0] == 0

    async def ended() -> bool:
        return ("ended", "no worker") in await told()

    await site.until(ended)
    assert (await told()).count(("fired", "no worker")) == 1


async def test_silences_from_the_command_line(site: Site) -> None:
    code, out, _ = await site.crewtop(
        "alerts", "silence", "stuck", "--queue", "sup*", "--for", "8h", "--reason", "deploy"
    )
    assert (code, out) == (0, "silence 1: nobody is told of stuck on sup* for 8h\n")
    code, out, _ = await site.crewtop("alerts", "--json")
    listed = json.loads(out)
    assert [(s["rule"], s["subject"], s["reason"]) for s in listed["silences"]] == [("stuck", "sup*", "deploy")]
    assert "oldest" in {rule["name"] for rule in listed["rules"]}
    code, out, _ = await site.crewtop("alerts")
    assert "no alert has fired" in out
    assert "deploy" in out
    assert "the rules of this machine: no worker judges now" in out
    assert "this machine names nobody to tell beside the screen: [alerts.deliver.<name>]" in out
    code, _, err = await site.crewtop("alerts", "unsilence", "stuck")
    assert (code, err) == (2, "crewtop: rule stuck on * is not silenced: `crewtop alerts` lists silences\n")
    code, out, _ = await site.crewtop("alerts", "unsilence", "1")
    assert (code, out) == (0, "silence 1 is over: stuck on sup*\n")
    code, _, err = await site.crewtop("alerts", "silence", "stuck", "--for", "soon")
    assert code == 2
    assert "--for soon is no duration: use 1s to 366d" in err
    code, out, err = await site.crewtop("alerts", "silence", "stuk", "--for", "1h")
    assert (code, out) == (0, "silence 2: nobody is told of stuk on * for 1h\n")
    assert err.startswith("note: no rule is called stuk here: there are ")
    assert "stuck, " in err


async def test_a_test_goes_to_everybody_and_says_who_was_not_reached(site: Site) -> None:
    code, _, err = await site.crewtop("alerts", "test")
    assert code == 2
    assert "there is nobody to tell" in err
    noted, delivery = pager(site)
    with listening() as hook:
        configured(site, f'{delivery}[alerts.deliver.ops]\nwebhook = "{hook.url}"\n')
        code, out, _ = await site.crewtop("alerts", "test")
        assert (code, out) == (0, "pager: delivered\nops: delivered\n")
        assert hook.got[0]["alert"]["event"] == json.loads(noted.read_text())["alert"]["event"] == "test"
        hook.status, hook.body = 403, b"invalid_token"
        code, out, err = await site.crewtop("alerts", "test")
        assert (code, out, err) == (1, "pager: delivered\n", "ops: not delivered: HTTP 403: invalid_token\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[alerts.deliver.ops]\nwebhook = "ftp://user:hushhush@h"', "alerts.deliver.ops.webhook: use http:// or https://"),
        ("[alerts.deliver.ops]\ntimeout_seconds = 3", "alerts.deliver.ops: name a webhook or a command"),
        ('[alerts.rules.x]\nwatches = "luck"', "alerts.rules.x.watches: 'luck' is unknown: use one of store, "),
        ("[alerts.rules.x]\nabove = 3", "alerts: rules.x: say what it watches: one of store, "),
        ('[alerts.rules.x]\nwatches = "backlog"', "alerts: rules.x: above is missing: say from which backlog on"),
        ("[alerts.rules.late]\nabove = 3", "alerts: rules.late: late is no figure: leave out above and clear_below"),
        ("[alerts.rules.spend]\nclear_below = 99", "alerts: rules.spend: clear_below 99 is over above 50"),
        ('[alerts.rules.late]\ndeliver = ["x"]', "alerts: rules.late: deliver 'x' is not in [alerts.deliver]"),
    ],
)  # fmt: skip
async def test_a_mistake_in_the_configuration_names_the_key_and_what_is_allowed(
    site: Site, text: str, said: str
) -> None:
    configured(site, text)
    code, _, err = await site.crewtop("alerts")
    assert code == 2
    assert said in err
    assert "hushhush" not in err
