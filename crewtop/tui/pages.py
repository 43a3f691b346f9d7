"""Every view that is always there, by its name. A task's story is made when it is opened."""

from __future__ import annotations

from crewtop.tui.actions import View
from crewtop.tui.manner import Manner
from crewtop.tui.options import ScreenOptions
from crewtop.tui.views.charts import Charts
from crewtop.tui.views.events import Events
from crewtop.tui.views.failures import FailureGroups
from crewtop.tui.views.models import Models
from crewtop.tui.views.operations import Operations
from crewtop.tui.views.overview import Overview
from crewtop.tui.views.page import Page
from crewtop.tui.views.tasks import Tasks
from crewtop.tui.views.workers import Workers


def pages(manner: Manner, options: ScreenOptions) -> dict[View, Page]:
    """The views, in the order of their keys."""
    made: tuple[Page, ...] = (
        Overview(manner),
        Tasks(manner, options.columns, options.views),
        FailureGroups(manner),
        Workers(manner, options.pool_worker),
        Models(manner),
        Events(manner),
        Operations(manner),
        Charts(manner),
    )
    return {page.kind: page for page in made}
