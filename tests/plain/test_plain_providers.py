"""What the plain overview tells of providers and budgets."""

from __future__ import annotations

from dataclasses import replace

from crewtop.model.providers import Providers
from crewtop.plain import snapshot_text
from tests.tui.fixtures import BUSY, EMPTY, HELD_BACK

TOLD = """
LIMIT                   KEY               USED   REQUESTS/m   TOKENS/m  AT ONCE  STATE
deepseek/deepseek-chat  own                20%           12      20.4k     8/40  -
openai/all models       OPENAI_API_KEY     20%            0          0   41/200  -
openai/gpt-4.1          OPENAI_API_KEY     99%  2,994/3,000  1.3M/1.5M       41  resumes 00:27: limit reached
openai/gpt-4.1          OPENAI_API_KEY_2   34%  1,020/3,000  401k/1.5M        0  resumes 00:58: the provider…
openai/gpt-4.1-mini     OPENAI_API_KEY      8%    812/10.0k       190k        3  -

BREAKER                    STATE
anthropic/claude-sonnet-4  open: overloaded, 7 in a row, tried again 00:12, in 2 workers
google/gemini-2.5-flash    half-open: timeout, 5 in a row, a call tries it now

KEY                PROVIDER   STATE
ANTHROPIC_API_KEY  anthropic  ready
OPENAI_API_KEY     openai     ready
OPENAI_API_KEY_2   openai     cooling down, ready 00:58: rate limit
OPENAI_API_KEY_3   openai     retired: refused by the provider, in 1 of 2 workers

BUDGET          STATE            SPENT    LIMIT  SHARE  BY MIDNIGHT  UNTIL
the day         ok            ≥ $61.20  $200.00    30%    ≥ $112.40  -
crew briefing   nearly spent    $44.00   $50.00    88%       $71.90  -
queue research  paused          $44.03   $40.00   110%       $44.03  2026-03-15 00:00Z
"""


def test_limits_breakers_keys_and_budgets_are_told() -> None:
    text = snapshot_text(HELD_BACK, width=109)
    assert text.endswith(TOLD)
    assert "\n▲ throttled: openai, resumes 00:27: gpt-4.1\n" in text


def test_what_is_old_says_so_and_what_is_not_there_is_not_said() -> None:
    assert HELD_BACK.providers is not None
    old = snapshot_text(replace(HELD_BACK, providers=HELD_BACK.providers.after(40)), width=120)
    assert "KEY, as told 40s ago  " in old
    for providers in (None, Providers()):
        text = snapshot_text(replace(EMPTY, providers=providers))
        assert not any(title in text for title in ("LIMIT", "BREAKER", "KEY", "BUDGET"))
    assert "and 3 more that workers leave out" in snapshot_text(replace(BUSY, providers=Providers(omitted=3)))
