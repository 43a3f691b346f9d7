"""Files that belong to crewtop but are not Python: schema.sql and themes/."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable


def shipped(name: str) -> Traversable:
    """The file or folder of that name: inside the package in a wheel, beside it in a checkout.

    Raises FileNotFoundError where the installation lacks it.
    """
    package = files("crewtop")
    for place in (package.joinpath(name), package.joinpath("..", name)):
        if place.is_file() or place.is_dir():
            return place
    raise FileNotFoundError(f"{name} is missing from this installation of crewtop: install it again")
