"""Textual's driver without reports of every mouse movement: they cost bytes both ways and mean nothing here."""

from __future__ import annotations

import sys
from typing import Any

from textual.driver import Driver


def calm_driver() -> type[Driver] | None:
    """A driver that asks the terminal for clicks and the wheel alone; None (Textual's own choice) on Windows."""
    if sys.platform == "win32":
        return None
    from textual.drivers.linux_driver import LinuxDriver

    class CalmDriver(LinuxDriver):
        """See the module."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            if sys.__stdout__ is not None:
                self._file = sys.__stdout__  # `crewtop 2> log` must not send the picture into the log

        def _enable_mouse_support(self) -> None:
            if self._mouse:
                self.write("\x1b[?1000h\x1b[?1006h")
                self.flush()

    return CalmDriver
