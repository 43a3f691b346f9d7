"""Each view as an operator sees it, compared with the stored picture of it (pytest --snapshot-update renews them)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.snapshots.pictures import PICTURES, Picture


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_picture(picture: Picture, snap_compare: Any) -> None:
    assert snap_compare(picture.app(), terminal_size=picture.size, run_before=picture.pose)
