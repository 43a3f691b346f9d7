"""The one registry of what the operator can do: keys, help, footer and command palette are made from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from crewtop.model.operations import RULES, Action


class View(StrEnum):
    """A screenful. Those with a digit in TABS are reached by it."""

    OVERVIEW = "overview"
    TASKS = "tasks"
    FAILURES = "failures"
    WORKERS = "workers"
    MODELS = "models"
    EVENTS = "events"
    OPERATIONS = "operations"
    CHARTS = "charts"
    DETAIL = "detail"
    REPLAY = "replay"
    """None that can be opened: the keys of a recording's time bar, which come first in every view of a replay."""


TABS: tuple[tuple[str, str, View], ...] = (
    ("1", "Overview", View.OVERVIEW),
    ("2", "Tasks", View.TASKS),
    ("3", "Failures", View.FAILURES),
    ("4", "Workers", View.WORKERS),
    ("5", "Models", View.MODELS),
    ("6", "Events", View.EVENTS),
    ("7", "Operations", View.OPERATIONS),
)
"""Key, title and view of the tabs in the header."""

EVERYWHERE = frozenset(View) - {View.REPLAY}
LISTS = EVERYWHERE - {View.DETAIL, View.CHARTS}


@dataclass(frozen=True, slots=True)
class Command:
    """Something that a key does.

    keys are characters, or Textual's names for those that are none. footer says how long it stays in a narrowing
    footer (1 longest, 0 never shown there). acting ones change tasks or workers: they refuse on stale data.
    """

    name: str
    keys: tuple[str, ...]
    label: str
    help: str
    group: str
    views: frozenset[View] = EVERYWHERE
    footer: int = 0
    acting: bool = False


_TASKS = frozenset({View.TASKS, View.DETAIL, View.FAILURES})
_LISTED = frozenset({View.OVERVIEW, View.TASKS})
_LIST = frozenset({View.TASKS})
_DETAIL = frozenset({View.DETAIL})
_WORKERS = frozenset({View.WORKERS})
_FAILURES = frozenset({View.FAILURES})
_MODELS = frozenset({View.MODELS})
_EVENTS = frozenset({View.EVENTS})
_OPERATIONS = frozenset({View.OPERATIONS})
_REPLAY = frozenset({View.REPLAY})


def _on_tasks(key: str, action: Action, footer: int) -> Command:
    return Command(action, (key,), action, RULES[action].effect.capitalize(), "Act", _TASKS, footer=footer, acting=True)


