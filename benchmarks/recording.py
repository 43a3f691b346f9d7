"""A day's recording of a busy fleet: how large it gets, and how long it takes to show any second of it.

`python -m benchmarks.recording [SECONDS]`: 86,400 by default, which takes about ten minutes of one core.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from benchmarks.fleet import fleet
from benchmarks.servers import table
from crewtop.model.snapshot import Snapshot
from crewtop.recording.reader import open_recording
from crewtop.recording.shapes import shape_of
from crewtop.recording.writer import Writer

DAY_SECONDS, SEEKS = 86_400, 200
LIMIT_MB, LIMIT_MS = 50, 300
KEPT = 997
"""Each such snapshot is kept to be compared with what the recording shows."""


def main(seconds: int = DAY_SECONDS) -> None:
    """Print the figures, and compare what is read with what was written."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "day.crewtop"
        kept, spent = _written(path, seconds)
        size = path.stat().st_size
        _compared(path, kept)
        wall, cpu = _seeks(path)
    table(
        f"A recording of {seconds:,} snapshots, 50 transitions a second, 20 runs at once",
        [
            ("what", "measured", "limit"),
            ("size", f"{size / 1e6:.1f} MB", ""),
            ("size of a day", f"{size / seconds * DAY_SECONDS / 1e6:.1f} MB", f"{LIMIT_MB} MB"),
            ("CPU to write a snapshot", f"{spent / seconds * 1e3:.2f} ms", ""),
            (f"any second shown, median of {SEEKS}", f"{statistics.median(wall) * 1e3:.0f} ms", f"{LIMIT_MS} ms"),
            ("the slowest", f"{max(wall) * 1e3:.0f} ms", f"{LIMIT_MS} ms"),
            ("CPU of it, median", f"{statistics.median(cpu) * 1e3:.0f} ms", ""),
            ("CPU of the slowest", f"{max(cpu) * 1e3:.0f} ms", ""),
        ],
    )  # fmt: skip


def _written(path: Path, seconds: int) -> tuple[list[Snapshot], float]:
    """Some of the snapshots, and the CPU seconds that it took to write all of them."""
    writer = Writer(path, "shop on db1", 1.0, 10**10)
    kept, spent = [], 0.0
    for number, snapshot in enumerate(fleet(seconds)):
        began = time.process_time()
        writer.write(snapshot)
        spent += time.process_time() - began
        if number % KEPT == 0:
            kept.append(snapshot)
    writer.close()
    return kept, spent


def _compared(path: Path, kept: list[Snapshot]) -> None:
    shape, recording = shape_of(Snapshot), open_recording(path)
    for snapshot in kept:
        shown = recording.at(snapshot.at).snapshot
        assert shape.plain(shown) == shape.plain(snapshot), snapshot.at


def _seeks(path: Path) -> tuple[list[float], list[float]]:
    """Wall and CPU seconds from nothing to the snapshot, the file opened anew each time."""
    chance, whole = random.Random(3), open_recording(path)
    span = (whole.end - whole.begin).total_seconds()
    wall, cpu = [], []
    for _ in range(SEEKS):
        when = whole.begin + timedelta(seconds=chance.random() * span)
        began, began_cpu = time.perf_counter(), time.process_time()
        open_recording(path).at(when)
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - began_cpu)
    return wall, cpu


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
