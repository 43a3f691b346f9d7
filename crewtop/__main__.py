"""The `crewtop` command. Without arguments in a terminal it is the screen, at once; all else is read by cli.py."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

from crewtop.model.errors import CrewtopError
from crewtop.text import shown

if TYPE_CHECKING:
    from crewtop.config import Configuration

DONE, SOME_REFUSED, NOT_POSSIBLE = 0, 1, 2
"""Exit codes: everything was done; some of it was refused; wrong usage or no connection."""


def main() -> None:
    """The console script. A user's mistake is one line on stderr, never a traceback."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    try:
        code = _screen() if not sys.argv[1:] and terminal() else _command()
    except CrewtopError as error:
        print(f"crewtop: {shown(str(error))}", file=sys.stderr)
        code = NOT_POSSIBLE
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    raise SystemExit(code)


def _screen() -> int:
    """The screen as configured, without the command line's reader, which takes a tenth of a second to import."""
    from crewtop.commands.screen import open_screen
    from crewtop.commands.style import Style, styled

    def load() -> Configuration:
        from crewtop.config import load

        return load()

    return open_screen(load, styled(Style(), None))


def _command() -> int:
    from crewtop.cli import app, hoisted

    return int(app(hoisted(sys.argv[1:]), prog_name="crewtop") or DONE)


def _leave(number: int, _: object) -> None:
    """End by unwinding, so that embedded servers, pools and connections are given back on the way out."""
    raise SystemExit(128 + number)


def terminal() -> bool:
    """Whether there is a terminal that a screen can be drawn on."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")


if __name__ == "__main__":
    main()
