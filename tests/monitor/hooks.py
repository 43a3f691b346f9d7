"""A webhook on the loopback that notes what it gets and answers as told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Hook:
    """url leads to it; got is what came, parsed; status is what it answers, with body."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.status, self.body = 200, b"ok"
        self.go_on = threading.Event()
        self.go_on.set()
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                hook.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                hook.go_on.wait(20)
                self.send_response(hook.status)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(hook.body)))
                self.end_headers()
                self.wfile.write(hook.body)

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/services/T000/B000/hush-hush-token"

    @property
    def events(self) -> list[tuple[str, str]]:
        """What was told: event and subject."""
        return [(what["alert"]["event"], what["alert"]["subject"]) for what in self.got]


@contextmanager
def listening() -> Iterator[Hook]:
    """A Hook for as long as the block lasts."""
    hook = Hook()
    thread = threading.Thread(target=hook.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hook
    finally:
        hook.go_on.set()
        hook.server.shutdown()
        thread.join()
        hook.server.server_close()