COMMANDS: tuple[Command, ...] = (
    Command("up", ("up", "k"), "up", "One line up", "Move"),
    Command("down", ("down", "j"), "down", "One line down", "Move"),
    Command("page_up", ("pageup", "ctrl+b"), "page up", "One screen up", "Move"),
    Command("page_down", ("pagedown", "ctrl+f"), "page down", "One screen down", "Move"),
    Command("first", ("home", "g"), "first", "To the beginning", "Move"),
    Command("last", ("end", "G"), "last", "To the end of what is loaded", "Move"),
    Command("open", ("enter",), "open", "Open what is under the cursor", "Move", LISTS, footer=1),
    Command("next_pane", ("tab",), "pane", "Next part of the task's story", "Read", _DETAIL, footer=2),
    Command("previous_pane", ("shift+tab",), "pane", "Previous part of the task's story", "Read", _DETAIL),
    Command("mark", ("space",), "mark", "Mark a task, or take its mark away", "Act", _LIST, footer=3),
    Command("mark_all", ("*",), "mark all", "Mark every task that is loaded", "Act", _LIST),
    Command("invert", ("\\",), "invert", "Turn the marks of the loaded tasks around", "Act", _LIST),
    _on_tasks("R", Action.RETRY, 2),
    _on_tasks("F", Action.FAIL, 3),
    _on_tasks("U", Action.REQUEUE, 4),
    _on_tasks("C", Action.CANCEL, 3),
    _on_tasks("N", Action.RERUN, 6),
    _on_tasks("M", Action.MOVE, 0),
    _on_tasks("B", Action.PRIORITY, 0),
    _on_tasks("X", Action.DELETE, 0),
    Command(
        "everything",
        ("A",),
        "all",
        "The next action is for all that match the filter, not for the marked ones",
        "Act",
        _LIST,
        footer=5,
        acting=True,
    ),
    Command("undo", ("u",), "undo", "Take the last operation of this screen back; asks first", "Act", acting=True),
    Command(
        "pause_queue",
        ("P",),
        "pause",
        "Let workers claim nothing from the queue, or let them go on; asks first",
        "Act",
        frozenset({View.OVERVIEW}),
        footer=3,
        acting=True,
    ),
    Command(
        "silence",
        ("S",),
        "silence",
        "Tell nobody of the alert for a while, or tell them again; asks first",
        "Act",
        frozenset({View.OVERVIEW}),
        footer=6,
        acting=True,
    ),
    Command(
        "more_slots", (">",), "more slots", "Ask the worker for one slot more", "Act", _WORKERS, footer=2, acting=True
    ),
    Command("fewer_slots", ("<",), "fewer", "Ask the worker for one slot less", "Act", _WORKERS, footer=3, acting=True),
    Command("slots", ("=",), "slots", "Ask the worker for so many slots", "Act", _WORKERS, footer=4, acting=True),
    Command(
        "drain",
        ("D",),
        "drain",
        "Let the worker finish what it runs, then stop it; asks first",
        "Act",
        _WORKERS,
        footer=3,
        acting=True,
    ),
    Command(
        "kill",
        ("K",),
        "kill",
        "End the worker at once: what runs there goes back to its queue; asks first",
        "Act",
        _WORKERS,
        footer=5,
        acting=True,
    ),
    Command(
        "act_on_tasks",
        tuple("RFUCNMBX"),
        "act",
        "Retry, fail, requeue, cancel and more: open a list or a task first",
        "Act",
        frozenset({View.OVERVIEW, View.WORKERS, View.MODELS, View.CHARTS}),
    ),
    Command("other_list", ("tab",), "other list", "To the next list", "Move", _WORKERS | _MODELS, footer=2),
    Command("other_list_back", ("shift+tab",), "other list", "To the list before", "Move", _WORKERS | _MODELS),
    Command(
        "halt",
        ("H",),
        "pause/resume",
        "Pause the operation, or let it go on",
        "Act",
        _OPERATIONS,
        footer=2,
        acting=True,
    ),
    Command(
        "call_off",
        ("C",),
        "cancel",
        "Leave the tasks that the operation has not come to as they are; asks first",
        "Act",
        _OPERATIONS,
        footer=3,
        acting=True,
    ),
    Command("window", ("w",), "window", "Look back 24 h, 7 days or an hour", "Read", _FAILURES | _MODELS, footer=4),
    Command(
        "hold", ("space",), "pause", "Hold the list still and count what is new; again goes on", "Read", _EVENTS, 2
    ),
    Command(
        "log_lines", ("l",), "log lines", "Show what tasks print among the events, or leave it out", "Read", _EVENTS, 3
    ),
    Command("sort", ("s",), "sort", "Choose the order of the list", "Read", _LIST, footer=4),
    Command("reverse", ("r",), "reverse", "Turn the order of the list around", "Read", _LIST),
    Command("columns", ("v",), "columns", "Choose the columns of the list and their order", "Read", _LIST),
    Command("log", ("l",), "log", "What the run prints, as it prints it", "Read", _LISTED | _DETAIL, footer=5),
    Command("story", ("s",), "story", "Timeline and LLM calls", "Read", _DETAIL),
    Command("inputs", ("i",), "inputs", "What the task was given", "Read", _DETAIL),
    Command("result", ("o",), "result", "What the task gave back", "Read", _DETAIL),
    Command("error", ("e",), "error", "What went wrong, the cause first", "Read", _DETAIL),
    Command("history", ("h",), "history", "Every change of status: when, by whom, why", "Read", _DETAIL),
    Command("related", ("r",), "related", "The tasks that this one has to do with", "Read", _DETAIL),
    Command(
        "show",
        ("enter", "space"),
        "open",
        "Open what is under the cursor; fold JSON or unfold it",
        "Read",
        _DETAIL,
        footer=2,
    ),
    Command("fold", ("left",), "fold", "Fold JSON; where it is folded, go up a level", "Read", _DETAIL),
    Command("unfold", ("right",), "unfold", "Unfold JSON", "Read", _DETAIL),
    Command("fold_all", ("f",), "fold all", "Fold all JSON below the first level, or unfold all", "Read", _DETAIL),
    Command("expand", ("x",), "calls", "Show LLM calls in the timeline, or do not", "Read", _DETAIL, footer=8),
    Command("older_run", ("(",), "older run", "Result, error or log of the run before", "Read", _DETAIL),
    Command("newer_run", (")",), "newer run", "Result, error or log of the run after", "Read", _DETAIL),
    Command("search", ("/",), "search", "Find words in the open text", "Read", _DETAIL, footer=5),
    Command("next_match", ("n",), "next", "Next place where they are", "Read", _DETAIL),
    Command("previous_match", ("b",), "previous", "The place before", "Read", _DETAIL),
    Command("more", ("m",), "more", "Load more of a long text", "Read", _DETAIL, footer=7),
    Command("copy_text", ("d",), "copy", "Copy what of the text is displayed to the clipboard", "Read", _DETAIL),
    Command("copy_all", ("a",), "copy all", "Copy all of the text that is loaded to the clipboard", "Read", _DETAIL),
    Command("save", ("w",), "save", "Write the whole text, masked, to a file here", "Read", _DETAIL, footer=7),
    Command("pager", ("v",), "pager", "Read the whole text in $PAGER", "Read", _DETAIL, footer=8),
    Command(
        "copy",
        ("y",),
        "copy id",
        "Copy the id, or those of the marked tasks, to the clipboard (OSC 52)",
        "Read",
        footer=7,
    ),
    Command("filter", ("/",), "filter", "Narrow the list", "Read", _LISTED | _EVENTS),
    Command("freeze", ("p",), "freeze", "Hold the picture still; again lets it go on", "Screen", footer=8),
    Command("earlier", ("[",), "earlier", "Step back through the last hour of this screen", "Screen"),
    Command("later", ("]",), "later", "Step forward again, up to now", "Screen"),
    Command("minute_back", ("{",), "minute back", "Step back a minute", "Screen"),
    Command("minute_on", ("}",), "minute on", "Step forward a minute", "Screen"),
    Command("utc", ("z",), "UTC/local", "Times in UTC or as this machine has them", "Screen", footer=9),
    Command("theme", ("t",), "theme", "Next theme", "Screen", footer=9),
    Command("slower", ("+",), "slower", "Update less often", "Screen"),
    Command("faster", ("-",), "faster", "Update more often", "Screen"),
    Command("refresh", ("ctrl+r",), "refresh", "Ask for everything now", "Screen"),
    Command("repaint", ("ctrl+l",), "repaint", "Paint the screen anew, if something wrote over it", "Screen"),
    Command("bare", ("ctrl+e",), "more room", "Leave out rules and the keys at the foot, or show them", "Screen"),
    Command("suspend", ("ctrl+z",), "suspend", "Back to the shell; fg brings the screen back", "Screen"),
    Command("palette", (":", "ctrl+p"), "command", "Every command by name", "Screen"),
    Command("help", ("?",), "help", "This page", "Screen"),
    Command("back", ("escape",), "back", "Back; first drops marks, then the filter", "Move"),
    Command("leave", ("q",), "back", "Back; quits from the overview", "Move", footer=1),
    Command("quit", ("ctrl+c", "ctrl+q"), "quit", "Quit from anywhere", "Screen"),
    Command("overview", ("1",), "overview", "What is wrong, what runs, how fast, for how much", "Go to"),
    Command("tasks", ("2",), "tasks", "The task list", "Go to"),
    Command("failures", ("3",), "failures", "What failed, grouped by what went wrong", "Go to"),
    Command("workers", ("4",), "workers", "Who does the work, and with how many slots", "Go to"),
    Command("models", ("5",), "models", "Calls, tokens, latency and cost by model, crew, queue and hour", "Go to"),
    Command("events", ("6",), "events", "What happens, as it happens", "Go to"),
    Command("operations", ("7",), "operations", "What operators did; pause, cancel, undo it", "Go to"),
    Command("last_view", ("backspace",), "last view", "The view that was open before this one", "Go to"),
    Command("charts", ("c",), "charts", "Backlog, throughput, latency and spend over time", "Go to", footer=4),
    Command("go_to_id", ("#",), "task by id", "Open a task by its number", "Go to"),
    Command("play", ("space", "p"), "play/pause", "Let the recording go on, or hold it", "Replay", _REPLAY, footer=1),
    Command("step_back", ("[", "left"), "step", "One picture back", "Replay", _REPLAY, footer=2),
    Command("step_on", ("]", "right"), "step", "One picture on", "Replay", _REPLAY),
    Command("tape_minute_back", ("{",), "minute", "A minute back", "Replay", _REPLAY, footer=4),
    Command("tape_minute_on", ("}",), "minute", "A minute on", "Replay", _REPLAY, footer=4),
    Command("jump", ("@", "T"), "time", "To a time that you type", "Replay", _REPLAY, footer=3),
    Command("next_problem", (".",), "next problem", "To where the next problem begins", "Replay", _REPLAY, footer=3),
    Command("last_problem", (",",), "problem before", "To where the problem before began", "Replay", _REPLAY),
    Command("tape_faster", ("+",), "speed", "Let it go faster", "Replay", _REPLAY, footer=4),
    Command("tape_slower", ("-",), "speed", "Let it go slower", "Replay", _REPLAY, footer=4),
)

_NAMES = {"enter": "⏎", "escape": "Esc", "space": "Space", "tab": "Tab", "shift+tab": "Shift+Tab"}
_NAMES |= {"up": "↑", "down": "↓", "pageup": "PgUp", "pagedown": "PgDn", "home": "Home", "end": "End"}
_ASCII_NAMES = {"enter": "Enter", "up": "Up", "down": "Down"}


def key_name(key: str, ascii_only: bool = False) -> str:
    """A key as help and footer write it."""
    if ascii_only and key in _ASCII_NAMES:
        return _ASCII_NAMES[key]
    return _NAMES.get(key) or (f"^{key[-1].upper()}" if key.startswith("ctrl+") else key)
