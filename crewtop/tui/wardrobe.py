"""Which theme the screen wears: the one that was chosen, or that of production."""

from __future__ import annotations

from collections.abc import Sequence

from crewtop.model.snapshot import Snapshot
from crewtop.tui.options import ScreenOptions
from crewtop.tui.theme import DEFAULT, is_production


class Wardrobe:
    """themes: the names there are; theme: the one worn; production: the connection is one that has its own theme."""

    def __init__(self, options: ScreenOptions) -> None:
        self._options = options
        self._wanted = options.theme
        self.themes: Sequence[str] = [DEFAULT]
        self.theme = DEFAULT
        self.production = False

    def stock(self, themes: Sequence[str]) -> str | None:
        """Choose among these from now on; answers what is wrong with the choice, or None."""
        self.themes = themes
        self.theme = self._wanted if self._wanted in themes else DEFAULT
        if self._wanted in themes:
            return None
        return f"theme {self._wanted!r} is unknown: use one of {', '.join(themes)}"

    def recognise(self, snapshot: Snapshot) -> str | None:
        """Wear what production wears, once it is known that this is production; answers why it cannot, or None."""
        known, options = self.production, self._options
        self.production = is_production(options.production, snapshot.database, snapshot.host)
        if known or not self.production:
            return None
        self._wanted = options.production_theme
        return self.stock(self.themes)

    def next(self) -> None:
        """Wear the next one."""
        place = self.themes.index(self.theme)
        self.theme = self._wanted = self.themes[(place + 1) % len(self.themes)]
