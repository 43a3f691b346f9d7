"""The operator's clipboard, however many terminals lie between: OSC 52, through tmux and GNU screen as well.

OSC 52 is described in https://invisible-island.net/xterm/ctlseqs/ctlseqs.html under Operating System Commands.
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

LONGEST_BASE64 = 74_994
"""What the strictest of the common terminals takes of one OSC 52, in bytes of base64."""

LONGEST_BYTES = LONGEST_BASE64 // 4 * 3

TMUX_SECONDS = 2.0

_NO_CLIPBOARD = ("", "dumb", "linux", "unknown")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SCREEN_PIECE = 240  # GNU screen drops a control string that is longer than its buffer, 256 bytes in old ones


@dataclass(frozen=True, slots=True)
class Offer:
    """A text on its way to the clipboard.

    text: what is offered; left_out: how many characters at its end are not; sequence: what to write to the terminal, ""
    where it has no clipboard; tmux: whether into_tmux(text) should be tried too.
    """

    text: str
    left_out: int
    sequence: str
    tmux: bool


def sequences(text: str, environment: Mapping[str, str]) -> Offer:
    """A text made ready for the clipboard of the terminal that the environment describes.

    It stays as it is, but for control characters other than newline and tab, which are dropped: pasted into a shell
    they would be obeyed. What an OSC 52 cannot hold is cut off at the end.
    """
    clean = _CONTROLS.sub("", text)
    kept = clean.encode("utf-8", "replace")[:LONGEST_BYTES].decode("utf-8", "ignore")
    terminal, tmux = environment.get("TERM", ""), bool(environment.get("TMUX"))
    plain = f"\x1b]52;c;{base64.b64encode(kept.encode()).decode()}\x07"
    if terminal in _NO_CLIPBOARD:
        sequence = ""
    elif environment.get("STY"):
        sequence = _through_screen(plain)
    elif tmux or terminal.startswith("tmux"):
        sequence = plain + _through_tmux(plain)
    elif terminal.startswith("screen"):  # over SSH from inside of either: each ignores what is for the other
        sequence = plain + _through_screen(plain)
    else:
        sequence = plain
    return Offer(kept, len(clean) - len(kept), sequence, tmux)


async def into_tmux(text: str, environment: Mapping[str, str], seconds: float = TMUX_SECONDS) -> bool:
    """Put a text into the buffer of the tmux around this screen, which hands it on to the terminal's clipboard.

    environment is that of the screen: TMUX says which server. Answers whether it worked within so many seconds.
    tmux before 3.2 cannot hand it on, and one that was told to keep programs off the clipboard still has its buffer.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            "tmux", "load-buffer", "-w", "-", env=dict(environment),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        return False
    try:
        async with asyncio.timeout(seconds):
            await process.communicate(text.encode())
    except TimeoutError:
        return False
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return process.returncode == 0


def _through_tmux(sequence: str) -> str:
    """As tmux passes it on where allow-passthrough is on: every ESC twice."""
    return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"


def _through_screen(sequence: str) -> str:
    """As GNU screen passes it on: a device control string, in pieces that it can hold."""
    pieces = (sequence[at : at + _SCREEN_PIECE] for at in range(0, len(sequence), _SCREEN_PIECE))
    return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
