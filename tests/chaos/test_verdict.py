"""The judge, on small cases whose verdicts are plain."""

from __future__ import annotations

from tests.chaos.records import Job
from tests.chaos.verdict import Verdict, judge, read_marks

WORKED = ["began 1 10.0", "ended 1 11.0"]


def verdict(job: Job | None, marks: list[str]) -> Verdict:
    return judge({"1"}, [job] if job else [], read_marks(marks))


def test_a_job_that_worked_and_completed_is_whole() -> None:
    assert verdict(Job("1", "ended", (11.1,)), WORKED).whole


def test_a_job_that_its_queue_forgot_is_lost_unless_it_did_its_work() -> None:
    assert verdict(None, []).lost == ["1"]
    assert verdict(None, WORKED).whole


def test_a_job_that_a_worker_holds_for_ever_is_lost_and_stuck() -> None:
    judged = verdict(Job("1", "claimed", ()), ["began 1 10.0"])
    assert (judged.lost, judged.stuck) == (["1"], ["1"])


def test_work_begun_after_a_recorded_completion_is_doubled_even_if_it_never_ends() -> None:
    assert verdict(Job("1", "ended", (11.1,)), [*WORKED, "began 1 12.0"]).doubled == ["1"]


def test_work_repeated_before_any_completion_is_counted_and_allowed() -> None:
    judged = verdict(Job("1", "ended", (14.0,)), [*WORKED, "began 1 12.0", "ended 1 13.0"])
    assert judged.repeated == 1
    assert judged.whole


def test_a_completion_without_work_breaks_the_promise() -> None:
    assert verdict(Job("1", "ended", (11.1,)), []).unworked == ["1"]


def test_a_failed_job_is_told_and_breaks_none() -> None:
    judged = verdict(Job("1", "ended", ()), [])
    assert judged.failed == 1
    assert judged.whole
