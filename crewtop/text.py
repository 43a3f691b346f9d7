"""The one sanitiser and the one masker: text from tasks becomes safe to show, and safe to store.

What a crew, a model or a web page wrote reaches a terminal as shown(masked(text)), in that order: a secret is found
in what was written, not in its picture. What goes into PostgreSQL passes storable or storable_json.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache

# Pictures ------------------------------------------------------------------------------------------------------------

_CONTROLS = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}
_ONE_LINE = _CONTROLS | {ord("\n"): "⏎", ord("\t"): " "}
_MANY_LINES = _CONTROLS | {ord("\n"): "\n", ord("\t"): "\t"}

# Python calls these printable, Unicode calls them Default_Ignorable_Code_Point: they draw nothing.
_DRAWS_NOTHING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)

# One selector after a character only chooses between its text and its emoji drawing, and terminals disagree on the
# width of what comes out, which would shift the rest of the line.
_EMOJI_STYLE = re.compile("[\ufe0e\ufe0f](?<=[^\ufe00-\ufe0f].)", re.DOTALL)

# No writing piles up more than four of these on one letter; a pile of thousands is one cell wide and a megabyte long.
_MARK = "[\u0300-\u034e\u0350-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_PILED_MARKS = re.compile(f"({_MARK}{{4}})({_MARK}+)")


class _Pictures(dict[int, int | str]):
    """A table for str.translate that works out each character once, and lives for one call only."""

    def __missing__(self, code: int) -> str:
        self[code] = picture = _picture(chr(code))
        return picture


def _picture(char: str) -> str:
    visible = char.isprintable() or unicodedata.category(char) == "Zs"
    return char if visible and not _DRAWS_NOTHING.match(char) else _code_point(char)


def _code_point(char: str) -> str:
    return f"<U+{ord(char):04X}>"


def shown(text: str, *, lines: bool = False) -> str:
    """The text with everything visible that a terminal would obey, hide or reorder; the rest as it is.

    C0 controls and DEL become their pictures (ESC is '␛', CR is '␍'). C1 controls, lone surrogates, bidirectional and
    zero-width characters, other separators of lines, private and unassigned ones, and combining marks beyond four in
    a row become '<U+009B>' and the like. A newline becomes '⏎' and a tab a space, unless lines is set: then both stay.
    An emoji style selector after a character is dropped. Takes time linear in the text; shown(shown(x)) == shown(x).
    """
    if not text.isascii():
        text = _EMOJI_STYLE.sub("", text)
        text = _PILED_MARKS.sub(lambda pile: pile[1] + "".join(map(_code_point, pile[2])), text)
    rest = text.replace("\n", "").replace("\t", "") if lines else text
    if rest.isprintable() and not _DRAWS_NOTHING.search(rest):
        return text
    return text.translate(_Pictures(_MANY_LINES if lines else _ONE_LINE))


# Storing -------------------------------------------------------------------------------------------------------------

_REPLACEMENT = "\ufffd"
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_JSON_UNSTORABLE = re.compile(
    r"""(?P<kept> \\u[dD][89abAB][0-9a-fA-F]{2} \\u[dD][c-fC-F][0-9a-fA-F]{2}   # a pair: one whole character
               |  \\(?!u0000|u[dD][89a-fA-F]) . )                               # any other escape, '\\' among them
      | \\u0000 | \\u[dD][89a-fA-F][0-9a-fA-F]{2} | [\0\ud800-\udfff]""",
    re.VERBOSE | re.DOTALL,
)


def storable(text: str) -> tuple[str, int]:
    """The text as PostgreSQL can hold it: NUL and lone surrogates become U+FFFD. Returns it with how many were."""
    return _UNSTORABLE.subn(_REPLACEMENT, text)


_JSON_SUSPECT = re.compile(r"\\u0000|\\u[dD][89a-fA-F]|[\x00\ud800-\udfff]")


def storable_json(text: str) -> tuple[str, int]:
    """JSON text as PostgreSQL's json type can hold it and its ->> operator can read it, and how many were replaced.

    The characters of storable become U+FFFD, whether they stand there raw or as an escape. An escaped backslash before
    'u0000' is no escape, and a surrogate pair is one character: both stay.
    """
    if "\\u" not in text:
        return storable(text)
    if not _JSON_SUSPECT.search(text):  # fast, where the other way takes a second for some megabytes of escapes
        return text, 0
    replaced = 0

    def clean(match: re.Match[str]) -> str:
        nonlocal replaced
        if match["kept"]:
            return match["kept"]
        replaced += 1
        return _REPLACEMENT

    return _JSON_UNSTORABLE.sub(clean, text), replaced


# Masking -------------------------------------------------------------------------------------------------------------

MASK = "••••"
"""Stands for a secret; the last four characters of a long one may follow it."""

_MASKED = re.compile(MASK + r"[A-Za-z0-9_-]{0,4}")
_TAIL = re.compile(r"[A-Za-z0-9_-]{4}\Z")

# Decides on a name's last words, after 'apiKey' and 'API-KEY' have become 'api_key'. The doubtful ones name other
# things too: a number under them is a count, and an object under them is read by its own names.
_SECRET_NAME = re.compile(
    r"""(?:^|_) (?: (?P<doubtful>token|auth|session|(?<=_)pass)
      | passwords? | passwd | passphrase | passcode | pwd? | secrets? | credentials? | cookies? | authorization | bearer
      | jwt | dsn | (?<=_)signature | (?:api|access|private|secret)keys?
      | (?:api|access|private|secret|auth|signing|encryption|master|account|shared|service|webhook|ssh|deploy)_keys?
    ) (?: _(?:[0-9]+|value|hash|string|text|b64|base64|pem|header|plain) )* \Z""",
    re.VERBOSE,
)
_SAYS_ABOUT_SECRET = re.compile(
    "none|null|nil|true|false|undefined|unset|empty|unknown|missing|required|optional|invalid|wrong|incorrect|expired|"
    "revoked|denied|rejected|failed|closed|disabled|enabled|not|is|was|must|has|cannot|str|string|bytes|int|bool",
    re.IGNORECASE,
)
_NAME_END = 100  # characters of a name that are looked at, so that the cache of names stays small
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

# A run of name characters with what makes it a name: 'x=', 'x: ', '"x": ', 'API key: ', '--x '.
_NAME = re.compile(
    r"""(?<![\w.-]) (?<!••••) (?P<flag>--)? (?P<name>[\w.-]++(?:[ ]key)?)
        (?: \\*["']? [ \t]*[:=][=>]?[ \t]* | (?(flag)[ ]+|(?!)) )""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
_VALUE = re.compile(
    r"""(?:[\w.]*+\()? [bfru]? (?P<quote>\\*["'`]) (?P<quoted>(?:(?!(?P=quote))\\*+[^\\\r\n])*+)
      | (?P<list>\[[^\[\]]*\])
      | (?:(?:bearer|basic|token|apikey|digest|negotiate)[ ]+)?
        (?P<bare>(?: [^ \t\r\n"'`,;&()\[\]{}<>]
                   | [,;&()\[\]{}<>](?=[^ \t\r\n"'`,;&()\[\]{}<>=:]+(?:[ \t\r\n]|\Z)) )+)""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
_REST_OF_LINE = re.compile(r"(?P<bare>[^\r\n\"']+)")
_PRIVATE_KEY = re.compile(
    r"(-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----).*?(-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
# The password of a URL reaches to the last '@' of the word. At the very end of a text it may have been cut off.
_URL_PASSWORD = re.compile(
    r"""(:\\?/\\?/[^\s:/@"'<>`]*:) (?!\d+[/?\#])
        (?P<secret> (?:(?!:\\?/\\?/)[^\s"'<>`])+(?=@) | (?!\d{1,5}\Z)[^\s"'<>`/@]+\Z )""",
    re.VERBOSE,
)
_SHAPE = re.compile(
    r"""(?<![A-Za-z0-9]) (?<!••••)
        (?: (?P<sure> github_pat_\w{16,} | gh[opsur]_[A-Za-z0-9]{16,} | glpat-[\w-]{12,} | xox[a-z]-[\w-]{8,}
              | (?:AKIA|ASIA)[0-9A-Z]{16,} | AIza[\w-]{30,} | (?:hf|gsk)_[A-Za-z0-9]{16,}
              | (?:sk|rk)_(?:live|test)_\w{8,}
              | (?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)? )
          | (?P<likely> sk-[\w-]{12,} )
          | (?i:bearer)[ ]+(?P<bearer> [\w.~+/=-]{8,} ) )""",
    re.ASCII | re.VERBOSE,
)


def masked(text: str) -> str:
    """The text with its secrets replaced by '••••', and by their last four characters where they have 12 or more.

    Found by name (api_key=x, "password": "x", Authorization: Bearer x, --token x) and by shape (passwords in URLs,
    private keys, the tokens of well-known services). masked(masked(x)) == masked(x).
    """
    text = _PRIVATE_KEY.sub(rf"\1{MASK}\2", text)
    text = _mask_named(text)
    text = _URL_PASSWORD.sub(_mask_url, text)
    return _SHAPE.sub(_mask_shape, text)


def masked_json(value: object) -> object:
    """Parsed JSON with its secrets masked, by the name of their key as well as in the text of strings.

    Under a key such as password or credentials everything but true, false and null is masked, however deep. Under
    token, auth, session and pass numbers stay, for they count things, and objects are read by their own keys.
    What lies deeper than 100 levels is replaced by '…'.
    """
    return _mask_tree(value, hide=False, depth=100)


def masked_body(text: str) -> str:
    """A long text masked: as masked_json does if it is JSON, else as prose. Text without secrets stays as it was."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return masked(text)
    safe = masked_json(value)
    return text if safe == value else json.dumps(safe, ensure_ascii=False)


def _mask_tree(value: object, *, hide: bool, depth: int) -> object:
    if depth == 0:
        return "…"
    if isinstance(value, dict):
        return {masked(str(key)): _mask_member(str(key), item, hide, depth - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_mask_tree(item, hide=hide, depth=depth - 1) for item in value]
    if isinstance(value, str):
        return _mask(value) if hide else masked(value)
    if hide and isinstance(value, int | float) and not isinstance(value, bool):
        return MASK
    return value


def _mask_member(key: str, value: object, hide: bool, depth: int) -> object:
    name = _secret_name(key[-_NAME_END:])
    if name and name["doubtful"] and isinstance(value, dict | int | float):
        return _mask_tree(value, hide=hide, depth=depth)
    return _mask_tree(value, hide=hide or name is not None, depth=depth)


@lru_cache(maxsize=1024)
def _secret_name(key: str) -> re.Match[str] | None:
    """What makes a key the name of a secret, or None: api_key and userPassword2 are such names, token_limit is not."""
    return _SECRET_NAME.search("_".join(_WORD.findall(key)).lower())


def _mask_named(text: str) -> str:
    parts: list[str] = []
    done = 0
    for match in _NAME.finditer(text):
        name = _secret_name(match["name"][-_NAME_END:]) if match.start() >= done else None
        if name is None:
            continue
        is_header = "cookie" in name[0] and text[match.end() - 1] == " "
        value = (_REST_OF_LINE if is_header else _VALUE).match(text, match.end())
        if value and value.lastgroup:
            start, end = value.span(value.lastgroup)
            parts += text[done:start], _mask_value(name, value[value.lastgroup])
            done = end
    return "".join(parts) + text[done:]


def _mask_value(name: re.Match[str], value: str) -> str:
    if value.startswith("[") and value.endswith("]"):
        return f"[{MASK}]"
    if _SAYS_ABOUT_SECRET.fullmatch(value) or (name["doubtful"] and value.isdigit()):
        return value
    return _mask(value)


def _mask_url(match: re.Match[str]) -> str:
    return match[1] + _mask(match["secret"])


def _mask_shape(match: re.Match[str]) -> str:
    if match["sure"]:
        return _mask(match["sure"])
    secret: str = match["likely"] or match["bearer"]
    if not any(char.isdigit() for char in secret) and len(max(secret.split("-"), key=len)) < 16:
        return match[0]
    return match[0].removesuffix(secret) + _mask(secret)


def _mask(secret: str) -> str:
    if not secret or _MASKED.fullmatch(secret):
        return secret
    tail = _TAIL.search(secret) if len(secret) >= 12 else None
    return MASK + (tail[0] if tail else "")
