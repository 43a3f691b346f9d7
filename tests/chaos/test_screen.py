"""A short fuzz run of the real screen: some hundred keys while PostgreSQL is killed and comes back."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.e2e.conftest import ROOT


@pytest.mark.xdist_group("heavy")
def test_nothing_that_is_typed_ends_or_blocks_the_screen() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.chaos.screen", "400", "7"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert ran.stdout.splitlines()[-1] == "0 wrong, 0 times blocked over 200 ms", ran.stdout + ran.stderr
    assert ran.returncode == 0, ran.stdout + ran.stderr
