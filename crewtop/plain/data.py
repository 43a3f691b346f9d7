"""The model as data that json.dumps takes."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING

from crewtop.model.detail import Excerpt
from crewtop.model.snapshot import Snapshot
from crewtop.plain.names import is_money, published
from crewtop.text import masked, masked_body

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SCHEMA_VERSION = 1
"""Of what `crewtop snapshot --json` writes: raised where a field goes or means something else, not where one comes."""


def snapshot_document(picture: Snapshot) -> dict[str, object]:
    """A snapshot as docs/snapshot.schema.json describes it."""
    return {"schema_version": SCHEMA_VERSION, **_fields(picture)}


def to_json(value: object) -> object:
    """Any of the model's dataclasses as dicts, lists, strings, numbers and None, its secrets masked.

    Fields bear their published names (plain/names.py). Decimals and amounts of money become strings, stamps ISO 8601
    in UTC, enums their values; what is unknown or not finite stays null.
    Control characters stay as they are: json.dumps must escape them, as it does unless ensure_ascii is off.
    Raises TypeError for what is none of these.
    """
    if isinstance(value, Excerpt):
        return {"text": masked_body(value.text), "size": value.size}
    if is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    return _scalar(value)


def _fields(value: DataclassInstance) -> dict[str, object]:
    written = {}
    for field in fields(value):
        name, what = published(type(value), field.name), getattr(value, field.name)
        written[name] = to_json(Decimal(repr(what)) if is_money(name) and isinstance(what, float) else what)
    return written


def _scalar(value: object) -> object:
    match value:
        case None | bool() | int():
            return value
        case str():
            return masked(value)
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return f"{value:f}" if value.is_finite() else None
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    raise TypeError(f"{type(value).__name__} is not part of the model: cannot write it as JSON")
