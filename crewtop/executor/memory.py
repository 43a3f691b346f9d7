"""CrewAI's memory, opened when it is used: every Flow gives itself one, and importing LanceDB takes two seconds."""

from __future__ import annotations

from typing import Any

from crewai.memory.storage.factory import set_memory_storage_factory


class LazyStorage:
    """Stands for the default storage until something is asked of it."""

    def __init__(self) -> None:
        self._storage: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._storage is None:
            if name == "close":
                raise AttributeError(name)  # the end of a flow that remembered nothing
            from crewai.memory.storage.lancedb_storage import LanceDBStorage

            self._storage = LanceDBStorage()
        return getattr(self._storage, name)


def open_memory_late() -> None:
    """Make it CrewAI's default storage in this process."""
    set_memory_storage_factory(lambda spec: LazyStorage() if spec == "lancedb" else None)
