"""On PYTHONPATH, it makes a host of whose peculiarities HOST says: without_crewai, broken_crewai, with_a_thread."""

import os
import sys
import threading


class Finder:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "crewai" and "without_crewai" in HOST:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if name == "crewai" and "broken_crewai" in HOST:
            raise RuntimeError("half installed")


HOST = os.environ.get("HOST", "")
sys.meta_path.insert(0, Finder)
if "with_a_thread" in HOST:
    threading.Thread(target=threading.Event().wait, daemon=True).start()
