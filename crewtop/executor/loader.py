"""From a crew's target in the worker's configuration to something that can run."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crewtop.executor.failures import comes_from_network
from crewtop.model.errors import TerminalError
from crewtop.model.events import DoneStep, Event

_ACCEPTED = (
    "a Crew, a @CrewBase class, a Flow, a function without parameters that returns one, or a function of the inputs"
)


class LoadError(TerminalError):
    """A crew that cannot be loaded; the message names the crew, the target and what is wrong."""


class InputsError(TerminalError):
    """Inputs that a crew cannot take."""


@dataclass(frozen=True, slots=True)
class Work:
    """A loaded crew. kind: crew, flow or callable. run takes the inputs and returns the result. tasks: a Crew's own.

    run_async is run in an event loop, where there is such a way. go_on, which only a Crew has, is run after what an
    earlier run completed; its last argument is told from where.
    """

    kind: str
    run: Callable[[Any], object]
    tasks: tuple[Any, ...] = ()
    go_on: Callable[[Any, Sequence[DoneStep], Callable[[Event], None]], object] | None = None
    run_async: Callable[[Any], Awaitable[object]] | None = None


def load(crew: str, target: str, folder: str, *, copied: bool = False) -> Work:
    """Load the crew registered as `crew` from `target`: 'module:attribute', or a .jsonc file relative to folder.

    copied: a Crew or a Flow that the module itself holds is copied, since others run it in this process.

    Raises LoadError; but what a network did to the crew's own code while it was loading is passed on as it is, since
    the next attempt may go well.
    """
    try:
        found = _find(target, folder)
        if copied and "crewai" in sys.modules:
            from crewtop.executor import crews

            found = crews.copied(found)
        return _as_work(found, called=False)
    except (ImportError, UnsuitableError) as error:
        fault = _import_fault(error, target, folder) if isinstance(error, ImportError) else str(error)
        raise LoadError(_sentence(crew, target, fault)) from error
    except Exception as error:
        if comes_from_network(error):
            raise
        raise LoadError(_sentence(crew, target, f"{type(error).__name__}: {error}")) from error


class UnsuitableError(Exception):
    """What the target names is no crew."""


def _sentence(crew: str, target: str, fault: str) -> str:
    return f"crew {crew!r} cannot be loaded from {target!r}: {fault}; check [crews] in crewtop.toml"


def _import_fault(error: ImportError, target: str, folder: str) -> str:
    name = error.name or ""
    if isinstance(error, ModuleNotFoundError) and f"{target.partition(':')[0]}.".startswith(f"{name}."):
        return f"no module named {name!r} (looked in {folder})"
    return str(error)


def _find(target: str, folder: str) -> object:
    if target.endswith((".json", ".jsonc")):
        return Path(folder, target)
    module, _, attributes = target.partition(":")
    if not (module and attributes):
        raise UnsuitableError("a target reads 'module:attribute' or names a .jsonc file")
    found: object = importlib.import_module(module)
    for name in attributes.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise UnsuitableError(f"there is no {name!r} in {module!r}") from None
    return found


def _as_work(found: object, called: bool) -> Work:
    """called: found is what the target's function returned, and a second function is none of what is accepted."""
    if "crewai" in sys.modules:
        from crewtop.executor import crews  # without crewai, plain functions still run

        if work := crews.as_work(found):
            return work
    if called or inspect.isclass(found) or not callable(found):
        what = f"it returns a {type(found).__name__}" if called else f"it is a {_kind_of(found)}"
        raise UnsuitableError(f"{what}, and not {_ACCEPTED}")
    if _takes(found, {}):
        run_async = found if inspect.iscoroutinefunction(found) else None
        return Work("callable", lambda inputs: _finished(found(inputs)), run_async=run_async)
    if _takes(found):
        return _as_work(_finished(found()), called=True)
    raise UnsuitableError("it must have one parameter, for the inputs, or none if it returns a crew")


def _kind_of(found: object) -> str:
    if isinstance(found, Path):
        return "file that only crewai can read, which is not installed"
    return f"class ({found.__name__})" if inspect.isclass(found) else type(found).__name__


def _takes(function: Callable[..., object], *arguments: object) -> bool:
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # some functions written in C do not tell
        return bool(arguments)
    return True


def _finished(value: Any) -> object:
    async def finish() -> object:
        return await value

    return asyncio.run(finish()) if inspect.isawaitable(value) else value
