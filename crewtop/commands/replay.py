"""`crewtop replay`: the screen over a recording, or one picture of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import cast

from crewtop.commands.read import ascii_only, put_out, width
from crewtop.commands.recording import tell_damage
from crewtop.commands.style import Style, keys_file, theme_folder
from crewtop.plain import snapshot_text, to_json
from crewtop.recording.instants import instant_of
from crewtop.recording.reader import Recording, open_recording

REPLAY_SECONDS = 0.25
"""How often it is looked which picture is next: fast enough for speeds that leave pictures out."""


def print_picture(path: Path, at: str | None, *, as_json: bool) -> int:
    """Print the picture of an instant, as typed; without one the last. Answers the exit code.

    Raises RecordingError and InstantError.
    """
    recording = open_recording(path)
    tell_damage(recording)
    picture = recording.at(instant_of(at, recording.begin, recording.end) if at else recording.end).snapshot
    put_out(to_json(picture) if as_json else snapshot_text(picture, width=width(), ascii=ascii_only()))
    return 0


def replay_screen(path: Path, at: str | None, style: Style) -> int:
    """Show a recording on the screen until it is quit; answers the exit code. Raises as print_picture does."""
    from crewtop.tui.app import run_screen
    from crewtop.tui.options import ScreenOptions
    from crewtop.tui.source import Source
    from crewtop.tui.tape import Replayed, Tape
    from crewtop.tui.theme import DEFAULT, PRODUCTION

    recording: Recording = open_recording(path)
    begin = instant_of(at, recording.begin, recording.end) if at else recording.begin
    tape = Tape(recording, begin, time.monotonic)
    source = cast(Source, Replayed(tape))
    options = ScreenOptions(
        theme=style.theme or DEFAULT,
        theme_folder=theme_folder(),
        interval=REPLAY_SECONDS,
        ascii=style.ascii,
        colour=style.colour,
        read_only=True,
        title=style.title,
        utc=style.utc,
        keys_file=keys_file(),
        mouse=style.mouse,
        columns=style.columns,
        production=style.production,
        production_theme=style.production_theme or PRODUCTION,
        views=style.views,
    )
    code = run_screen(lambda: source, options, tape=tape)
    tell_damage(recording)  # after the screen, which would have hidden it
    return code
