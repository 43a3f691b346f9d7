"""Texts that leave the screen: all or nothing, masked, and in a terminal that is lent as a whole."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest
from textual.app import App

from crewtop.model.errors import Refused, Unavailable
from crewtop.tui import outside
from crewtop.tui.effects import LoadBody, Save, ShowInPager, Whole
from tests.tui.fixtures import Shop
from tests.tui.terminal import live

SECRET = "api_key=sk-live-abcdefgh12345678"
REST = Whole("text", "", LoadBody(1, None, "log", 0))


async def test_a_text_is_saved_masked_and_for_its_owner_alone(tmp_path: Path) -> None:
    said = await outside.save(Shop(), Save(Whole("text", f"told {SECRET}"), "told.txt"), tmp_path)
    path = tmp_path / "told.txt"
    assert said.endswith(str(path))
    assert "abcdefgh" not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="start crewtop in a folder that can be written to"):
        await outside.save(Shop(), Save(Whole("text", "told"), "told.txt"), tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


async def test_a_text_that_does_not_come_is_said_to_have_not_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "FETCH_SECONDS", 0.01)
    with pytest.raises(Unavailable, match=r"did not come within 0\.01 s"):
        await outside.save(Shop(hang=True), Save(REST, "told.txt"), tmp_path)


@pytest.mark.parametrize(("pager", "said"), [("less 'x", "No closing quotation"), ("no-such-pager", "not installed")])
async def test_a_pager_that_cannot_be_run_is_refused(pager: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        await outside.page(App(), Shop(), ShowInPager(Whole("text", "told")), {"PAGER": pager, "PATH": "/bin"})


@pytest.mark.xdist_group("pty")
def test_a_pager_has_the_terminal_for_itself(tmp_path: Path) -> None:
    """A title that changes meanwhile is told when the terminal is back."""
    go_on = tmp_path / "go_on"
    pager = tmp_path / "pager.py"
    pager.write_text(
        "import pathlib, sys, time\n"
        "print(len(sys.stdin.read()) > 0, 'in the pager', flush=True)\n"
        f"while not pathlib.Path({str(go_on)!r}).exists(): time.sleep(0.02)\n"
    )
    with live(PAGER=f"{sys.executable} {pager}") as terminal:
        terminal.see("RUNNING NOW")
        terminal.press("2")
        terminal.see("47802")
        terminal.press("jjjjjjjj\r")
        terminal.see("Analyst")
        terminal.press("i")
        terminal.see("Inputs")
        terminal.wait_ticks(2)
        terminal.press("v")
        terminal.see("in the pager")
        terminal.order("down")
        terminal.take()
        terminal.wait_ticks(3)
        assert terminal.take() == b""
        go_on.touch()
        terminal.see("connection refused")
        assert b"STALE" in terminal.take()
