"""A run's result as JSON text."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import json
import math
import pathlib
import uuid
from typing import Any

from crewtop.model.errors import TerminalError

_MOST_CHARACTERS = 100 * 1024 * 1024  # what a line to the worker carries; worker.max_result_bytes is the real limit
_encode = json.JSONEncoder(allow_nan=False).encode  # which json.dumps would build anew each time
_AS_TEXT = (decimal.Decimal, uuid.UUID, pathlib.PurePath)
_MOMENTS = (datetime.datetime, datetime.date, datetime.time)


class ResultError(TerminalError):
    """A result that cannot be stored."""


def to_json(result: object) -> str:
    """A result as JSON text (ASCII). CrewAI's outputs become their pydantic or JSON object, else their raw text.

    NaN and Infinity are refused, not turned into null or text: either would hand the caller a wrong value.
    Raises ResultError, with the place in the result, for what JSON cannot say, and for more than 100 MiB.
    """
    try:
        text = _encode(_plain(result, "result"))
    except RecursionError:
        raise ResultError("the result cannot be stored as JSON: it contains itself, or is nested too deeply") from None
    if len(text) > _MOST_CHARACTERS:
        raise ResultError(
            f"the result is {len(text):,} characters of JSON and at most {_MOST_CHARACTERS:,} are stored; "
            "return a reference to a file or an object store instead"
        )
    return text


def _plain(value: Any, place: str) -> Any:
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return _finite(value, place)
    if isinstance(value, dict):
        return {_key(key, place): _plain(item, f"{place}[{key!r}]") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{place}[{number}]") for number, item in enumerate(value)]
    return _plain_object(value, place)


def _plain_object(value: Any, place: str) -> Any:
    if isinstance(value, _AS_TEXT):
        return str(value)
    if isinstance(value, _MOMENTS):
        return value.isoformat()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain({field.name: getattr(value, field.name) for field in dataclasses.fields(value)}, place)
    if type(value).__module__.startswith("crewai.") and hasattr(value, "raw"):
        return _plain(_output(value), place)
    if callable(getattr(value, "model_dump", None)) and not isinstance(value, type):
        return _plain(value.model_dump(mode="json"), place)
    raise ResultError(
        f"the result cannot be stored as JSON: {place} is a {type(value).__module__}.{type(value).__qualname__}; "
        "return numbers, text, lists, dicts, dataclasses or pydantic models"
    )


def _output(output: Any) -> Any:
    """What a CrewOutput, a TaskOutput or an agent's output says."""
    structured = getattr(output, "pydantic", None) or getattr(output, "json_dict", None)
    return output.raw if structured is None else structured


def _finite(value: float, place: str) -> float:
    if math.isfinite(value):
        return value
    raise ResultError(f"the result cannot be stored as JSON: {place} is {value}; return None or a string instead")


def _key(key: object, place: str) -> Any:
    if key is None or isinstance(key, (str, int)):
        return key
    raise ResultError(f"the result cannot be stored as JSON: {place} has the key {key!r}, and keys must be text")
