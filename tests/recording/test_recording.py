"""Files: what was recorded is found again at any second, whatever became of the writer and of the bytes."""

from __future__ import annotations

import json
import os
import resource
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import tzset

import pytest

from crewtop.model.snapshot import Health, Point, Snapshot
from crewtop.recording.cut import cut
from crewtop.recording.file import FRAMES, HEAD, MARK, About, Packer, RecordingError, beginning, sum_of, unpacked
from crewtop.recording.instants import InstantError, instant_of
from crewtop.recording.reader import open_recording
from crewtop.recording.rolling import Rolling, only_writer
from crewtop.recording.writer import Full, Writer
from tests.tui.fixtures import BUSY, EMPTY, INCIDENT, NOW

LARGE = 10**9


def at(second: float, base: Snapshot = EMPTY) -> Snapshot:
    return replace(base, at=NOW + timedelta(seconds=second), running_total=int(second))


def recorded(path: Path, seconds: int, *, close: bool = True, base: Snapshot = EMPTY) -> Path:
    writer = Writer(path, "shop on db1", 1.0, LARGE)
    for second in range(seconds):
        writer.write(at(second, base))
    if close:
        writer.close()
    return path


def write_all(writer: Writer, seconds: int) -> None:
    for second in range(seconds):
        writer.write(at(second))


def noise(second: int, n: int) -> Point:
    """A point that nothing before is like."""
    return replace(BUSY.series[n], backlog=hash((second, n)) % 10**9)


def when(second: float) -> datetime:
    return NOW + timedelta(seconds=second)


def refusal(path: Path) -> str | None:
    """Why the last picture of a file cannot be shown, or None."""
    try:
        recording = open_recording(path)
        recording.at(recording.end)
    except RecordingError as error:
        return str(error)
    return None


def test_any_second_is_found(tmp_path: Path) -> None:
    recording = open_recording(recorded(tmp_path / "a.crewtop", 2 * FRAMES + 10))
    assert (recording.begin, recording.end) == (NOW, when(2 * FRAMES + 9))
    assert recording.about.where == "shop on db1"
    for second in (0, FRAMES - 1, FRAMES, 7, 2 * FRAMES + 9, 2 * FRAMES):
        assert recording.at(when(second + 0.4)).snapshot == at(second)
    assert recording.at(when(-5)).snapshot == at(0)
    assert recording.at(when(9_999)).snapshot == at(2 * FRAMES + 9)


def test_steps_go_over_the_borders_of_segments_and_stop_at_the_ends(tmp_path: Path) -> None:
    recording = open_recording(recorded(tmp_path / "a.crewtop", FRAMES + 10))
    assert recording.step(when(FRAMES), -1).snapshot == at(FRAMES - 1)
    assert recording.step(when(FRAMES - 1), 2).snapshot == at(FRAMES + 1)
    assert recording.step(NOW, -1).snapshot == at(0)
    assert recording.step(when(5), 9_999).snapshot == at(FRAMES + 9)


def test_a_writer_that_was_killed_leaves_every_whole_picture(tmp_path: Path) -> None:
    recording = open_recording(recorded(tmp_path / "a.crewtop", FRAMES + 3, close=False))
    assert recording.end == when(FRAMES + 2)
    assert recording.at(recording.end).snapshot == at(FRAMES + 2)


@pytest.mark.parametrize("closed", [True, False])
def test_cut_off_at_any_byte_it_opens_up_to_the_last_whole_picture(tmp_path: Path, closed: bool) -> None:
    whole = recorded(tmp_path / "a.crewtop", 4, close=closed).read_bytes()
    seen = set()
    for size in range(len(whole)):
        part = tmp_path / "part.crewtop"
        part.write_bytes(whole[:size])
        if (told := refusal(part)) is not None:
            assert "cut off" in told or "nothing is recorded" in told
            seen.add(-1)
        else:
            recording = open_recording(part)
            last = int((recording.end - NOW).total_seconds())
            assert recording.at(recording.end).snapshot == at(last)
            seen.add(last)
    assert {-1, 0, 1, 2} <= seen


