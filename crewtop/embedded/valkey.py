"""Valkey in a data folder: the fast lane, which may vanish, so nothing of it is kept on disk."""

from __future__ import annotations

import signal

from crewtop.embedded.place import Place
from crewtop.embedded.programs import valkey_program
from crewtop.embedded.server import Server


class Valkey(Server):
    """The Valkey of a data folder."""

    title = "Valkey"
    process_name = "valkey-server"
    stop_signal = signal.SIGKILL  # it has nothing to save, and takes up to 0.1 s to notice a SIGTERM

    def __init__(self, place: Place) -> None:
        super().__init__(place, folder=place.data_dir, socket_name="valkey.sock")

    @property
    def url(self) -> str:
        """The address, as redis clients take it."""
        return f"unix://{self.socket}?db=0"

    def command(self, lock: int) -> list[str]:
        """Return the command line."""
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "save": "",
            "appendonly": "no",
            # When full it refuses writes, which is seen; evicting keys would not be.
            "maxmemory": "256mb",
            "maxmemory-policy": "noeviction",
            "loglevel": "warning",
        }
        settings = [argument for name, value in options.items() for argument in (f"--{name}", value)]
        return [str(valkey_program(self.place)), *settings]
