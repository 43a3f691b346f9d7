"""Settings: which source wins, and how a mistake is told."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from crewtop.config import load
from crewtop.model.errors import CrewtopError


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "crewtop.toml"


def test_without_anything_there_are_defaults(file: Path) -> None:
    found = load()
    assert (found.file, found.folder, found.settings.worker.slots) == (None, file.parent, 4)


def test_flags_win_over_environment_over_file_over_defaults(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("[worker]\nslots = 2\nlease_seconds = 20\npoll_seconds = 3\n")
    monkeypatch.setenv("CREWTOP_WORKER__SLOTS", "5")
    monkeypatch.setenv("CREWTOP_WORKER__LEASE_SECONDS", "50")
    worker = load(flags={"worker": {"slots": 9}}).settings.worker
    assert (worker.slots, worker.lease_seconds, worker.poll_seconds, worker.grace_seconds) == (9, 50, 3, 30)


def test_servers_are_named_in_the_file_or_in_the_environment(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text('[postgres]\ndsn = "postgresql://file"\n[redis]\nurl = "redis://file"\n')
    assert load().settings.postgres.dsn == "postgresql://file"
    monkeypatch.setenv("CREWTOP_POSTGRES", "postgresql://environment")
    monkeypatch.setenv("CREWTOP_REDIS", "redis://environment")
    settings = load().settings
    assert (settings.postgres.dsn, settings.redis.url) == ("postgresql://environment", "redis://environment")


def test_crews_are_found_from_the_files_folder(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = file.parent / "deep"
    elsewhere.mkdir()
    (elsewhere / "shop.toml").write_text('[crews]\nsupport = "shop.crews:Support"\n')
    monkeypatch.setenv("CREWTOP_CONFIG", str(elsewhere / "shop.toml"))
    found = load()
    assert (found.settings.crews["support"].target, found.folder) == ("shop.crews:Support", elsewhere)


def test_a_crew_can_have_a_budget_and_a_backoff_of_its_own(file: Path) -> None:
    file.write_text('[crews]\nslow = {target = "shop:slow", budget_seconds = 9, backoff_seconds = 0.5}\n')
    slow = load(file).settings.crews["slow"]
    assert (slow.target, slow.budget_seconds, slow.backoff_seconds, slow.backoff_limit_seconds) == (
        "shop:slow", 9, 0.5, None,
    )  # fmt: skip


def test_own_prices_are_decimal_to_the_digit(file: Path) -> None:
    file.write_text('[llm.prices."openai/x"]\ninput = "0.1"\noutput = 0.3\ncache_read = "0.05"\n')
    rates = load().settings.rates()["openai/x"]
    assert (rates.input, rates.output, rates.cache_read, rates.cache_write) == (
        Decimal("0.1"),
        Decimal("0.3"),
        Decimal("0.05"),
        Decimal("0.1"),
    )


def test_schedules_and_retention(file: Path) -> None:
    file.write_text(
        '[schedules.nightly]\ncron = "30 2 * * *"\nzone = "Europe/Berlin"\ncrew = "report"\n'
        'inputs = {day = "today"}\npriority = "high"\nmissed = "all"\n'
        "[retention]\ncompleted_days = 1\nfailed_days = 0\n"
    )
    settings = load(file).settings
    nightly = settings.schedules["nightly"]
    assert (nightly.cron, nightly.zone, nightly.priority, nightly.queue) == (
        "30 2 * * *",
        "Europe/Berlin",
        2,
        "default",
    )
    assert settings.retention.seconds() == {"completed": 86_400.0, "cancelled": 30 * 86_400.0}, "0 is for ever"


def test_views_are_filters_by_name(file: Path) -> None:
    file.write_text('[views]\nmine = "status:failed crew:re*"\n"late-ones" = "age>1h"\nopen = \'error:"no answer\'\n')
    views = {"mine": "status:failed crew:re*", "late-ones": "age>1h", "open": 'error:"no answer"'}
    assert load(file).settings.views == views, "every quote is closed, so that more can follow"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[worker]\nslots = 0\n", r"crewtop.toml: worker.slots = 0: .* greater than or equal to 1"),
        ("[worker]\nslotz = 1\n", r"crewtop.toml: worker.slotz = 1: Extra inputs are not permitted"),
        ("[wurker]\n", r"crewtop.toml: wurker: Extra inputs"),
        ("[crews]\nx = 'shop'\n", r'x.target: name a crew as "module:attribute", not as "shop"'),
        ('[llm.prices."m"]\ninput = nan\noutput = 1\n', r"prices.m.input = nan: price = nan: a price is US dollars"),
        (
            "[schedules.n]\ncron = '61 * * * *'\ncrew = 'a'\n",
            r"crewtop.toml: schedules.n: cron '61 \* .*' cannot be used \(Bad minute\): use five fields, minute 0-59",
        ),
        (
            "[schedules.n]\ncron = '* * * * *'\nzone = 'CET/X'\ncrew = 'a'\n",
            r"schedules.n: zone 'CET/X' is unknown: use",
        ),
        ("[schedules.n]\ncron = '* * * * *'\ncrew = 'a'\nmissed = 'never'\n", r"n.missed: .*'skip', 'once' or 'all'"),
        (
            "[schedules.n]\ncron = '* * * * *'\ncrew = 'a'\npriority = 'top'\n",
            r"n.priority: 'top' is no priority: use 0",
        ),
        ("[schedules.n]\ncron = '* * * * *'\ncrew = 'a'\ninputs = {a = nan}\n", r"n.inputs: not JSON: Out of range"),
        ("[retention]\ncompleted_days = -1\n", r"retention.completed_days = -1: .* greater than or equal to 0"),
        ("[views]\nmine = 'status:done'\n", r"crewtop.toml: views: mine: status 'done' is unknown: use one of"),
        ("[views]\nb = '@a age>1h'\n", r"views: b: a view cannot begin with another one: write @a out"),
        ("[views]\n'a b' = ''\n", r"views.a b.*: String should match pattern"),
        ("not toml", r"crewtop.toml: .*line 1"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_key(file: Path, text: str, complaint: str) -> None:
    file.write_text(text)
    with pytest.raises(CrewtopError, match=complaint) as caught:
        load()
    assert "\n" not in str(caught.value)


def test_a_secret_in_the_wrong_place_is_not_repeated(file: Path) -> None:
    file.write_text('[postgres]\ndns = "postgresql://u:hunter2@h/db"\n')
    with pytest.raises(CrewtopError) as caught:
        load()
    assert "hunter2" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(file: Path) -> None:
    with pytest.raises(CrewtopError, match=r"nope.toml: there is no such file"):
        load(file.parent / "nope.toml")


def test_keys_and_limits_of_models_are_named_by_provider(file: Path) -> None:
    file.write_text(
        '[llm]\ntries = 5\n[llm.providers.openai]\nkeys = ["OPENAI_KEY_1", "/run/secrets/openai"]\n'
        '[llm.providers.local]\nbase_url = "http://127.0.0.1:1/v1"\n[llm.limits."openai/x"]\nrequests_per_minute = 60\n'
    )
    llm = load(file).settings.llm
    assert llm.keys() == {"openai": ("OPENAI_KEY_1", "/run/secrets/openai")}
    assert (llm.tries, llm.limits["openai/x"].requests_per_minute, llm.limits["openai/x"].at_once) == (5, 60, None)


def test_a_key_itself_in_the_file_is_refused_and_not_repeated(file: Path) -> None:
    file.write_text('[llm.providers.openai]\nkeys = ["sk-proj-abcdefgh1234"]\n')
    with pytest.raises(CrewtopError, match="name the environment variable or the file") as told:
        load(file)
    assert "sk-proj" not in str(told.value)


def test_a_crews_models_can_be_left_as_they_are(file: Path) -> None:
    file.write_text('[crews]\na = "shop:a"\nb = {target = "shop:b", llm = "as is"}\n')
    crews = load(file).settings.crews
    assert (crews["a"].llm, crews["b"].llm) == ("managed", "as is")
