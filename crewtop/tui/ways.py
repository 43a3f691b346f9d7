"""Where the operator is, and the way back."""

from __future__ import annotations

from crewtop.model.filters import TaskFilter
from crewtop.tui.actions import View
from crewtop.tui.views.page import Page
from crewtop.tui.views.tasks import Tasks

MOST_BEHIND = 50
"""Views that are remembered to go back to: stories lead to stories without end."""


class Ways:
    """pages: the views that are always there; page: the one that is open."""

    def __init__(self, pages: dict[View, Page]) -> None:
        self.pages = pages
        self.page = pages[View.OVERVIEW]
        self._behind: list[Page] = []
        self._last: Page = self.page
        self._came_with = ""

    @property
    def tasks(self) -> Tasks:
        """The task list, open or not: marks are kept in it."""
        page = self.pages[View.TASKS]
        assert isinstance(page, Tasks)
        return page

    @property
    def all(self) -> set[Page]:
        """Every view that may be seen again."""
        return {*self.pages.values(), *self._behind, self._last, self.page}

    def open(self, page: Page) -> None:
        """Go into something that is in the open view."""
        behind = [*self._behind, self.page]
        self._behind = [behind[0], *behind[1:][-MOST_BEHIND:]]
        self._turn(page)

    def go(self, view: View) -> None:
        """Go to a view as its key does: from there back to the overview. A filter that was not typed stays behind."""
        if self._as_come:
            self.tasks.narrow(TaskFilter())
        self._behind = [] if view is View.OVERVIEW else [self.pages[View.OVERVIEW]]
        self._turn(self.pages[view], anew=True)

    def narrowed(self, task_filter: TaskFilter) -> None:
        """Go into the tasks that match: from there back to where one was."""
        if self.page is not self.tasks:
            self.open(self.tasks)
        self.tasks.narrow(task_filter)
        self._came_with = self.tasks.typed

    def back(self) -> bool:
        """Drop what can be dropped in the open view, or leave it; False where there is nothing behind it."""
        if not self.page.at_rest and not self._as_come:
            self.page.do("back", 0)
            return True
        return self.leave()

    def leave(self) -> bool:
        """Go back to the view before; False where there is none."""
        if not self._behind:
            return False
        if self._as_come:
            self.tasks.narrow(TaskFilter())
        self._turn(self._behind.pop())
        return True

    def last(self) -> None:
        """Go to the view that was open before this one, as if to look at both in turn."""
        page, behind = self._last, self._behind
        self._turn(page)
        self._behind = [] if page.kind is View.OVERVIEW else behind or [self.pages[View.OVERVIEW]]

    @property
    def _as_come(self) -> bool:
        """Whether the task list is filtered only as something else led into it: then Esc leads back there."""
        tasks = self.tasks
        return (
            self.page is tasks and bool(self._came_with) and tasks.typed == self._came_with and not tasks.marks.things
        )

    def _turn(self, page: Page, *, anew: bool = False) -> None:
        if page is not self.page:
            self._last = self.page
            page.come(anew)
        if page is not self.tasks and page.kind is not View.DETAIL:
            self._came_with = ""
        self.page = page
