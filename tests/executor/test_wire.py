"""The messages between a worker and its zygote."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from crewtop.executor.wire import Unpacker, packed

messages = st.lists(st.dictionaries(st.text(), st.text() | st.integers() | st.none(), max_size=3), max_size=5)


@given(messages, st.integers(1, 50))
def test_messages_arrive_whole_however_the_socket_cuts_them(sent: list[dict[str, Any]], size: int) -> None:
    stream = b"".join(packed(message) for message in sent)
    unpacker = Unpacker()
    pieces = (stream[start : start + size] for start in range(0, len(stream), size))
    assert [message for piece in pieces for message in unpacker.feed(piece)] == sent


def test_client_imports_no_crewai() -> None:
    """The worker's process would pay two seconds, and lose its signal handlers."""
    code = "import sys, crewtop.executor.client; print('crewai' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout == "False\n"
