"""`python -m tests.chaos.probed FILE ...`: crewtop with these arguments, and a record of how long its loop was blocked.

A heartbeat on the event loop tells how late it comes; the time in which another process had the processor (Linux says
so in /proc) is not the screen's fault and is taken off. A thread looks at what the loop does when it is late.
FILE gets JSON: lags, how often it came so many ms late; blocked, for each over LIMIT_SECONDS where the loop was.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import sys
import threading
import time
import traceback
from collections import Counter
from pathlib import Path

BEAT_SECONDS = 0.01
LIMIT_SECONDS = 0.2


class Probe:
    """Watches one loop in the thread that made it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, file: Path) -> None:
        self._loop, self._file = loop, file
        self._thread = threading.get_ident()
        self._scheduling = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        self._lags: Counter[int] = Counter()
        self._blocked: list[tuple[float, str]] = []
        self._seen = ""
        self._due = time.monotonic() + BEAT_SECONDS
        self._waited = self._waited_for_processor()
        loop.call_later(BEAT_SECONDS, self._beat)
        threading.Thread(target=self._look, daemon=True).start()
        atexit.register(self._write)

    def _waited_for_processor(self) -> float:
        try:
            return int(self._scheduling.read_text().split()[1]) / 1e9
        except OSError:
            return 0.0

    def _beat(self) -> None:
        now, waited = time.monotonic(), self._waited_for_processor()
        lag = max(0.0, now - self._due - (waited - self._waited))
        self._lags[round(lag * 1e3)] += 1
        if lag > LIMIT_SECONDS:
            self._blocked.append((lag, self._seen))
        self._seen = ""
        self._due, self._waited = time.monotonic() + BEAT_SECONDS, waited
        self._loop.call_later(BEAT_SECONDS, self._beat)

    def _look(self) -> None:
        while True:
            time.sleep(LIMIT_SECONDS / 4)
            if not self._seen and time.monotonic() > self._due + LIMIT_SECONDS / 2:
                stack = traceback.extract_stack(sys._current_frames()[self._thread])
                self._seen = " < ".join(f"{Path(at.filename).name}:{at.lineno} {at.name}" for at in stack[:-9:-1])

    def _write(self) -> None:
        self._file.write_text(json.dumps({"lags": self._lags, "blocked": self._blocked}))


class Probed(asyncio.DefaultEventLoopPolicy):
    """Makes loops that are watched."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        loop = super().new_event_loop()
        Probe(loop, self._file)
        return loop


if __name__ == "__main__":
    asyncio.set_event_loop_policy(Probed(Path(sys.argv.pop(1))))
    from crewtop.__main__ import main

    sys.argv[0] = "crewtop"
    main()
