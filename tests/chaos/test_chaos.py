"""A short chaos run: everything that can be killed is killed, and nothing is lost, doubled or stuck."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.e2e.conftest import ROOT


@pytest.mark.xdist_group("heavy")
def test_nothing_is_lost_doubled_or_stuck() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.chaos", "20s", "11"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert ran.stdout.splitlines()[-1] == "lost 0, doubled 0, stuck 0", ran.stdout + ran.stderr
    assert ran.returncode == 0, ran.stdout
