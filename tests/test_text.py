"""What crewtop.text promises: nothing that a task wrote can drive a terminal, fail a write or show a secret."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewtop.text import MASK, masked, masked_body, masked_json, shown, storable, storable_json

# Every code point, lone surrogates among them, and the ones that do harm more often than chance would bring them.
HARMFUL = "\0\a\b\t\n\r\x1b\x7f\x85\x9b\u00ad\u061c\u200b\u200d\u200f\u2028\u202e\u2066\ud83d\ude00\ufe0f\ufeff\u0301"
ANY_CHAR = st.characters(codec=None, exclude_categories=()) | st.sampled_from(HARMFUL)
ANY_TEXT = st.text(ANY_CHAR)


# shown -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "picture"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b[2J\x1b[H", "␛[2J␛[H"),
        ("\x1b]0;title\a", "␛]0;title␇"),
        ("\x1b]52;c;aGk=\x1b\\", "␛]52;c;aGk=␛\\"),
        ("\x1b]8;;http://x\x1b\\link", "␛]8;;http://x␛\\link"),
        ("\x1b[?1049h", "␛[?1049h"),
        ("\x9b2J", "<U+009B>2J"),
        ("ends with \x1b", "ends with ␛"),
        ("ok\rFAILED", "ok␍FAILED"),
        ("\b" * 40, "␈" * 40),
        ("\0", "␀"),
        ("\x7f", "␡"),
        ("a\tb\nc", "a b⏎c"),
        ("user\u202etxt.exe", "user<U+202E>txt.exe"),
        ("zero\u200bwidth", "zero<U+200B>width"),
        ("line\u2028line", "line<U+2028>line"),
        ("half \ud83d pair", "half <U+D83D> pair"),
        ("\ue0b0", "<U+E0B0>"),
        ("\U000e0041", "<U+E0041>"),
        ("family 👨\u200d👩", "family 👨<U+200D>👩"),
    ],
)
def test_what_a_terminal_would_obey_hide_or_reorder_becomes_visible(raw: str, picture: str) -> None:
    assert shown(raw) == picture


@pytest.mark.parametrize(
    "text",
    [
        "see [/] here",
        "a[/",
        "{p}/{t}[/{n}]/read",
        "[bold]x",
        "[key=14629,state=CLOSED]",
        "[@click=app.quit]press[/]",
    ],
)
def test_markup_is_shown_character_for_character(text: str) -> None:
    assert shown(text) == text


@pytest.mark.parametrize(
    "text", ["", "Grüße aus Köln", "注文 A-1042", "naïve cafe\u0301", "12\u00a0€", "✓ done 🎉", "مرحبا"]
)
def test_writing_of_all_kinds_stays_as_it_is(text: str) -> None:
    assert shown(text) == text


def test_lines_keep_newline_and_tab_and_nothing_else() -> None:
    assert shown("a\tb\r\nc\x0bd", lines=True) == "a\tb␍\nc␋d"


def test_an_emoji_style_goes_where_it_styles_something_and_is_seen_where_it_does_not() -> None:
    assert shown("⚠\ufe0f stop") == "⚠ stop"
    assert shown("\ufe0f") == "<U+FE0F>"
    assert shown("a\ufe0f\ufe0f") == "a<U+FE0F>"


def test_a_pile_of_combining_marks_is_taken_apart() -> None:
    assert shown("a" + "\u0301" * 6) == "a" + "\u0301" * 4 + "<U+0301><U+0301>"


@given(ANY_TEXT, st.booleans())
def test_nothing_that_is_shown_can_act(text: str, lines: bool) -> None:
    picture = shown(text, lines=lines)
    allowed = {"\n", "\t"} if lines else set()
    harmful = {c for c in picture if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")} - allowed
    assert not harmful
    picture.encode("utf-8")


@given(ANY_TEXT, st.booleans())
def test_showing_twice_is_showing_once(text: str, lines: bool) -> None:
    assert shown(shown(text, lines=lines), lines=lines) == shown(text, lines=lines)


@given(st.text(ANY_CHAR, min_size=1))
def test_what_is_there_is_seen(text: str) -> None:
    assert shown(text)


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], exclude_characters="\u115f\u1160\u3164\uffa0")))
def test_printable_text_is_untouched(text: str) -> None:
    assert shown(text) == text


# storable --------------------------------------------------------------------------------------------------------


def as_stored(value: Any) -> Any:
    """A value of parsed JSON with every character that PostgreSQL refuses replaced, keys included."""
    if isinstance(value, dict):
        return {as_stored(key): as_stored(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_stored(item) for item in value]
    return (
        "".join("\ufffd" if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in value)
        if isinstance(value, str)
        else value
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


def test_nul_and_lone_surrogates_are_replaced_and_counted() -> None:
    assert storable("POZ\0FB \ud800") == ("POZ\ufffdFB \ufffd", 2)
    assert storable("whole \U0001f600") == ("whole \U0001f600", 0)


@given(ANY_TEXT)
def test_what_is_stored_is_utf8_without_nul(text: str) -> None:
    stored, replaced = storable(text)
    assert "\0" not in stored
    assert stored.encode("utf-8").decode("utf-8") == stored
    assert replaced == sum(a != b for a, b in zip(text, stored, strict=True))


@pytest.mark.parametrize(
    ("raw", "stored", "replaced"),
    [
        (r'"a\u0000b"', '"a\ufffdb"', 1),
        (r'"a\\u0000b"', r'"a\\u0000b"', 0),
        (r'"a\\\u0000b"', '"a\\\\\ufffdb"', 1),
        (r'"\ud83d\ude00"', r'"\ud83d\ude00"', 0),
        (r'"\uD83D"', '"\ufffd"', 1),
        (r'"\ud83d\ud83d\ude00"', '"\ufffd' + r'\ud83d\ude00"', 1),
        (r'"\ude00\ud83d"', '"\ufffd\ufffd"', 2),
        (r'"\\ud83d"', r'"\\ud83d"', 0),
        ('"raw \0 and \udfff"', '"raw \ufffd and \ufffd"', 2),
        (r'{"k\u0000": "\n\u00e9"}', '{"k\ufffd": "' + r'\n\u00e9"}', 1),
    ],
)
def test_json_loses_only_what_postgres_cannot_hold(raw: str, stored: str, replaced: int) -> None:
    assert storable_json(raw) == (stored, replaced)


@given(JSON, st.booleans())
def test_stored_json_means_the_same(value: Any, escaped: bool) -> None:
    text = json.dumps(value, ensure_ascii=escaped)
    assert json.loads(storable_json(text)[0]) == as_stored(json.loads(text))


# masked ----------------------------------------------------------------------------------------------------------

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
FAKE = "Zq7" + LETTERS[20:57]
"""Stands for the random part of a key; long enough for each kind."""

KEYS = [
    "sk-" + FAKE,
    "sk-proj-" + FAKE,
    "sk-ant-api03-" + FAKE,
    "ghp_" + FAKE,
    "github_pat_" + FAKE,
    "glpat-" + FAKE,
    "xoxb-" + FAKE,
    "AKIA" + "Q7ZXCVBNMASDFGHJ",
    "AIza" + FAKE,
    "hf_" + FAKE,
    "gsk_" + FAKE,
    "sk_live_" + FAKE,
    f"eyJhbGciOiJIUzI1NiJ9.{FAKE}.{FAKE}",
]
PLACES = [
    "{}",
    "401 Incorrect API key provided: {}. See the docs.",
    "('{}',)",
    '{{"note": "used {} twice"}}',
    "  File 'x.py', line 3, in call\n    client = OpenAI({})\nAuthenticationError: bad",
    "curl -H 'X-Any: {}' https://example.com",
    "first,{},last",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_masked_wherever_it_stands(key: str, place: str) -> None:
    assert masked(place.format(key)) == place.format(MASK + key[-4:])


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("cannot reach postgres://u:pw@h/db today", "cannot reach postgres://u:••••@h/db today"),
        (r"{\"url\": \"postgres:\/\/u:pw@h\/db\"", r"{\"url\": \"postgres:\/\/u:••••@h\/db\""),
        ("redis://:p@ss/w0rd@h:6379", "redis://:••••@h:6379"),
        ("cut off: postgres://u:half", "cut off: postgres://u:••••"),
        ("Authorization: Bearer abc", "Authorization: Bearer ••••"),
        ("-H 'Authorization: Basic dXNlcjpwYXNz' x", "-H 'Authorization: Basic ••••YXNz' x"),
        ("headers={'Authorization': 'Bearer abc', 'n': 1}", "headers={'Authorization': '••••', 'n': 1}"),
        ("sent Bearer q1w2e3r4 to it", "sent Bearer •••• to it"),
        ("OpenAI(api_key='abc', n=1)", "OpenAI(api_key='••••', n=1)"),
        ("OpenAI(api_key=SecretStr('abc'))", "OpenAI(api_key=SecretStr('••••'))"),
        ("password=b'abc'", "password=b'••••'"),
        ('{"api_key": "abc", "n": 1}', '{"api_key": "••••", "n": 1}'),
        (r'"{\"password\": \"a\\\"b\", \"n\": 1}"', r'"{\"password\": \"••••\", \"n\": 1}"'),
        ('"api_keys": ["a", "b"], "n": 1', '"api_keys": [••••], "n": 1'),
        ("password: hunter2", "password: ••••"),
        ("password=P@ss;word", "password=••••"),
        ("password=12345", "password=••••"),
        ('password="half a string', 'password="••••ring'),
        ("https://x/y?api_key=abc&page=2", "https://x/y?api_key=••••&page=2"),
        ("OPENAI_API_KEY=abc DB_PASS=def", "OPENAI_API_KEY=•••• DB_PASS=••••"),
        ("run --api-key abc --token=def -v", "run --api-key •••• --token=•••• -v"),
        ("API key: abc123", "API key: ••••"),
        ("x-api-key: abc", "x-api-key: ••••"),
        ("clientSecret=abc; accessToken: d3f", "clientSecret=••••; accessToken: ••••"),
        ("Cookie: a=b; c=d\nHost: x", "Cookie: ••••\nHost: x"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY----- after",
            "-----BEGIN RSA PRIVATE KEY-----••••-----END RSA PRIVATE KEY----- after",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIE", "-----BEGIN PRIVATE KEY-----••••"),
    ],
)
def test_a_secret_is_masked_by_its_name_or_its_form(raw: str, safe: str) -> None:
    assert masked(raw) == safe


@pytest.mark.parametrize(
    "text",
    [
        "tokens: 120, max_tokens=4096, token: 120",
        "author: Ann, secretary: Bob, session_id=7f3a9c, api_key_id: 12",
        "Invalid token: expired",
        "password: required",
        "First pass: cleanup. Signature: John Smith",
        "http://localhost:8080/users/@me",
        "http://127.0.0.1:5432",
        "mail bob@example.com at 14:02:11, order A-1042, run 7f3a9c, $3.41",
        "task-management-of-the-things uses sk-learn-based-pipelines",
        "the bearer of bad news has a basic understanding; Bearer authentication",
        '{"keyboard": "us", "monkey": "x", "key": "value", "auth": true}',
    ],
)
def test_what_is_no_secret_is_not_masked(text: str) -> None:
    assert masked(text) == text


# With a digit: 'password: undefined' says something about a password, and stays.
SECRET = st.from_regex(r"[A-Za-z][A-Za-z0-9_+/=.-]{6,58}[0-9]", fullmatch=True)
FORMS = [
    "api_key={}",
    'x "api_key": "{}", y',
    "{{'password': '{}'}}",
    "postgres://bob:{}@db1/shop",
    "Authorization: Bearer {}",
    "--secret {}",
    r'"{{\"client_secret\": \"{}\"}}"',
    "AWS_SECRET_ACCESS_KEY={}\n",
]


@given(SECRET, st.sampled_from(FORMS))
def test_of_a_secret_at_most_the_last_four_characters_are_seen(secret: str, form: str) -> None:
    safe = masked(form.format(secret))
    assert secret[:-4] not in safe
    assert safe in (form.format(MASK), form.format(MASK + secret[-4:] if len(secret) >= 12 else MASK))


FRAGMENTS = [
    *KEYS,
    *FORMS,
    *LETTERS,
    MASK,
    "••••abcd",
    "://",
    ":",
    "@",
    "=",
    " ",
    "\n",
    '"',
    "'",
    "\\",
    ",",
    ";",
    "&",
]
FRAGMENTS += [
    "(",
    ")",
    "[",
    "]",
    "Bearer ",
    "token",
    "auth",
    "cookie: ",
    "-----BEGIN PRIVATE KEY-----",
    "eyJ",
    "--",
    ".",
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join))
def test_masking_twice_is_masking_once(text: str) -> None:
    assert masked(masked(text)) == masked(text)


@given(ANY_TEXT)
def test_masking_never_fails(text: str) -> None:
    masked(text)


# masked_json -----------------------------------------------------------------------------------------------------


def test_json_is_masked_by_key_and_by_value() -> None:
    inputs = {
        "order": "A-1042",
        "api_key": "abc",
        "auth": {"token": "def", "user": "bob", "method": "basic"},
        "session": 17,
        "tokens": 120,
        "token": 5,
        "secrets": {"db": {"user": "bob", "pin": 1234, "on": True, "old": None}},
        "credentials": ["bob", "pw"],
        "note": "use postgres://u:pw@h/db",
        "list": [{"password": 12345}, "sk-" + FAKE],
        "sk-" + FAKE: 1,
    }
    assert masked_json(inputs) == {
        "order": "A-1042",
        "api_key": MASK,
        "auth": {"token": MASK, "user": "bob", "method": "basic"},
        "session": 17,
        "tokens": 120,
        "token": 5,
        "secrets": {"db": {"user": MASK, "pin": MASK, "on": True, "old": None}},
        "credentials": [MASK, MASK],
        "note": "use postgres://u:••••@h/db",
        "list": [{"password": MASK}, MASK + FAKE[-4:]],
        MASK + FAKE[-4:]: 1,
    }


@pytest.mark.parametrize(
    "key", ["apiKey", "API_KEY", "api_key_2", "userPassword", "password_hash", "X-Auth-Token", "dsn"]
)
def test_a_key_names_a_secret_by_its_last_words(key: str) -> None:
    assert masked_json({key: "abc"}) == {key: MASK}


@pytest.mark.parametrize("key", ["author", "secretary", "max_tokens", "token_limit", "key", "session_id", "passenger"])
def test_a_key_that_only_resembles_one_does_not(key: str) -> None:
    assert masked_json({key: "abc"}) == {key: "abc"}


def test_json_nested_beyond_reason_is_cut_rather_than_fatal() -> None:
    nested = json.loads("[" * 900 + "]" * 900)
    assert "…" in json.dumps(masked_json(nested), ensure_ascii=False)


@given(JSON)
def test_json_masked_twice_is_masked_once(value: Any) -> None:
    assert masked_json(masked_json(value)) == masked_json(value)


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ('{"credentials": {"user": "bob"}}', '{"credentials": {"user": "••••"}}'),
        ('{"n":1,  "tokens":2.50}', '{"n":1,  "tokens":2.50}'),
        ('{"credentials": {"password": "b', '{"credentials": {"password": "••••'),
        ("password=abc", "password=••••"),
        ("[" * 5_000, "[" * 5_000),
    ],
)
def test_a_body_is_masked_as_what_it_is(raw: str, safe: str) -> None:
    assert masked_body(raw) == safe
