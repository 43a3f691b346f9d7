"""The published schema of a snapshot: what a machine may rely on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from crewtop.model.snapshot import Snapshot
from crewtop.plain import snapshot_document
from crewtop.plain.schema import snapshot_schema
from tests.tui.fixtures import BUSY, EMPTY, HELD_BACK, INCIDENT

PUBLISHED = Path(__file__).parents[2] / "docs" / "snapshot.schema.json"
UNITS = ("_seconds", "_percent", "_usd", "_bytes", "_ratio")
PURE_NUMBERS = {"level", "error_rate", "done_per_minute", "value"}  # shares, a rate that says per what, any figure


def test_the_published_file_is_what_the_model_says() -> None:
    written = json.dumps(snapshot_schema(), indent=2) + "\n"
    assert PUBLISHED.read_text("utf-8") == written, "run `crewtop snapshot --schema > docs/snapshot.schema.json`"


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(snapshot_schema())


@pytest.mark.parametrize("picture", [BUSY, INCIDENT, HELD_BACK, EMPTY], ids=["busy", "incident", "held back", "empty"])
def test_what_is_written_is_as_the_schema_says(picture: Snapshot) -> None:
    written: Any = json.loads(json.dumps(snapshot_document(picture)))
    jsonschema.validate(written, closed(snapshot_schema()), format_checker=jsonschema.FormatChecker())
    assert written["schema_version"] == 1


def test_no_amount_of_money_is_a_number() -> None:
    written: Any = json.loads(json.dumps(snapshot_document(BUSY)))
    amounts = [value for name, value in pairs(written) if name.endswith("_usd")]
    assert len(amounts) > 50
    assert all(amount is None or isinstance(amount, str) for amount in amounts)


def test_what_is_unknown_is_null() -> None:
    written: Any = snapshot_document(EMPTY)
    assert written["wait"] == {"n": 0, "p50_seconds": None, "p95_seconds": None, "p99_seconds": None}


def test_every_number_with_a_fraction_names_its_unit() -> None:
    schema = snapshot_schema()
    for kind in [schema, *schema["$defs"].values()]:
        for name, field in kind["properties"].items():
            if {"type": "number"} in (field, *field.get("anyOf", ())):
                assert name.endswith(UNITS) or name in PURE_NUMBERS, f"give {name} its unit in crewtop/plain/names.py"


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema, which lets no field through that it does not name."""
    for kind in [schema, *schema["$defs"].values()]:
        kind["additionalProperties"] = False
    return schema


def pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """Every name and value, at whatever depth."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name, inner
            yield from pairs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from pairs(inner)
