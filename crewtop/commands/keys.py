"""`crewtop keys`: every key of the screen, from its registry; as text with the user's own, or as docs/keys.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

import typer

from crewtop.commands.style import keys_file
from crewtop.tui.actions import COMMANDS, EVERYWHERE, Command, View
from crewtop.tui.keymap import KEY_NAMES, Keymap, read

_INTRODUCTION = """\
# Keys

Written by `crewtop keys --markdown`. `crewtop keys` prints the same in a terminal, with your own keys, and `?` on the
screen shows those of the open view.

## Your own

`~/.config/crewtop/keys.toml` (or under `$XDG_CONFIG_HOME`) gives a command other keys. A saved change is in force
within a second; a mistake is told on the screen and by `crewtop keys`, and then nothing of the file counts.

```toml
retry = ["T", "f5"]   # the list replaces the keys of the command
delete = []           # no key at all: only the command palette has it
```

A key is one character or one of the names below. Two commands of one view cannot share a key. What acts on tasks,
queues or workers takes a capital letter, a sign, `ctrl+` and a letter, or `f1` to `f12`, so that nobody acts while
reading. `ctrl+c` always quits.
"""


def print_keys(*, markdown: bool) -> None:
    """Print the keys. Raises KeysError where the user's own are wrong; markdown leaves those out."""
    if markdown:
        typer.echo(document(COMMANDS), nl=False)
        return
    file = keys_file()
    for row in listing(read(file, COMMANDS), str(file)):
        typer.echo(row)


def listing(keymap: Keymap, file: str) -> list[str]:
    """The keys by group, one command a line; those that file changed are marked."""
    rows: list[str] = []
    for group, commands in _by_group(keymap.commands):
        rows += [*([""] if rows else []), group]
        for command in commands:
            keys = " ".join(command.keys) or "-"
            mark = "*" if command.name in keymap.changed else " "
            where = _where(command)
            rows.append(f"{mark} {keys:<16} {command.name:<15} {command.help}{f' ({where})' if where else ''}")
    if keymap.changed:
        rows += ["", f"* from {file}"]
    return rows


def document(commands: Sequence[Command]) -> str:
    """What docs/keys.md holds: how to change keys, every command with its default ones, and the names of keys."""
    parts = [_INTRODUCTION]
    for group, members in _by_group(commands):
        rows = [
            f"| {_marked(command.keys)} | `{command.name}` | {command.help} | {_where(command)} |"
            for command in members
        ]
        parts.append(
            "\n".join([f"## {group}\n", "| key | command | does | only in |", "| --- | --- | --- | --- |", *rows, ""])
        )
    parts.append(f"## Names of keys\n\n{_marked(KEY_NAMES)}\n")
    return "\n".join(parts)


def _by_group(commands: Iterable[Command]) -> list[tuple[str, list[Command]]]:
    """The commands by group, groups and commands in the order of the registry."""
    order = list(dict.fromkeys(command.group for command in commands))
    ranked = sorted(commands, key=lambda command: order.index(command.group))
    return [(group, list(members)) for group, members in groupby(ranked, key=lambda command: command.group)]


def _where(command: Command) -> str:
    """The views that have a command, in their order; "" for all of them."""
    if command.views == EVERYWHERE:
        return ""
    return ", ".join(view for view in View if view in command.views)


def _marked(keys: Iterable[str]) -> str:
    r"""Keys as code; a bar is escaped, since it would end a cell of the table."""
    return " ".join(f"`{key}`".replace("|", r"\|") for key in keys)
