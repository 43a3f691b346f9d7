"""A replay with its time bar, as an operator sees it (pytest --snapshot-update renews the pictures)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from textual.pilot import Pilot

from crewtop.recording.reader import open_recording
from crewtop.recording.writer import Writer
from crewtop.tui.app import CrewtopApp, build
from crewtop.tui.options import ScreenOptions
from crewtop.tui.source import Source
from crewtop.tui.tape import Replayed, Tape
from tests.snapshots.pictures import settled
from tests.tui.fixtures import BUSY, INCIDENT, NOW


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: "{}x{}".format(*size))
def test_picture(size: tuple[int, int], tmp_path: Path, snap_compare: Any) -> None:
    writer = Writer(tmp_path / "incident.crewtop", "shop on db1", 1.0, 10**9)
    for second in range(0, 1_800, 10):
        writer.write(replace(INCIDENT if second > 900 else BUSY, at=NOW + timedelta(seconds=second)))
    writer.close()
    recording = open_recording(writer.path)
    tape = Tape(recording, NOW + timedelta(seconds=1_200), lambda: 0.0)
    source = cast(Source, Replayed(tape))
    options = ScreenOptions(read_only=True)
    app = build(lambda: source, options, colours="true", clock=lambda: 0.0, tape=tape)

    async def posed(pilot: Pilot[int]) -> None:
        await settled(cast(CrewtopApp, pilot.app), pilot)
        app.press("+")
        await settled(cast(CrewtopApp, pilot.app), pilot)

    assert snap_compare(app, terminal_size=size, run_before=posed)
