"""The user's own themes and keys: read at the start, and again whenever a file of them was saved."""

from __future__ import annotations

from crewtop.tui import keymap, theme
from crewtop.tui.actions import COMMANDS
from crewtop.tui.keymap import Keymap, KeysError
from crewtop.tui.options import ScreenOptions
from crewtop.tui.reload import Watched
from crewtop.tui.theme import Theme
from crewtop.tui.views.taskrows import TASK_COLUMNS


class Files:
    """themes by name and the keymap, as the files have them.

    problems: a line for each thing that is wrong in them, or in the options.
    """

    def __init__(self, options: ScreenOptions) -> None:
        self._options = options
        self._watched = Watched([place for place in (options.theme_folder, options.keys_file) if place is not None])
        self.themes: dict[str, Theme] = {}
        self.keymap = Keymap(COMMANDS)
        self.problems: list[str] = []
        self.read()

    def changed(self) -> bool:
        """Whether any of the files was saved, made or deleted since the last call. Only looks at their dates."""
        return bool(self._watched.changed())

    def read(self) -> None:
        """Take everything up anew. Where the keys are wrong, those in force before stay."""
        self.themes, self.problems = theme.load(self._options.theme_folder)
        try:
            self.keymap = keymap.read(self._options.keys_file, COMMANDS)
        except KeysError as error:
            self.problems.append(str(error))
        known = [column.title.lower() for column in TASK_COLUMNS]
        for name in self._options.columns:
            if name not in known:
                self.problems.append(f"[screen] columns: there is no {name!r}: use {', '.join(known)}")
