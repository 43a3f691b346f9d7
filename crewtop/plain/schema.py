"""The JSON Schema of what `crewtop snapshot --json` writes, made from the model's dataclasses themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from crewtop.model.snapshot import Snapshot
from crewtop.plain.data import SCHEMA_VERSION
from crewtop.plain.names import is_money, published

AMOUNT = {"type": "string", "pattern": r"^-?\d+(\.\d+)?$"}

_SCALARS: dict[object, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    NoneType: {"type": "null"},
    Decimal: AMOUNT,
    datetime: {"type": "string", "format": "date-time"},
}


def snapshot_schema() -> dict[str, Any]:
    """The schema, of draft 2020-12. It lets fields through that it does not know: a newer crewtop may have more.

    Raises TypeError where a field of the model is of a kind that it has no word for.
    """
    whole = _object(Snapshot)
    properties = {"schema_version": {"const": SCHEMA_VERSION}, **whole["properties"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What `crewtop snapshot --json` writes",
        **whole,
        "properties": properties,
        "required": list(properties),
        "$defs": {kind.__name__: _object(kind) for kind in sorted(_parts(Snapshot), key=lambda kind: kind.__name__)},
    }


def _object(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    properties = {}
    for field in fields(kind):
        name = published(kind, field.name)
        properties[name] = _schema(hints[field.name], AMOUNT if is_money(name) else None)
    about = inspect.cleandoc(kind.__doc__ or "")
    return {"type": "object", "description": about, "properties": properties, "required": list(properties)}


def _schema(hint: Any, amount: dict[str, Any] | None = None) -> dict[str, Any]:
    if hint in (float, Decimal) and amount is not None:
        return amount
    if hint in _SCALARS:
        return _SCALARS[hint]
    if is_dataclass(hint) and isinstance(hint, type):
        return {"$ref": f"#/$defs/{hint.__name__}"}
    parts = get_args(hint)
    if get_origin(hint) is Literal:
        return {"enum": list(parts)}
    if get_origin(hint) is tuple and parts[1:] == (...,):
        return {"type": "array", "items": _schema(parts[0])}
    if isinstance(hint, UnionType):
        return {"anyOf": [_schema(part, amount) for part in parts]}
    raise TypeError(f"{hint} has no schema: add it to crewtop/plain/schema.py")


def _parts(kind: type) -> set[type]:
    """The dataclasses that a dataclass is made of, itself left out."""
    found: set[type] = set()
    wanted = [kind]
    while wanted:
        for hint in get_type_hints(wanted.pop()).values():
            new = set(_dataclasses(hint)) - found
            found |= new
            wanted += new
    return found


def _dataclasses(hint: Any) -> Iterator[type]:
    if is_dataclass(hint) and isinstance(hint, type):
        yield hint
    for part in get_args(hint):
        yield from _dataclasses(part)
