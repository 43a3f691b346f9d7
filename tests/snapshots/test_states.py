"""Every state at every size in every dress, compared with the stored text (pytest --snapshot-update renews it)."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from tests.snapshots.states import DRESSES, SIZES, STATES, look_of, written


class Text(SingleFileSnapshotExtension):
    """One text file for each frame."""

    _write_mode = WriteMode.TEXT
    _file_extension = "txt"


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: "{}x{}".format(*size))
@pytest.mark.parametrize("state", STATES)
def test_state(state: str, size: tuple[int, int], dress: str, snapshot: SnapshotAssertion) -> None:
    lines = STATES[state].posed(ascii_only=dress == "ascii").frame(*size)
    text = written(lines, size[0], look_of(dress))
    styles = text.rpartition("\n" + "-" * size[0])[2]
    assert all(line.text.isascii() for line in lines) or dress != "ascii"
    assert "color" not in styles
    assert "#" not in styles or dress in ("dark", "light")
    assert snapshot.use_extension(Text) == text
