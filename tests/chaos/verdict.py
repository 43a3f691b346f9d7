"""From what was promised, what the queue says and the marks that the work left: what was lost, doubled or stuck."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.chaos.records import Job


@dataclass(slots=True)
class Marks:
    """When each job's work began and ended, in seconds of time.time(), by the job's number."""

    began: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    ended: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


def read_marks(lines: Iterable[str]) -> Marks:
    """The marks of a file's lines."""
    marks = Marks()
    for line in lines:
        what, number, at = line.split()
        getattr(marks, what)[number].append(float(at))
    return marks


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which jobs fared so, by number, and how many.

    Attributes:
        total: promised, or found in the queue all the same.
        lost: never ended: not by the end of patience, or gone without having done their work.
        doubled: work begun again after the queue had recorded that it was completed, or completed twice.
        stuck: of those that never ended, those still claimed by a worker.
        unworked: completed, and the work was not done.
        failed: ended, but not well: an operator sees them.
        repeated: work done more than once, which at-least-once allows before a completed end.
    """

    total: int
    lost: list[str]
    doubled: list[str]
    stuck: list[str]
    unworked: list[str]
    failed: int
    repeated: int

    @property
    def whole(self) -> bool:
        """Whether every promise was kept."""
        return not (self.lost or self.doubled or self.stuck or self.unworked)


def judge(known: set[str], jobs: Iterable[Job], marks: Marks) -> Verdict:
    """Judge once all is quiet."""
    found = {job.number: job for job in jobs}
    gone = [number for number in known - found.keys() if number not in marks.ended]
    return Verdict(
        total=len(known | found.keys()),
        lost=gone + [job.number for job in found.values() if job.state != "ended"],
        doubled=[job.number for job in found.values() if _doubled(job, marks)],
        stuck=[job.number for job in found.values() if job.state == "claimed"],
        unworked=[job.number for job in found.values() if job.completions and job.number not in marks.ended],
        failed=sum(job.state == "ended" and not job.completions for job in found.values()),
        repeated=sum(len(times) > 1 for times in marks.ended.values()),
    )


def _doubled(job: Job, marks: Marks) -> bool:
    if not job.completions:
        return False
    return len(job.completions) > 1 or any(at > job.completions[0] for at in marks.began[job.number])
