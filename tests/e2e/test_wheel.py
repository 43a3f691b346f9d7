"""The wheel carries everything: unpacked elsewhere, it runs the demo without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT

pytestmark = pytest.mark.xdist_group("heavy")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's contents in a folder of their own."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            str(folder),
            str(ROOT),
        ],
        check=True,
        capture_output=True,
    )
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that the embedded servers' account may pass under root."""
    with tempfile.TemporaryDirectory(prefix="crewtop-test-home-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_the_wheel_has_the_schema_the_statements_the_themes_and_the_demo(unpacked: Path) -> None:
    package = unpacked / "crewtop"
    assert (package / "schema.sql").read_text() == (ROOT / "schema.sql").read_text()
    for folder, pattern in (("themes", "*.toml"), ("crewtop/store", "*.sql"), ("crewtop/demo", "*.toml")):
        here = {path.name for path in (ROOT / folder).glob(pattern)}
        assert here
        assert {path.name for path in (package / folder.removeprefix("crewtop/")).glob(pattern)} == here
    assert not any(path.name.startswith("test") for path in package.rglob("*"))


def test_the_unpacked_wheel_runs_the_demo_without_the_checkout(unpacked: Path, home: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("CREWTOP_")}
    ran = subprocess.run(
        [sys.executable, "-m", "crewtop", "demo", "--once", "--seconds", "20", "--hang", "0", "--latency", "0.1",
         "--data-dir", str(home / "data")],
        cwd=home, env=env | {"PYTHONPATH": str(unpacked)}, capture_output=True, text=True, timeout=180,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "simulated provider" in ran.stdout
    assert "support" in ran.stdout
    assert "research" in ran.stdout
    log = (home / "data" / "pool.log").read_text()
    assert "outcome=completed" in log
    assert str(ROOT) not in log
