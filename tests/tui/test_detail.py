"""The view of one task: its parts, the keys in them, and what they ask of the world outside."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from crewtop.model.detail import Excerpt, TaskDetail, TaskTies, Tied
from crewtop.model.errors import Refused
from crewtop.tui.actions import COMMANDS, View
from crewtop.tui.effects import Copy, CopyText, Effect, LoadBody, Open, Save, Say, ShowInPager, Whole
from crewtop.tui.keymap import Keymap
from crewtop.tui.manner import Manner
from crewtop.tui.outside import save
from crewtop.tui.paint import width
from crewtop.tui.source import LogLines
from crewtop.tui.views.detail import Detail
from crewtop.tui.wants import RunLog, Story
from tests.tui.fixtures import COMPLETED, HOSTILE, LOG, STUCK, Shop, call, excerpt, usd

WIDTH, HEIGHT = 80, 21

KEYMAP = Keymap(COMMANDS)


def opened(detail: TaskDetail = STUCK, pane: str | None = None, manner: Manner | None = None) -> Detail:
    view = Detail(manner or Manner(), detail.task.id, pane)
    view.answer(Story(detail.task.id), detail)
    if view.stream is not None:
        view.told(view.stream, LogLines(LOG))
    view.lines(WIDTH, HEIGHT)
    return view


def press(view: Detail, *keys: str) -> Effect | None:
    """Press keys as the session would; answers what the last one asks for."""
    effect: Effect | None = None
    for key in keys:
        if view.edit is not None:
            effect = view.press(key)
        else:
            command = KEYMAP.command_for(key, View.DETAIL)
            assert command is not None, key
            found = view.do(command.name, HEIGHT)
            effect = found
        view.lines(WIDTH, HEIGHT)
        while view.job is not None:
            view.finish(view.job, view.job.rows())
    return effect


def shown(view: Detail, width: int = WIDTH, height: int = HEIGHT) -> str:
    return "\n".join(line.text for line in view.lines(width, height))


def body(view: Detail) -> list[str]:
    """The lines below the head."""
    rows = [line.text.strip() for line in view.lines(WIDTH, HEIGHT)]
    tabs = next(i for i, row in enumerate(rows) if row.startswith("s Story"))
    return rows[tabs + 2 :]


def failed_twice() -> TaskDetail:
    runs = (
        replace(
            STUCK.runs[1], id=9_300, error_type="ToolError", error=excerpt("no such order"), worker_id="db3-e5b077"
        ),
        STUCK.runs[1],
        replace(COMPLETED.runs[0], id=9_000),
    )
    return replace(STUCK, runs=runs, task=replace(STUCK.task, status="failed", stuck=None))


# Parts


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("s", "TIMELINE"),
        ("i", '"audience": "board"'),
        ("o", "no result yet"),
        ("e", "ProviderTimeout: no answer within 60 s"),
        ("l", "no answer yet"),
        ("h", "producer shop-api"),
        ("r", "no other task has to do with this one"),
    ],
)
def test_each_part_has_its_key(key: str, words: str) -> None:
    view = opened()
    press(view, key)
    assert words in shown(view)


def test_tab_goes_through_all_parts_and_back_to_the_first() -> None:
    view = opened()
    seen = []
    for _ in range(7):
        seen.append(view.pane)
        press(view, "tab")
    assert seen == ["story", "inputs", "result", "error", "log", "history", "related"]
    assert view.pane == "story"
    press(view, "shift+tab")
    assert view.pane == "related"


def test_why_a_task_waits_stands_in_its_head() -> None:
    row = replace(STUCK.task, status="pending", stuck=None)
    view = opened(replace(STUCK, task=row, runs=(), waits_because="queue research is paused by dana@ops1"))
    assert "queue research is paused by dana@ops1" in shown(view)


def test_answers_about_another_task_are_dropped() -> None:
    view = Detail(Manner(), 48_201)
    view.answer(Story(7), COMPLETED)
    assert view.loading
    view.answer(Story(48_201), None)
    assert "there is no task 48201" in shown(view)


@pytest.mark.parametrize("size", [(80, 24), (60, 20), (40, 10), (20, 5), (200, 50)])
@pytest.mark.parametrize("key", ["s", "i", "o", "e", "l", "h", "r"])
def test_every_part_fits_every_size(size: tuple[int, int], key: str) -> None:
    view = opened()
    press(view, key)
    drawn = view.lines(*size)
    assert 1 <= len(drawn) <= max(size[1], 6)
    assert all(width(line.spans) <= size[0] for line in drawn)


def test_an_idle_task_draws_the_same_again() -> None:
    view = opened(COMPLETED)
    for key in "siolehr":
        press(view, key)
        before = view.lines(WIDTH, HEIGHT)
        view.answer(Story(COMPLETED.task.id), replace(COMPLETED))
        assert view.lines(WIDTH, HEIGHT) == before


# Runs


def test_the_error_begins_with_its_cause_and_ends_with_those_of_other_runs() -> None:
    view = opened(failed_twice(), "error")
    text = body(view)
    assert text[0] == "ToolError: no such order"
    assert text[2].startswith("run 3 on db3-e5b077 at ")
    others = text[text.index("Other runs") + 1 :]
    assert " ".join(others) == "run 2 on db1-7c2e91 at 13:57:39Z: failed: ProviderTimeout: no answer within 60 s"


def test_parentheses_go_through_the_runs() -> None:
    view = opened(failed_twice(), "error")
    assert "run 3 of 3" in shown(view)
    press(view, "(")
    assert body(view)[0] == "ProviderTimeout: no answer within 60 s"
    press(view, "(")
    assert "run 1 of 3" in shown(view)
    assert "there is no error of run 1" in shown(view)
    assert press(view, "(") == Say("this is the first run")
    press(view, "o")
    assert '"answer": "Delivered on Tuesday."' in shown(view)
    press(view, ")", ")")
    assert press(view, ")") == Say("this is the newest run")


def test_the_log_of_an_earlier_run_is_the_one_that_was_kept() -> None:
    view = opened(pane="log")
    assert "run 2 of 2 · following" in shown(view)
    press(view, "(")
    assert "calling gpt-4.1" in shown(view)
    assert "following" not in shown(view)


# Under the cursor of the story


@pytest.mark.parametrize(
    ("downs", "pane", "words"),
    [
        (0, "error", "run 1 of 2"),
        (1, "story", "Find sources"),
        (2, "story", "no answer within 60 s"),
        (3, "log", "following"),
        (4, "story", "kept: 1 of 2 (id 9044) did it"),
        (6, "story", "genai-prices 0.0.40"),
    ],
)
def test_enter_opens_what_is_under_the_cursor(downs: int, pane: str, words: str) -> None:
    view = opened()
    press(view, *["down"] * downs, "enter")
    assert view.pane == pane
    assert words in shown(view)


def test_a_call_tells_its_tokens_its_price_and_its_error() -> None:
    view = opened()
    press(view, *["down"] * 8, "enter")
    text = shown(view)
    for words in (
        "outcome         timeout",
        "error           no answer within 60 s",
        "out             ?",
        "cost            ?",
    ):
        assert words in text
    assert not view.at_rest
    press(view, "escape")
    assert view.at_rest
    assert "TIMELINE" in shown(view)


def test_enter_on_many_calls_goes_to_the_first_of_them_in_the_table() -> None:
    calls = tuple(call(9_190, 1, "Order clerk", 126 - 2 * i, 1.0, model=f"model-{i}") for i in range(12))
    view = opened(replace(COMPLETED, calls=calls, calls_total=12))
    press(view, "x", "down", "down")
    assert "12 calls" in next(line.text for line in view.lines(WIDTH, HEIGHT) if line.ground == "cursor")
    press(view, "enter")
    assert "model-0" in next(line.text for line in view.lines(WIDTH, HEIGHT) if line.ground == "cursor")
    press(view, "enter")
    assert "LLM call        model-0" in shown(view)


def test_a_click_goes_to_a_line_and_a_second_one_opens_it() -> None:
    view = opened()
    line = next(i for i, row in enumerate(view.lines(WIDTH, HEIGHT)) if "Researcher" in row.text)
    view.click(line)
    assert view.lines(WIDTH, HEIGHT)[line].ground == "cursor"
    view.click(line)
    assert "Find sources" in shown(view)


# Related tasks


TIES = TaskTies(
    key="order-7",
    key_scope="active",
    parent_id=4,
    rerun_of=5,
    schedule="nightly",
    depends_on=(Tied("quotes", 11, "completed"),),
    needed_by=(Tied("mail", 12, "waiting"),),
    children=(Tied("support", 13, "failed"), Tied("support", 14, "deleted")),
    reruns=(Tied("support", 15, "running"),),
)


@pytest.mark.parametrize("downs", range(7))
def test_each_related_task_can_be_opened(downs: int) -> None:
    view = opened(replace(COMPLETED, ties=TIES), "related")
    assert press(view, *["down"] * downs, "enter") == Open([4, 5, 11, 12, 13, 14, 15][downs])


def test_related_tasks_are_named_with_how_they_stand() -> None:
    view = opened(replace(COMPLETED, ties=TIES), "related")
    text = body(view)
    assert text[:2] == ["made by the schedule nightly", "key order-7 (active)"]
    assert any(row.split() == ["child", "13", "✗", "failed", "support"] for row in text)
    assert any(row.split() == ["child", "14", "?", "deleted", "support"] for row in text)


def test_a_task_of_a_hundred_children_scrolls_through_them() -> None:
    ties = TaskTies(children=tuple(Tied("support", i, "completed") for i in range(100)))
    view = opened(replace(COMPLETED, ties=ties), "related")
    assert press(view, "end", "enter") == Open(99)


# Searching


def test_a_search_is_typed_and_steps_through_its_matches() -> None:
    view = opened(pane="error")
    press(view, "/", *"timeout")
    assert "/ timeout" in shown(view)
    press(view, "enter")
    assert "match 1 of 3" in shown(view)
    press(view, "n", "n")
    assert "match 3 of 3" in shown(view)
    press(view, "b")
    assert "match 2 of 3" in shown(view)
    assert any(span.role == "badge" for line in view.lines(WIDTH, HEIGHT) for span in line.spans)
    press(view, "escape")
    assert "match" not in shown(view)


def test_a_search_that_is_given_up_leaves_all_as_it_was() -> None:
    view = opened(pane="error")
    before = shown(view)
    press(view, "/", "x", "escape")
    assert view.edit is None
    assert shown(view) == before


def test_keys_that_are_commands_are_letters_while_one_types() -> None:
    view = opened(pane="inputs")
    press(view, "/", *"Rq", "enter")
    assert "no match for 'Rq'" in shown(view)


def test_next_without_a_search_says_how_to_begin_one() -> None:
    assert press(opened(pane="log"), "n") == Say("nothing is looked for: / asks what")


# Texts for elsewhere

SECRET = "sk-proj-Zx81kQ9vTq0aa7bLm4f2a"


@pytest.mark.parametrize(
    ("pane", "key", "effect"),
    [
        ("story", "y", Copy("48201")),
        ("story", "w", Say("that is for texts: inputs, result, error and log")),
        ("story", "/", Say("that is for texts: inputs, result, error and log")),
        ("result", "w", Say("no result yet")),
        ("result", "d", Say("no result yet")),
        ("inputs", "(", Say("result, error and log are those of a run: open one of them first")),
        ("inputs", "w", Save(Whole("json", STUCK.inputs.text), "crewtop-48201-inputs.txt")),
        ("inputs", "v", ShowInPager(Whole("json", STUCK.inputs.text))),
        ("inputs", "m", Say("all of it is here")),
        ("log", "w", Save(Whole("text", "\n".join(LOG)), "crewtop-48201-run2-log.txt")),
        ("log", "a", CopyText("\n".join(LOG), "the log (147 B)")),
        ("log", "d", CopyText("\n".join(LOG), "what is in sight (147 B)")),
    ],
)
def test_keys_ask_for_what_is_done_outside(pane: str, key: str, effect: Effect) -> None:
    assert press(opened(pane=pane), key) == effect


def test_what_is_copied_is_masked() -> None:
    copied = press(opened(pane="inputs"), "a")
    assert isinstance(copied, CopyText)
    assert json.loads(copied.text)["api_key"] == "••••4f2a"


def test_a_text_of_which_a_part_is_loaded_says_so_and_loads_more() -> None:
    whole = "A long answer. " * 70_000
    run = replace(STUCK.runs[1], traceback=Excerpt(whole[:65_536], len(whole)))
    view = opened(replace(STUCK, runs=(STUCK.runs[0], run)), "error")
    press(view)
    assert "showing 64 KB of 1.0 MB, m loads more" in shown(view, 120)
    assert press(view, "m") == LoadBody(48_201, 9_044, "traceback", 262_144)
    view.take_body(9_044, "traceback", Excerpt(whole[:262_144], len(whole)))
    assert "showing 256 KB of 1.0 MB, m loads more" in shown(view, 120)


def test_what_is_beyond_the_limit_is_said_not_to_be_shown() -> None:
    text = "x" * (1024 * 1024)
    run = replace(STUCK.runs[1], traceback=Excerpt(text, 25_000_000))
    view = opened(replace(STUCK, runs=(STUCK.runs[0], run)), "error")
    assert "showing 1.0 MB of 23 MB, w saves all, v reads all" in shown(view, 120)
    assert press(view, "m") == Say("no more than 1.0 MB are shown here: w saves all of it, v reads it")


def test_all_of_a_cut_text_is_saved_with_what_stands_around_it() -> None:
    run = replace(STUCK.runs[1], traceback=Excerpt("Trace", 900))
    saved = press(opened(replace(STUCK, runs=(STUCK.runs[0], run)), "error"), "w")
    assert isinstance(saved, Save)
    assert saved.whole.before.startswith("ProviderTimeout: no answer within 60 s\n\nrun 1 on db1-7c2e91")
    assert saved.whole.rest == LoadBody(48_201, 9_044, "traceback", 0)


def test_json_that_is_cut_off_is_a_text_and_folds_once_it_is_whole() -> None:
    whole = json.dumps({"rows": [{"n": i} for i in range(10_000)]})
    detail = replace(COMPLETED, inputs=Excerpt(whole[:65_536], len(whole)))
    view = opened(detail, "inputs")
    press(view, "f")
    assert '{"rows": [{"n": 0}' in shown(view)
    assert "JSON folds when all is here" in shown(view, 120)
    view.take_body(None, "inputs", Excerpt(whole, len(whole)))
    press(view, "up")
    press(view, "f")
    assert '▸ "rows": […]  10,000 items' in shown(view)


async def test_a_text_is_saved_whole_masked_and_for_the_operator_alone(tmp_path: Path) -> None:
    traceback = f"Traceback\n  key={SECRET}\n\x1b[31mred\n" + "x" * 100_000
    effect = Save(Whole("text", "cause\n\n", LoadBody(1, 2, "traceback", 0), "\n\nOther runs"), "crewtop-1-error.txt")
    said = await save(Shop(bodies={"traceback": traceback}), effect, tmp_path)
    path = tmp_path / "crewtop-1-error.txt"
    text = path.read_text()
    assert said == f"saved 97 KB to {path}"
    assert path.stat().st_mode & 0o777 == 0o600
    assert text.startswith("cause\n\nTraceback")
    assert text.endswith("x\n\nOther runs")
    assert "\x1b[31mred" in text
    assert SECRET not in text
    assert [entry.name for entry in tmp_path.iterdir()] == ["crewtop-1-error.txt"]


async def test_saving_again_replaces_the_file(tmp_path: Path) -> None:
    for text in ("a long first text", "second"):
        await save(Shop(), Save(Whole("text", text), "crewtop-1-log.txt"), tmp_path)
    assert (tmp_path / "crewtop-1-log.txt").read_text() == "second"


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"crewtop-1-log\.txt: No such file or directory: start crewtop in a folder"):
        await save(Shop(), Save(Whole("text", "x"), "crewtop-1-log.txt"), tmp_path / "gone")


# Hostile texts


def hostile(text: str) -> TaskDetail:
    row = replace(STUCK.task, crew=text, queue=text, agent=text, activity=text, error=text, worker_id=text)
    run = replace(
        STUCK.runs[1], worker_id=text, error_type=text, error=excerpt(text), traceback=excerpt(text),
        result=excerpt(text), log_tail=excerpt(text),
    )  # fmt: skip
    step = replace(STUCK.steps[0], agent=text, name=text, description=text, output=excerpt(text), error=text)
    made = replace(STUCK.calls[0], model=text, agent=text, error=text, provider=text, price_source=text, call_id=text)
    change = replace(STUCK.history[0], actor=text, reason=text)
    tied = Tied(text, 3, "failed")
    ties = TaskTies(text, text, schedule=text, depends_on=(tied,), children=(tied,))
    return replace(
        STUCK, task=row, inputs=excerpt(text), runs=(STUCK.runs[0], run), steps=(step,), calls=(made,),
        history=(change,), ties=ties, waits_because=text,
    )  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_and_obeyed_nowhere(text: str) -> None:
    view = opened(hostile(text))
    view.told(RunLog(STUCK.runs[0].id), LogLines((text,)))
    for keys in (
        ("s",),
        ("down", "enter"),
        ("s", "end", "enter"),
        ("i",),
        ("o",),
        ("e",),
        ("l",),
        ("(",),
        ("h",),
        ("r",),
    ):
        press(view, *keys)
        bad = [c for c in shown(view, 200, 50).replace("\n", "") if not c.isprintable()]
        assert bad == [], keys


def test_ascii_terminals_get_ascii() -> None:
    view = opened(replace(STUCK, inputs=COMPLETED.inputs, ties=TIES), manner=Manner(ascii_only=True))
    for key in "siolehr":
        press(view, key)
        assert shown(view, 120, 40).isascii(), key
    press(view, "i", "f", "space")
    assert shown(view).isascii()


def test_no_two_keys_of_the_view_do_different_things() -> None:
    keys = [key for command in COMMANDS if View.DETAIL in command.views for key in command.keys]
    assert len(keys) == len(set(keys))


def test_money_that_is_not_known_is_a_question_mark() -> None:
    unpriced = replace(COMPLETED.calls[0], cost=usd("0", 1, 1), price_source="unknown: no price for this model")
    view = opened(replace(COMPLETED, calls=(unpriced,)))
    press(view, "end", "enter")
    assert "cost            ?" in shown(view)
    assert "price from      unknown: no price for this model" in shown(view)
