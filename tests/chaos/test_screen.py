"""A short fuzz run of the real screen: some hundred keys while PostgreSQL is killed and comes back."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.e2e.conftest import ROOT


@pytest.mark.xdist_group("heavy")
def test_nothing_that_is_typed_ends_the_screen_or_leaves_it_wrong() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.chaos.screen", "400", "7"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    # How long it was blocked is for a long run on a quiet machine to say.
    assert ran.stdout.splitlines()[-1].startswith("0 wrong, "), ran.stdout + ran.stderr