def test_a_damaged_byte_is_told_in_one_line_or_does_no_harm(tmp_path: Path) -> None:
    whole = bytearray(recorded(tmp_path / "a.crewtop", 3, base=BUSY).read_bytes())
    part = tmp_path / "part.crewtop"
    for place in range(0, len(whole), 7):
        part.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        told = refusal(part)
        assert told is None or (told.startswith(str(part)) and "\n" not in told)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"crewtop recording 2\n{}\n", "version 2, and this crewtop reads up to 1: use a newer one"),
        (b"PNG and so on", "no recording of crewtop"),
        (b"", "cut off before its first picture"),
        (b"crewtop recording 1\n{\n", "damaged"),
    ],
)
def test_what_is_no_recording_of_this_version_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "b.crewtop"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=told):
        open_recording(path)


def test_what_comes_before_damage_is_shown_and_the_rest_is_told(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.crewtop", FRAMES + 5)
    first = open_recording(path).segments[0]
    whole = path.read_bytes()
    cut_at = whole.index(MARK, first.offset + first.length)
    path.write_bytes(whole[:cut_at] + bytes(len(whole) - cut_at))  # as a power cut leaves what was not yet on the disk
    recording = open_recording(path)
    assert recording.end == when(FRAMES - 1)
    assert recording.damage == [f"{path}: damaged at byte {cut_at:,}: what comes after it cannot be shown"]


def test_a_segment_that_repeats_one_row_cannot_fill_the_memory(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.crewtop", 1, base=BUSY)
    [segment] = open_recording(path).segments
    schema, first = (json.loads(line) for line in unpacked(segment))
    queues = first[1][schema["schema"]["Snapshot"].index("queues")]
    queues[0][schema["schema"]["QueueRow"].index("waits")] = [1] * 20_000
    again = [{"rows": [{"at": 0}, 1] * 20_000} if plain is queues else 0 for plain in first[1]]
    packer = Packer()
    lines = [schema, first, [first[0] + 1, again, []]]
    data = b"".join(map(packer.line, lines)) + packer.end()
    head = HEAD.pack(MARK, len(data), len(total := sum_of(segment.end, [])), first[0])
    path.write_bytes(path.read_bytes()[: segment.offset - HEAD.size] + head + data + total)
    with pytest.raises(RecordingError, match="a snapshot of more than 2,000,000 values"):
        open_recording(path).at(when(9))


@pytest.mark.parametrize("line", [b"[]", b"7", b"[1]", b"[1e999,0,[]]", b'{"a":1}', b"[1,0,0]", b"[null,0,[[]]]"])
def test_a_line_that_crewtop_never_wrote_is_told(tmp_path: Path, line: bytes) -> None:
    packer = Packer()
    path = tmp_path / "a.crewtop"
    data = packer.line({"schema": {}}) + packer.raw(line)
    path.write_bytes(beginning(About("shop", 1.0, "1")) + HEAD.pack(MARK, 0, 0, 0) + data)
    assert (refusal(path) or "").startswith(f"{path}: damaged")


def test_a_file_that_went_meanwhile_is_told(tmp_path: Path) -> None:
    recording = open_recording(recorded(tmp_path / "a.crewtop", 3))
    (tmp_path / "a.crewtop").unlink()
    with pytest.raises(RecordingError, match="cannot be read: No such file"):
        recording.at(NOW)


def test_a_file_is_never_written_over(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.crewtop", 2)
    with pytest.raises(RecordingError, match="exists: choose another name"):
        Writer(path, "", 1.0, LARGE)


def test_a_full_file_says_so_and_keeps_what_it_has(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a.crewtop", "shop", 1.0, 2_500)
    with pytest.raises(Full, match=r"largest size of 0\.0025 MB"):
        write_all(writer, 1_000)
    writer.close()
    recording = open_recording(writer.path)
    assert writer.path.stat().st_size <= 2_500
    assert recording.end == writer.end
    assert recording.at(recording.end).snapshot.running_total > 3


@pytest.mark.parametrize("most_bytes", range(2_000, 2_400, 7))
def test_no_file_is_larger_than_it_may_be_whenever_it_ends(tmp_path: Path, most_bytes: int) -> None:
    writer = Writer(tmp_path / "a.crewtop", "shop", 1.0, most_bytes)
    with suppress(Full):
        for second in range(12):
            writer.write(replace(INCIDENT, at=when(second), running=(), series=()))
            assert refusal(writer.path) is None
    writer.close()
    assert writer.path.stat().st_size <= most_bytes


def test_a_disk_that_takes_nothing_leaves_no_file_behind(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(RecordingError, match="cannot be written: File too large"):
            Writer(tmp_path / "a.crewtop", "shop", 1.0, LARGE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.iterdir())


def test_a_clock_that_goes_back_loses_no_picture(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a.crewtop", "shop", 1.0, LARGE)
    for second in (10, 11, 2, 3, 12):
        writer.write(at(second))
    writer.close()
    recording = open_recording(writer.path)
    place, seen = recording.begin, []
    for _ in range(5):
        seen.append(recording.at(place).snapshot.running_total)
        place = recording.step(place, 1).at
    assert seen == [10, 11, 2, 3, 12]


def test_marks_tell_where_problems_begin(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a.crewtop", "shop", 1.0, LARGE)
    bad = replace(INCIDENT, at=when(2))
    for picture in (
        at(0),
        at(1),
        bad,
        replace(bad, at=when(3)),
        at(4),
        replace(EMPTY, at=when(5), redis=Health(False)),
    ):
        writer.write(picture)
    found = open_recording(writer.path).marks
    writer.close()
    assert found == open_recording(writer.path).marks
    assert {mark.at for mark in found} == {when(2), when(5)}
    assert ("wrong", "support: failing") in {(mark.severity, mark.name) for mark in found}


def test_a_span_is_cut_out_into_a_file_of_its_own(tmp_path: Path) -> None:
    whole = open_recording(recorded(tmp_path / "a.crewtop", 3 * FRAMES, base=BUSY))
    out = tmp_path / "incident.crewtop"
    size = cut(whole, when(FRAMES - 20.5), when(2 * FRAMES + 4.5), out)
    part = open_recording(out)
    assert size == out.stat().st_size < whole.segments[0].path.stat().st_size
    assert (part.begin, part.end) == (when(FRAMES - 21), when(2 * FRAMES + 4))
    for second in (FRAMES - 21, FRAMES, FRAMES + 50, 2 * FRAMES + 4):
        assert part.at(when(second)).snapshot == whole.at(when(second)).snapshot
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.crewtop", "incident.crewtop"]
    with pytest.raises(RecordingError, match="exists"):
        cut(whole, NOW, when(3), out)


def test_a_cut_of_what_is_damaged_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.crewtop", 2 * FRAMES)
    second = open_recording(path).segments[1]
    bytes_of = bytearray(path.read_bytes())
    bytes_of[second.offset + 40 : second.offset + 60] = bytes(20)
    path.write_bytes(bytes_of)
    with pytest.raises(RecordingError, match="damaged"):
        cut(open_recording(path), NOW, when(FRAMES + 9), tmp_path / "b.crewtop")
    assert [left.name for left in tmp_path.iterdir()] == ["a.crewtop"]


def test_a_cut_where_rows_came_and_went_reads_its_words(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a.crewtop", "shop", 1.0, LARGE)
    rows = [tuple(replace(row, task_id=100 * second + n) for n, row in enumerate(BUSY.running)) for second in range(20)]
    for second in range(20):
        writer.write(replace(BUSY, at=when(second), running=rows[second]))
    writer.close()
    cut(open_recording(writer.path), when(9), when(15), tmp_path / "b.crewtop")
    part = open_recording(tmp_path / "b.crewtop")
    assert [part.at(when(s)).snapshot.running for s in range(9, 16)] == rows[9:16]


def test_a_rolling_recording_drops_what_is_too_old(tmp_path: Path) -> None:
    rolling = Rolling(tmp_path, "shop", 1.0, hours=1.0, most_bytes=LARGE)
    for second in range(0, 400, 10):  # a file each 150 s
        rolling.write(at(second))
    first = sorted(tmp_path.glob("*.crewtop"))[0]
    os.utime(first, (1, 1))
    for second in range(400, 700, 10):
        rolling.write(at(second))
    rolling.close()
    assert not first.exists()
    recording = open_recording(tmp_path)
    assert recording.begin == when(150)
    assert recording.at(when(333)).snapshot == at(330)


def test_a_rolling_recording_never_takes_more_than_its_bytes(tmp_path: Path) -> None:
    rolling = Rolling(tmp_path, "shop", 1.0, hours=100.0, most_bytes=60_000)
    for second in range(500):
        rolling.write(replace(EMPTY, at=when(second), series=tuple(noise(second, n) for n in range(40))))
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 60_000
    rolling.close()
    recording = open_recording(tmp_path)
    assert recording.begin > NOW
    assert recording.end == when(499)


def test_a_problem_that_goes_on_is_marked_once_however_many_files_it_takes(tmp_path: Path) -> None:
    rolling = Rolling(tmp_path, "shop", 1.0, hours=1.0, most_bytes=LARGE)
    for second in range(0, 700, 10):  # a file each 150 s
        rolling.write(at(second, INCIDENT if second > 100 else EMPTY))
    rolling.close()
    marks = open_recording(tmp_path).marks
    assert len(list(tmp_path.glob("*.crewtop"))) == 5
    assert {mark.at for mark in marks} == {when(110)}


def test_one_file_that_cannot_be_read_leaves_the_others_shown(tmp_path: Path) -> None:
    recorded(tmp_path / "1.crewtop", 5)
    (tmp_path / "2.crewtop").write_bytes(b"")
    recording = open_recording(tmp_path)
    assert (recording.begin, recording.end) == (NOW, when(4))
    assert recording.damage == [f"{tmp_path / '2.crewtop'}: cut off before its first picture"]


def test_a_folder_that_cannot_be_tidied_is_told(tmp_path: Path) -> None:
    (tmp_path / "0.crewtop").symlink_to(tmp_path / "nowhere")
    with pytest.raises(RecordingError, match="cannot be tidied: No such file"):
        Rolling(tmp_path, "shop", 1.0, hours=1.0, most_bytes=LARGE).write(at(0))


def test_one_process_writes_and_the_others_are_told_what(tmp_path: Path) -> None:
    with only_writer(tmp_path / "r", "shop on db1") as held:
        assert held is None
        with only_writer(tmp_path / "r", "other") as second:
            assert second == "shop on db1"
    with only_writer(tmp_path / "r", "other") as third:
        assert third is None


@pytest.mark.parametrize(
    ("typed", "second"),
    [("14:02:20", 9), ("14:03", 49), ("14:02:20Z", 9), ("2026-03-14T14:02:20", 9), ("2026-03-14T15:02:20+01:00", 9)],
)
def test_times_as_typed(typed: str, second: float) -> None:
    assert instant_of(typed, NOW, when(100)) == when(second)


def test_a_time_of_day_is_the_newest_one_and_may_be_of_yesterday() -> None:
    assert instant_of("14:02:11", when(-86_400), when(60)) == NOW
    assert instant_of("23:00", when(-86_400), when(60)).day == NOW.day - 1


def test_a_time_is_of_the_day_s_own_side_of_a_change_of_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    tzset()
    try:
        begin = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)  # half an hour before it
        end = begin + timedelta(hours=3)
        assert instant_of("01:45", begin, end, utc=False) == begin + timedelta(minutes=15)
        assert instant_of("03:45", begin, end, utc=False) == begin + timedelta(minutes=75)
        with pytest.raises(InstantError, match="is no time"):
            instant_of("0001-01-01", begin, end, utc=False)
    finally:
        monkeypatch.undo()
        tzset()


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("13:00", "13:00 is not in the recording: it holds 2026-03-14 14:02:11Z to 2026-03-14 14:03:51Z"),
        ("25:00", "25:00 is no time of day: use one from 00:00 to 23:59:59"),
        ("noon", "'noon' is no time: use one like 14:03:10 or 2026-12-24T18:00:00"),
    ],
)
def test_what_is_no_time_of_the_recording_is_told(typed: str, told: str) -> None:
    with pytest.raises(InstantError) as caught:
        instant_of(typed, NOW, when(100))
    assert str(caught.value) == told
