"""What crewtop prints where there is no terminal to draw on: plain text without one escape code, or data for --json."""

from crewtop.plain.data import snapshot_document, to_json
from crewtop.plain.overview import snapshot_text
from crewtop.plain.tasks import task_text, tasks_text

__all__ = ["snapshot_document", "snapshot_text", "task_text", "tasks_text", "to_json"]
