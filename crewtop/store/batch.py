"""A batch of an operation: the next tasks are locked, each is judged as it stands, and changed or refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import asyncpg

from crewtop.model.operations import RULES, Action, Operation
from crewtop.model.refusals import Item, Refusal, key_held, lacking, refusal, takes_a_key
from crewtop.model.task import Settled, TaskStatus, ready_queues
from crewtop.store import dependents
from crewtop.store.database import Database, statement
from crewtop.store.operations import operation_of, record_of

BATCH = 1_000
"""Tasks that one transaction changes: more make no operation faster, and hold locks for longer."""


@dataclass(frozen=True, slots=True)
class Worked:
    """One batch: how far the operation has come, what has to be killed as (worker, run), which queues to wake.

    changed: the tasks that it was done to, as they were before; anew: of those that were rerun, the new task of each;
    settled: what waited for them.
    """

    operation: Operation
    kills: tuple[tuple[str, int], ...]
    woken: frozenset[str]
    changed: tuple[Item, ...] = ()
    anew: Mapping[int, int] = field(default_factory=dict)
    settled: Sequence[Settled] = ()


async def work(database: Database, operation_id: int, limit: int = BATCH) -> Worked:
    """Work off the next batch of an operation, if it is to go on.

    Any process may, at any time: the operation's row is locked, and the tasks in the order of their ids. Raises Refused
    where there is no such operation.
    """
    async with database.connection() as connection, connection.transaction():
        taken = await connection.fetchrow(statement("take_items"), operation_id, limit)
        if taken is None:
            return Worked(operation_of(await record_of(connection, operation_id)), (), frozenset())
        batch = _Batch(connection, operation_id, Action(taken["action"]), taken["undone"], taken["undoes"])
        await batch.work_off(list(taken["ids"]))
        operation = await batch.record(max(taken["ids"], default=0))
    settled = await dependents.settle(database, batch.ended, f"operator:{taken['actor']}")
    woken = frozenset(batch.woken | ready_queues(settled))
    return Worked(operation, tuple(batch.kills), woken, tuple(batch.changed), batch.anew, settled)


class _Batch:
    """The next tasks of one operation, locked: each is judged, and changed or refused."""

    def __init__(
        self,
        connection: asyncpg.Connection[asyncpg.Record],
        operation_id: int,
        action: Action,
        undone: str | None,
        undoes: int | None,
    ) -> None:
        self._connection = connection
        self._id = operation_id
        self._action = action
        self._past = RULES[action].past
        self._undone = undone
        self._undoes = undoes
        self._refused: dict[int, Refusal] = {}
        self._done = 0
        self.kills: list[tuple[str, int]] = []
        self.woken: set[str] = set()
        self.ended: list[int] = []
        self.changed: list[Item] = []
        self.anew: dict[int, int] = {}

    async def work_off(self, ids: list[int]) -> None:
        """Judge these tasks and change those that are fit.

        Where somebody took a key a moment ago, one task after the other: only the one that wants it is refused.
        """
        items = {item.task_id: item for item in await self._look(ids)}
        fit = self._judge(items.values())
        try:
            async with self._connection.transaction():
                await self._apply(fit)
        except asyncpg.UniqueViolationError:
            for task_id in fit:
                await self._apply_one(items[task_id])
        self.changed = [items[task_id] for task_id in fit if task_id not in self._refused]

    async def record(self, reached: int) -> Operation:
        """Write what was refused, and how far the operation has come."""
        row = await self._connection.fetchrow(
            statement("advance_operation"), self._id, reached, self._done, list(self._refused),
            [refused.why for refused in self._refused.values()], [refused.kind for refused in self._refused.values()],
        )  # fmt: skip
        assert row is not None
        return operation_of(row)

    async def _look(self, ids: list[int]) -> list[Item]:
        """In a statement of its own: begun before the locks were had, it would not see what was waited for."""
        rows = await self._connection.fetch(
            statement("look_at_items"),
            self._id,
            ids,
            self._action is Action.DELETE,
            self._undoes,
            list(RULES[self._action].eligible),
        )
        return [_item(row) for row in rows]

    def _judge(self, items: Iterable[Item]) -> list[int]:
        fit: dict[int, None] = {}  # in order, and looked up for each task's dependencies
        coming = () if self._action is Action.RERUN else fit
        keys: dict[tuple[str | None, str, str | None], int] = {}
        for item in items:
            why_not = refusal(self._action, item) or lacking(self._action, item, coming)
            key = takes_a_key(self._action, item) if why_not is None else None
            if key is not None and (first := keys.setdefault(key, item.task_id)) != item.task_id:
                why_not = key_held(self._action, item, first)
            if why_not is None:
                fit[item.task_id] = None
            else:
                self._refused[item.task_id] = why_not
        return list(fit)

    async def _apply(self, fit: list[int]) -> None:
        if not fit:
            return
        if self._action is Action.DELETE or self._undone == Action.RERUN:
            await self._delete(fit)
            return
        if self._action in (Action.RETRY, Action.UNDO):
            await self._connection.execute(statement("reopen_dependencies"), fit)
        if self._action is Action.RERUN:
            row = await self._connection.fetchrow(statement("rerun"), self._id, fit, self._past)
            assert row is not None
            self.anew.update(zip(row["rerun"], row["anew"], strict=True))
        elif self._action is Action.UNDO:
            row = await self._connection.fetchrow(statement("undo"), self._id, fit, self._undoes)
        else:
            row = await self._connection.fetchrow(
                statement("operate"), self._id, fit, self._action, self._past, self._done
            )
        assert row is not None
        self._done += len(fit)
        self.woken |= set(row["woken"])
        self.ended += row["ended"]
        self.kills += zip(row["workers"], row["runs"], strict=True)

    async def _apply_one(self, item: Item) -> None:
        try:
            async with self._connection.transaction():
                await self._apply([item.task_id])
        except asyncpg.UniqueViolationError:
            [now] = await self._look([item.task_id])
            self._refused[item.task_id] = key_held(self._action, item, now.holder or item.task_id)

    async def _delete(self, fit: list[int]) -> None:
        gone = [row["id"] for row in await self._connection.fetch(statement("delete_tasks"), fit)]
        await self._connection.execute(statement("mark_items"), self._id, gone, self._past)
        self._done += len(gone)
        self.ended += gone
        for task_id in set(fit).difference(gone):
            self._refused[task_id] = Refusal(f"not {self._past}: another task needs it", "needed by others")


_AT_STATUS, _AT_RESTORED = Item._fields.index("status"), Item._fields.index("restored")
_STATUS: dict[str | None, TaskStatus | None] = {None: None, **{status.value: status for status in TaskStatus}}


def _item(row: asyncpg.Record) -> Item:
    values = list(row)
    values[_AT_STATUS], values[_AT_RESTORED] = _STATUS[values[_AT_STATUS]], _STATUS[values[_AT_RESTORED]]
    return Item(*values)
